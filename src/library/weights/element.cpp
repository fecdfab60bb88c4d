#include "weights/element.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/element/convert.hpp"
#include "core/text/names.hpp"

namespace headroom::weights {
namespace {

constexpr Name<Element> kElements[] = {
    {Element::f16, "f16"}, {Element::bf16, "bf16"}, {Element::f32, "f32"}, {Element::f64, "f64"}};

static_assert(std::endian::native == std::endian::little, "the formats are little-endian");

template <class T>
T value_at(std::span<const char> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

std::int64_t size_of(Element type) {
  switch (type) {
    case Element::f16:
    case Element::bf16:
      return 2;
    case Element::f32:
      return 4;
    case Element::f64:
      return 8;
  }
  return 0;
}

std::string_view to_string(Element type) { return name_of(kElements, type); }

std::optional<std::size_t> to_floats(Element type, std::span<const char> bytes,
                                     std::span<float> out) {
  std::optional<std::size_t> beyond;
  switch (type) {
    case Element::f16:
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = value_at<F16>(bytes, i).value();
      }
      break;
    case Element::bf16:
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = value_at<Bf16>(bytes, i).value();
      }
      break;
    case Element::f32:
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
      break;
    case Element::f64:
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto value = value_at<double>(bytes, i);
        out[i] = static_cast<float>(value);
        if (!beyond && std::isinf(out[i]) && !std::isinf(value)) beyond = i;
      }
      break;
  }
  return beyond;
}

std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, dim, &product) || product > kMost) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

}  // namespace headroom::weights

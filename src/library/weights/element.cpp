#include "weights/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "core/element/convert.hpp"
#include "weights/element_blocks.hpp"

namespace headroom::weights {
namespace {

struct Stored {
  Element type;
  std::string_view name;
  std::int64_t values;  // of a block
  std::int64_t bytes;
  void (*expand)(const std::uint8_t* block, float* out) = nullptr;
};
constexpr Stored kStored[] = {
    {Element::f16, "f16", 1, 2},
    {Element::bf16, "bf16", 1, 2},
    {Element::f32, "f32", 1, 4},
    {Element::f64, "f64", 1, 8},
    {Element::q8_0, "q8_0", 32, 34, expand_q8_0},
    {Element::q4_0, "q4_0", 32, 18, expand_q4_0},
    {Element::q4_1, "q4_1", 32, 20, expand_q4_1},
    {Element::q5_0, "q5_0", 32, 22, expand_q5_0},
    {Element::q5_1, "q5_1", 32, 24, expand_q5_1},
    {Element::q4_k, "q4_k", 256, 144, expand_q4_k},
    {Element::q5_k, "q5_k", 256, 176, expand_q5_k},
    {Element::q6_k, "q6_k", 256, 210, expand_q6_k},
};

const Stored& stored(Element type) {
  return *std::find_if(std::begin(kStored), std::end(kStored),
                       [type](const Stored& one) { return one.type == type; });
}

static_assert(std::endian::native == std::endian::little, "the formats are little-endian");

void expand_blocks(const Stored& type, std::span<const char> bytes, std::span<float> out) {
  const auto values = static_cast<std::size_t>(type.values);
  const auto* block = reinterpret_cast<const std::uint8_t*>(bytes.data());
  for (std::size_t i = 0; i < out.size(); i += values, block += type.bytes) {
    type.expand(block, out.data() + i);
  }
}

template <class T>
T value_at(std::span<const char> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

std::int64_t values_per_block(Element type) { return stored(type).values; }

std::int64_t bytes_of(Element type, std::int64_t count) {
  const Stored& one = stored(type);
  return count / one.values * one.bytes;
}

std::string_view to_string(Element type) { return stored(type).name; }

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
    default:
      expand_blocks(stored(type), bytes, out);
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

#include "headroom/precision.hpp"

#include <array>
#include <string>
#include <utility>

#include "core/element/layer_numbers.hpp"

namespace headroom {
namespace {

constexpr std::array<std::pair<Precision, std::string_view>, 6> kPrecisions{{
    {Precision::f32, "f32"},
    {Precision::bf16x9, "bf16x9"},
    {Precision::bf16x6, "bf16x6"},
    {Precision::fp16x3, "fp16x3"},
    {Precision::bf16x3, "bf16x3"},
    {Precision::bf16, "bf16"},
}};
constexpr std::array<std::pair<Dtype, std::string_view>, 2> kDtypes{{
    {Dtype::f32, "f32"},
    {Dtype::bf16, "bf16"},
}};

template <class Names, class Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

}  // namespace

std::string_view to_string(Precision precision) { return name_of(kPrecisions, precision); }
std::string_view to_string(Dtype dtype) { return name_of(kDtypes, dtype); }

std::optional<Precision> parse_precision(std::string_view name) {
  for (const auto& [value, known] : kPrecisions) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (const auto& [value, known] : kDtypes) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::string to_string(const Numbers& numbers) {
  std::string name(to_string(numbers.precision));
  if (numbers.dtype == Dtype::f32) return name;
  return name.append("-").append(to_string(numbers.dtype));
}

Precision accuracy_class(Precision precision) {
  switch (precision) {
    case Precision::bf16x9:
    case Precision::bf16x6:
    case Precision::fp16x3:
      return Precision::f32;
    default:
      return precision;
  }
}

}  // namespace headroom

#include "headroom/precision.hpp"

#include <string>

#include "core/element/layer_numbers.hpp"
#include "core/text/names.hpp"

namespace headroom {
namespace {

constexpr Name<Precision> kPrecisions[] = {
    {Precision::f32, "f32"},       {Precision::bf16x9, "bf16x9"}, {Precision::bf16x6, "bf16x6"},
    {Precision::fp16x3, "fp16x3"}, {Precision::bf16x3, "bf16x3"}, {Precision::bf16, "bf16"},
    {Precision::int8, "int8"},
};
constexpr Name<Dtype> kDtypes[] = {
    {Dtype::f32, "f32"},
    {Dtype::bf16, "bf16"},
    {Dtype::f16, "f16"},
};
constexpr Name<Storage> kStorages[] = {
    {Storage::f32, "f32"},
    {Storage::bf16, "bf16"},
    {Storage::q8, "q8"},
    {Storage::q4, "q4"},
};

}  // namespace

std::string_view to_string(Precision precision) { return name_of(kPrecisions, precision); }
std::string_view to_string(Dtype dtype) { return name_of(kDtypes, dtype); }

std::string_view to_string(Storage storage) { return name_of(kStorages, storage); }

std::optional<Storage> parse_storage(std::string_view name) { return value_of(kStorages, name); }

std::optional<Precision> parse_precision(std::string_view name) {
  return value_of(kPrecisions, name);
}

std::optional<std::optional<Precision>> parse_asked_precision(std::string_view name) {
  if (name == kAnyLikeF32) return std::optional<Precision>();
  const std::optional<Precision> named = parse_precision(name);
  if (!named) return std::nullopt;
  return named;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
  const std::optional<Dtype> dtype = value_of(kDtypes, name);
  return dtype == Dtype::f16 ? std::nullopt : dtype;
}

std::string to_string(const Numbers& numbers) {
  std::string name(to_string(numbers.precision));
  if (numbers.dtype != Dtype::f32) name.append("-").append(to_string(numbers.dtype));
  if (numbers.weights) name.append("-w").append(to_string(*numbers.weights));
  if (numbers.cache) name.append("-c").append(to_string(*numbers.cache));
  return name;
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

Numbers accuracy_class(const Numbers& numbers) {
  Numbers rivals = numbers;
  rivals.precision = accuracy_class(numbers.precision);
  return rivals;
}

std::string stored_words(const Numbers& numbers) {
  std::string words(to_string(numbers.dtype));
  if (numbers.weights) words.append(" with weights of ").append(to_string(*numbers.weights));
  if (numbers.cache) {
    words.append(numbers.weights ? " and" : " with").append(" a cache of ");
    words.append(to_string(*numbers.cache));
  }
  return words;
}

}  // namespace headroom

#include "json/read_numbers.hpp"

#include <nlohmann/json.hpp>

namespace headroom {

Precision read_precision(const JsonFields& fields) {
  const std::optional<Precision> precision = parse_precision(fields.text("precision"));
  if (!precision) fields.fail("precision", "f32, bf16x9, bf16x6, fp16x3, bf16x3, bf16 or int8");
  return *precision;
}

Dtype read_dtype(const JsonFields& fields) {
  const std::optional<Dtype> dtype = parse_dtype(fields.text("dtype"));
  if (!dtype) fields.fail("dtype", "f32 or bf16");
  return *dtype;
}

Numbers read_numbers(const JsonFields& fields) {
  Numbers numbers{read_precision(fields), read_dtype(fields)};
  if (fields.has("weights_dtype")) {
    numbers.weights = parse_storage(fields.text("weights_dtype"));
    if (!numbers.weights || *numbers.weights == storage_of(numbers.dtype)) {
      fields.fail("weights_dtype", "f32, bf16, q8 or q4, and not what the dtype says");
    }
  }
  if (fields.has("cache_dtype")) {
    numbers.cache = parse_storage(fields.text("cache_dtype"));
    if (!numbers.cache || *numbers.cache == Storage::q4 ||
        *numbers.cache == storage_of(numbers.dtype)) {
      fields.fail("cache_dtype", "f32, bf16 or q8, and not what the dtype says");
    }
  }
  return numbers;
}

void add_storage(const Numbers& numbers, nlohmann::ordered_json& to) {
  if (numbers.weights) to["weights_dtype"] = to_string(*numbers.weights);
  if (numbers.cache) to["cache_dtype"] = to_string(*numbers.cache);
}

}  // namespace headroom

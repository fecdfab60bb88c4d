#include "json/read_numbers.hpp"

namespace headroom {

Precision read_precision(const JsonFields& fields) {
  const std::optional<Precision> precision = parse_precision(fields.text("precision"));
  if (!precision) fields.fail("precision", "f32, bf16x9, bf16x6, fp16x3, bf16x3 or bf16");
  return *precision;
}

Dtype read_dtype(const JsonFields& fields) {
  const std::optional<Dtype> dtype = parse_dtype(fields.text("dtype"));
  if (!dtype) fields.fail("dtype", "f32 or bf16");
  return *dtype;
}

}  // namespace headroom

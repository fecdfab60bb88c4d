#include "core/shape_json.hpp"

#include <fmt/format.h>

namespace headroom {

nlohmann::ordered_json to_json(const Shape& shape) {
  return {{"batch", shape.batch},   {"tokens", shape.tokens},     {"d_in", shape.d_in},
          {"d_out", shape.d_out},   {"heads", shape.heads},       {"head_dim", shape.head_dim()},
          {"causal", shape.causal}, {"qkv_bias", shape.qkv_bias}, {"out_proj", shape.d_proj > 0},
          {"d_proj", shape.d_proj}, {"dropout", shape.dropout}};
}

Shape shape_from_json(const JsonFields& fields) {
  Shape shape;
  shape.batch = fields.whole("batch", 0);
  shape.tokens = fields.whole("tokens", 0);
  shape.d_in = fields.whole("d_in", 1);
  shape.d_out = fields.whole("d_out", 1);
  shape.heads = fields.whole("heads", 1);
  shape.causal = fields.flag("causal");
  shape.qkv_bias = fields.flag("qkv_bias");
  const bool projects = fields.flag("out_proj");
  // The contract's line has no d_proj; the projection then leads back to the input's width.
  shape.d_proj = fields.has("d_proj") ? fields.whole("d_proj", 0) : (projects ? shape.d_in : 0);
  shape.dropout = fields.not_negative("dropout");
  shape.validate();
  if (projects != (shape.d_proj > 0)) fields.fail("out_proj", "whether d_proj is above 0");
  if (fields.whole("head_dim", 1) != shape.head_dim()) {
    fields.fail("head_dim", fmt::format("d_out / heads = {}", shape.head_dim()));
  }
  return shape;
}

}  // namespace headroom

#include "ranks/order.hpp"

#include <nlohmann/json.hpp>

#include "headroom/isa.hpp"
#include "headroom/precision.hpp"
#include "json/shape_json.hpp"

namespace headroom::ranks {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const AttentionOptions& options) {
  return {{"backend", options.backend},
          {"formulation", static_cast<int>(options.formulation.value_or(Formulation::split))},
          {"threads", options.threads},
          {"isa", options.isa ? static_cast<int>(*options.isa) : -1},
          {"unit", options.unit ? static_cast<int>(*options.unit) : -1},
          {"kernels", options.kernels},
          {"few_rows", options.few_rows.value_or(-1)},
          {"precision", options.precision ? static_cast<int>(*options.precision) : -1},
          {"dtype", static_cast<int>(options.dtype)},
          {"weights_dtype", options.weights_dtype ? static_cast<int>(*options.weights_dtype) : -1},
          {"cache_dtype", options.cache_dtype ? static_cast<int>(*options.cache_dtype) : -1}};
}

AttentionOptions options_from(const ordered_json& json) {
  AttentionOptions options;
  options.backend = json.at("backend");
  options.formulation = static_cast<Formulation>(json.at("formulation").get<int>());
  options.threads = json.at("threads");
  if (const int isa = json.at("isa"); isa >= 0) options.isa = static_cast<Isa>(isa);
  if (const int unit = json.at("unit"); unit >= 0) options.unit = static_cast<Unit>(unit);
  options.kernels = json.at("kernels");
  if (const std::int64_t rows = json.at("few_rows"); rows >= 0) options.few_rows = rows;
  options.precision.reset();
  if (const int precision = json.at("precision"); precision >= 0) {
    options.precision = static_cast<Precision>(precision);
  }
  options.dtype = static_cast<Dtype>(json.at("dtype").get<int>());
  if (const int weights = json.at("weights_dtype"); weights >= 0) {
    options.weights_dtype = static_cast<Storage>(weights);
  }
  if (const int cache = json.at("cache_dtype"); cache >= 0) {
    options.cache_dtype = static_cast<Storage>(cache);
  }
  return options;
}

}  // namespace

// Enumerations go as numbers: both sides are the same program.
std::string to_text(const Order& order) {
  ordered_json json{{"kind", static_cast<int>(order.kind)}, {"layer", order.layer}};
  if (order.kind == Order::Kind::make) {
    json["shape"] = headroom::to_json(order.shape);
    json["dropout_seed"] = order.shape.dropout_seed;
    json["options"] = to_json(order.options);
    json["ranks"] = order.ranks;
    json["fill_tokens"] = order.fill_tokens;
    json["patience"] = order.patience;
  } else if (order.kind == Order::Kind::pass) {
    json["passes"] = order.passes;
    json["compare"] = order.compare;
  }
  return json.dump();
}

Order order_from_text(const std::string& text) {
  const ordered_json json = ordered_json::parse(text);
  Order order;
  order.kind = static_cast<Order::Kind>(json.at("kind").get<int>());
  order.layer = json.at("layer");
  if (order.kind == Order::Kind::make) {
    order.shape = shape_from_json(JsonFields(json, "order").object("shape"));
    order.shape.dropout_seed = json.at("dropout_seed");
    order.options = options_from(json.at("options"));
    order.ranks = json.at("ranks");
    order.fill_tokens = json.at("fill_tokens");
    order.patience = json.at("patience");
  } else if (order.kind == Order::Kind::pass) {
    order.passes = json.at("passes");
    order.compare = json.at("compare");
  }
  return order;
}

}  // namespace headroom::ranks

// Attention over the caller's own queries, keys and values.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "c_api/options.hpp"
#include "c_api/statuses.hpp"
#include "c_api/structs.hpp"
#include "headroom/dot_product.hpp"

struct headroom_dot_product {
  headroom::DotProductAttention attention;
  std::string reason;
};

namespace {

using namespace headroom::c_api;

headroom_sizes default_sizes() {
  headroom_sizes sizes{};
  sizes.batch = sizes.heads = 1;
  return sizes;
}

headroom_inputs default_inputs() {
  headroom_inputs inputs{};
  write_default_mask(inputs);
  return inputs;
}

headroom::AnyHeads view_of(const char* function, const char* name, const headroom_heads* given) {
  require(given, function, name);
  const headroom_heads view = read_struct(*given, {}, sizeof(headroom_heads), {function, name});
  const headroom::Dtype dtype = read_dtype({function, name}, view.dtype, HEADROOM_BF16 + 1);
  return {view.data,       dtype,         view.batch,        view.tokens,
          view.heads,      view.head_dim, view.batch_stride, view.token_stride,
          view.head_stride};
}

headroom::ScoreRule rule_of(const char* function, const headroom_rule* given) {
  if (given == nullptr) return {};
  const headroom_rule rule = read_struct(*given, {}, sizeof(headroom_rule), {function, "rule"});
  return {rule.causal != 0, rule.window, rule.scale};
}

headroom::DotProductCall call_of(const char* function, const headroom_inputs* given) {
  if (given == nullptr) return {};
  const headroom_inputs inputs =
      read_struct(*given, default_inputs(), sizeof(headroom_inputs), {function, "inputs"});
  headroom::DotProductCall call;
  call.queries = read_lengths(inputs.query_lengths, inputs.query_length_count,
                              {function, "inputs.query_lengths"}, "inputs.query_length_count");
  call.keys = read_lengths(inputs.key_lengths, inputs.key_length_count,
                           {function, "inputs.key_lengths"}, "inputs.key_length_count");
  call.mask = mask_of(inputs);
  if (inputs.cache != nullptr) call.cache = &inputs.cache->cache;
  return call;
}

}  // namespace

void headroom_init_rule(headroom_rule* rule, std::size_t size) { write_defaults(rule, size, {}); }

void headroom_init_inputs(headroom_inputs* inputs, std::size_t size) {
  write_defaults(inputs, size, default_inputs());
}

void headroom_init_sizes(headroom_sizes* sizes, std::size_t size) {
  write_defaults(sizes, size, default_sizes());
}

headroom_status headroom_attention(const headroom_heads* q, const headroom_heads* k,
                                   const headroom_heads* v, const headroom_heads* out,
                                   const headroom_rule* rule, const headroom_options* options,
                                   const headroom_inputs* inputs) {
  constexpr const char* kName = "headroom_attention";
  return guarded([&] {
    headroom::attention(view_of(kName, "q", q), view_of(kName, "k", k), view_of(kName, "v", v),
                        view_of(kName, "out", out), rule_of(kName, rule),
                        read_options(kName, options), call_of(kName, inputs));
  });
}

headroom_status headroom_dot_product_create(const headroom_sizes* sizes, const headroom_rule* rule,
                                            const headroom_options* options,
                                            headroom_dot_product** made) {
  constexpr const char* kName = "headroom_dot_product_create";
  if (made != nullptr) *made = nullptr;
  return guarded([&] {
    require(sizes, kName, "sizes");
    require(made, kName, "made");
    const headroom_sizes most =
        read_struct(*sizes, default_sizes(), sizeof(headroom_sizes), {kName, "sizes"});
    headroom::DotProductAttention attention(
        {most.batch, most.queries, most.keys, most.heads, most.kv_heads, most.head_dim},
        rule_of(kName, rule), read_options(kName, options));
    std::string reason = reason_of(attention.choice());
    *made = new headroom_dot_product{std::move(attention), std::move(reason)};
  });
}

headroom_status headroom_dot_product_run(headroom_dot_product* made, const headroom_heads* q,
                                         const headroom_heads* k, const headroom_heads* v,
                                         const headroom_heads* out, const headroom_inputs* inputs) {
  constexpr const char* kName = "headroom_dot_product_run";
  return guarded([&] {
    require(made, kName, "made");
    made->attention.run(view_of(kName, "q", q), view_of(kName, "k", k), view_of(kName, "v", v),
                        view_of(kName, "out", out), call_of(kName, inputs));
  });
}

headroom_status headroom_dot_product_cache(const headroom_dot_product* made, int64_t sequences,
                                           int64_t capacity, headroom_cache** cache) {
  constexpr const char* kName = "headroom_dot_product_cache";
  if (cache != nullptr) *cache = nullptr;
  return guarded([&] {
    require(made, kName, "made");
    require(cache, kName, "cache");
    *cache = new headroom_cache{{made->attention, {sequences, capacity}}};
  });
}

const char* headroom_dot_product_backend(const headroom_dot_product* made) {
  return made == nullptr ? nullptr : made->attention.choice().backend.c_str();
}

const char* headroom_dot_product_reason(const headroom_dot_product* made) {
  return made == nullptr ? nullptr : made->reason.c_str();
}

void headroom_dot_product_destroy(headroom_dot_product* made) { delete made; }

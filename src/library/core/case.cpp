#include "core/case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "core/element/cache_bytes.hpp"
#include "core/element/few_bits.hpp"
#include "core/layer/size_checks.hpp"
#include "core/rounding.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

// `context()` adds them. With batch 0 no product holds them back.
void check_sum(std::string_view first, std::int64_t a, std::string_view second, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return;
  throw InvalidArgument(
      fmt::format("shape: {} {} and {} {} together do not fit in 63 bits; make one of them smaller",
                  first, a, second, b));
}

void check_memory(const Case& shape) {
  check_size("memory_tokens", shape.memory_tokens, 0);
  if (shape.d_memory == 0 && shape.memory_tokens > 0) {
    throw InvalidArgument(
        fmt::format("shape: memory_tokens is {} without a second input; set its width, d_memory",
                    shape.memory_tokens));
  }
}

void check_lengths(const Case& shape) {
  const std::vector<std::int64_t>& lengths = shape.lengths;
  if (lengths.empty()) return;
  if (static_cast<std::int64_t>(lengths.size()) != shape.batch) {
    throw InvalidArgument(fmt::format("shape: there are {} lengths for batch {}; give one for each",
                                      lengths.size(), shape.batch));
  }
  for (const std::int64_t length : lengths) check_size("a length", length, 0);
  const std::int64_t most = *std::max_element(lengths.begin(), lengths.end());
  if (most != shape.tokens) {
    throw InvalidArgument(
        fmt::format("shape: the largest length is {} and tokens is {}; they must "
                    "be equal",
                    most, shape.tokens));
  }
}

// Everything around `attend` belongs to a layer.
void check_given_heads(const Case& shape) {
  if (shape.has_projections()) return;
  const auto refuse = [](bool there, std::string_view name) {
    if (!there) return;
    throw InvalidArgument(fmt::format(
        "shape: d_in is 0, so queries, keys and values are given, and {} belongs to a layer; set "
        "d_in, the width of the input, or leave {} out",
        name, name));
  };
  refuse(shape.d_proj > 0, "d_proj");
  refuse(shape.qkv_bias, "qkv_bias");
  refuse(shape.dropout > 0, "dropout");
  refuse(shape.rotary.pairs != Rotary::Pairs::none, "rotary");
  refuse(shape.norm.over != QueryKeyNorm::Over::none, "norm");
  refuse(shape.position_bias.kind != PositionBias::Kind::none, "position_bias");
  refuse(shape.temperature.step > 0, "temperature");
  refuse(shape.clip > 0, "clip");
  refuse(shape.value_dim > 0, "value_dim");
  refuse(shape.is_latent(), "latent");
  refuse(shape.d_memory > 0, "d_memory");
  check_size("batch", shape.batch, 1);
  check_size("tokens", shape.tokens, 1);
}

// 1 + 2 + ... + n.
double triangle(double n) { return n <= 0 ? 0 : n * (n + 1) / 2; }

// Pairs of a row and a key that it sees, of one sequence.
double seen_pairs(const Case& shape, double rows) {
  const auto past = static_cast<double>(shape.past);
  if (shape.d_memory > 0) return rows * (past + static_cast<double>(shape.memory_tokens));
  if (shape.chunk > 0) {
    const auto chunk = static_cast<double>(shape.chunk);
    const auto before = [&](double end) {
      const double whole = std::floor(end / chunk);
      return whole * triangle(chunk) + triangle(end - whole * chunk);
    };
    return before(past + rows) - before(past);
  }
  double all = shape.causal ? rows * past + triangle(rows) : rows * (past + rows);
  if (shape.window == 0) return all;
  const auto window = static_cast<double>(shape.window);
  // Rows from position `window` on would see more keys than fit: 1, 2, ... up to the last row's.
  all -= triangle(past + rows - window) - triangle(past - window);
  // Without a causal mask the first rows would see that many ahead as well.
  return shape.causal ? all : all - triangle(rows - window);
}

}  // namespace

void Case::validate() const {
  check_size("batch", batch, 0);
  check_size("tokens", tokens, 0);
  check_widths(*this);
  check_size("past", past, 0);
  check_size("outliers", outliers, 0);
  check_memory(*this);
  check_lengths(*this);
  check_given_heads(*this);
  check_product("batch * tokens * d_in", {batch, tokens, d_in});
  check_product("batch * tokens * 3 * d_out", {batch, tokens, 3, d_out});
  check_product("batch * tokens * heads * value_dim", {batch, tokens, heads, value_dim});
  check_product("batch * tokens * d_proj", {batch, tokens, d_proj});
  check_product("batch * memory_tokens * d_memory", {batch, memory_tokens, d_memory});
  check_sum("past", past, "tokens", tokens);
  check_sum("past", past, "memory_tokens", memory_tokens);
  check_product("batch * heads * tokens * keys", {batch, heads, tokens, context()});
  check_product("batch * keys * 2 * d_out", {batch, context(), 2, d_out});
  check_product("batch * keys * heads * value_dim", {batch, context(), heads, value_dim});
}

std::int64_t Case::rows() const {
  if (lengths.empty()) return batch * tokens;
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

namespace {

// Of a latent layer: what is made of x, then of the latents, in the order that a call takes.
double latent_products(const Case& shape) {
  const std::int64_t of_keys =
      shape.latent.rank * (shape.own_key_width() + shape.value_width());  // in either order
  return static_cast<double>(shape.d_in) *
             static_cast<double>(shape.latent.query_rank + shape.latent_width()) +
         static_cast<double>(shape.query_depth()) * static_cast<double>(shape.d_out) +
         static_cast<double>(of_keys);
}

// Multiply-adds of a row and a key that it sees. After a past, a latent layer multiplies latents.
double pair_products(const Case& shape) {
  if (!shape.is_latent() || shape.past == 0) {
    return static_cast<double>(shape.d_out + shape.context_width());
  }
  return static_cast<double>(shape.heads) *
         static_cast<double>(shape.latent_width() + shape.latent.rank);
}

}  // namespace

FlopCount Case::flops() const {
  const auto all_rows = static_cast<double>(rows());
  const auto width = static_cast<double>(d_out);
  const auto context_cols = static_cast<double>(context_width());
  const auto keys = static_cast<double>(kv_width() + value_width());
  FlopCount count;
  if (is_latent()) {
    count.qkv = 2 * all_rows * latent_products(*this);
  } else if (d_memory > 0) {
    count.qkv = 2 * all_rows * static_cast<double>(d_in) * width +
                2 * static_cast<double>(memory_rows()) * static_cast<double>(d_memory) * keys;
  } else {
    count.qkv = 2 * all_rows * static_cast<double>(d_in) * (width + keys);
  }
  if (gate) count.qkv += 2 * all_rows * static_cast<double>(d_in) * context_cols;
  double pairs = 0;
  if (lengths.empty()) {
    pairs = static_cast<double>(batch) * seen_pairs(*this, static_cast<double>(tokens));
  }
  for (const std::int64_t length : lengths) pairs += seen_pairs(*this, static_cast<double>(length));
  count.attention = 2 * pairs * pair_products(*this);
  count.output = 2 * all_rows * context_cols * static_cast<double>(d_proj);
  return count;
}

ByteCount Case::bytes(const Numbers& stored) const {
  const std::int64_t each = size_of(stored.dtype);
  const std::int64_t keys_and_values = kv_width() + value_width();
  std::int64_t weights = query_depth() * d_out + key_depth() * (own_key_width() + value_width()) +
                         context_width() * d_proj + d_proj;
  if (is_latent()) {
    weights += d_in * (latent.query_rank + latent_width()) + latent.query_rank + latent.rank;
  }
  if (qkv_bias) weights += d_out + keys_and_values;
  if (gate) weights += d_in * context_width();
  const std::int64_t of_group = is_few_bits(stored.stored_weights()) ? kGroup : 1;
  const std::int64_t row = has_projections() ? d_in : d_out + keys_and_values;
  return {each * (rows() * row + memory_rows() * d_memory), each * rows() * output_width(),
          storage_bytes(stored.stored_weights(), round_up(weights, of_group)),
          cache_bytes(stored.stored_cache(), batch * past, *this)};
}

std::string Case::id() const {
  std::string id = fmt::format("B{}_T{}_D{}_H{}", batch, tokens, d_out, heads);
  id += options_in_id(*this, d_memory > 0 ? fmt::format("M{}x{}", memory_tokens, d_memory) : "");
  if (past > 0) id += fmt::format("_P{}", past);
  if (!lengths.empty()) id += fmt::format("_L{}", fmt::join(lengths, "-"));
  if (outliers > 0) id += fmt::format("_outliers{}", outliers);
  return id;
}

std::optional<std::string> declines_cache(const LayerConfig& config, Storage storage) {
  if (config.is_latent()) return "a cache of latents is stored as x and y are";
  if (storage != Storage::q8) return std::nullopt;
  if (config.d_memory > 0)
    return "tokens of a second input have no order, and q8 depends on positions";
  if (!config.causal) {
    return "a row would see keys of later blocks, and of q8 it sees its own block as it is and "
           "earlier ones rounded; the layer must be causal";
  }
  return std::nullopt;
}

std::int64_t cache_bytes(Storage storage, std::int64_t tokens, const LayerConfig& config) {
  const std::int64_t values = tokens * config.cached_width();
  if (!is_few_bits(storage)) return storage_bytes(storage, values);
  const std::int64_t scales =
      tokens * config.key_heads() + divide_up(tokens, kCacheBlock) * config.kv_width();
  return values + std::int64_t{sizeof(F16)} * scales;
}

}  // namespace headroom

#include "headroom/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>

#include "headroom/error.hpp"

namespace headroom {
namespace {

// Twice the widest element in use (double), so that sums of a few arrays still fit in 63 bits.
constexpr std::int64_t kBytesReserved = 16;
constexpr std::int64_t kFloatBytes = 4;

void check_size(std::string_view name, std::int64_t found, std::int64_t least) {
  if (found >= least) return;
  throw InvalidArgument(
      fmt::format("shape: {} is {}; allowed are {} and above, up to 2^63 - 1", name, found, least));
}

void check_product(std::string_view names, std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  bool overflow = false;
  for (const std::int64_t size : sizes) {
    overflow = overflow || __builtin_mul_overflow(product, size, &product);
  }
  if (!overflow && product <= std::numeric_limits<std::int64_t>::max() / kBytesReserved) return;
  std::string factors;
  for (const std::int64_t size : sizes) {
    factors += fmt::format("{}{}", factors.empty() ? "" : " * ", size);
  }
  throw InvalidArgument(
      fmt::format("shape: the product {} = {} is too large to be counted in 63-bit bytes; make one "
                  "of the sizes smaller",
                  names, factors));
}

// `context()` adds them. With batch 0 no product holds them back.
void check_sum(std::string_view first, std::int64_t a, std::string_view second, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return;
  throw InvalidArgument(
      fmt::format("shape: {} {} and {} {} together do not fit in 63 bits; make one of them smaller",
                  first, a, second, b));
}

// A divisor of `width` among `first`, `first + step`, ...; 0 if none is near. The search is bounded
// because it only serves a hint: a width near 2^60 must not delay the error.
std::int64_t near_divisor(std::int64_t width, std::int64_t first, std::int64_t step) {
  constexpr int kSearch = 1 << 20;
  std::int64_t candidate = first;
  for (int i = 0; i < kSearch && candidate >= 1 && candidate <= width; ++i, candidate += step) {
    if (width % candidate == 0) return candidate;
  }
  return 0;
}

std::string one_or_both(std::int64_t below, std::int64_t above) {
  if (below > 0 && above > 0) return fmt::format("{} and {}", below, above);
  return fmt::format("{}", std::max(below, above));
}

void check_heads_divide(std::int64_t width, std::int64_t heads) {
  if (width % heads == 0) return;
  const std::int64_t width_below = width / heads * heads;
  std::int64_t width_above = 0;
  if (__builtin_add_overflow(width_below, heads, &width_above)) width_above = 0;
  const std::int64_t heads_below = near_divisor(width, std::min(heads - 1, width), -1);
  const std::int64_t heads_above = near_divisor(width, heads + 1, 1);
  std::string hint = fmt::format("nearest widths: {}", one_or_both(width_below, width_above));
  if (heads_below > 0 || heads_above > 0) {
    hint += fmt::format("; nearest head counts for {}: {}", width,
                        one_or_both(heads_below, heads_above));
  }
  throw InvalidArgument(
      fmt::format("shape: d_out {} is not a multiple of heads {}; {}", width, heads, hint));
}

void check_key_heads(std::int64_t heads, std::int64_t kv_heads) {
  if (kv_heads == 0 || (kv_heads <= heads && heads % kv_heads == 0)) return;
  const std::int64_t below = near_divisor(heads, std::min(kv_heads - 1, heads), -1);
  const std::int64_t above = near_divisor(heads, kv_heads + 1, 1);
  throw InvalidArgument(
      fmt::format("shape: kv_heads {} does not divide heads {}; nearest that do: {}", kv_heads,
                  heads, one_or_both(below, above)));
}

void check_rotary(const Shape& shape) {
  const Rotary& rotary = shape.rotary;
  if (rotary.pairs == Rotary::Pairs::none) return;
  if (shape.head_dim() % 2 != 0) {
    throw InvalidArgument(
        fmt::format("shape: rotary positions turn pairs of values, and head_dim is {}; allowed are "
                    "even widths",
                    shape.head_dim()));
  }
  const auto positive = [](std::string_view name, double value) {
    if (value > 0 && std::isfinite(value)) return;  // written so that NaN fails too
    throw InvalidArgument(
        fmt::format("shape: rotary {} is {}; allowed are numbers above 0", name, value));
  };
  positive("base", rotary.base);
  positive("scale", rotary.scale);
  if (shape.d_memory > 0) {
    throw InvalidArgument(
        "shape: rotary positions and d_memory exclude each other: the tokens of a second input "
        "have no position beside those of x; leave one out");
  }
}

void check_memory(const Shape& shape) {
  check_size("d_memory", shape.d_memory, 0);
  check_size("memory_tokens", shape.memory_tokens, 0);
  if (shape.d_memory == 0 && shape.memory_tokens > 0) {
    throw InvalidArgument(
        fmt::format("shape: memory_tokens is {} without a second input; set its width, d_memory",
                    shape.memory_tokens));
  }
  if (shape.d_memory > 0 && shape.causal) {
    throw InvalidArgument(
        "shape: causal and d_memory exclude each other: no token of a second input comes after one "
        "of x; set causal to false");
  }
}

void check_lengths(const Shape& shape) {
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
void check_given_heads(const Shape& shape) {
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
  refuse(shape.d_memory > 0, "d_memory");
  check_size("batch", shape.batch, 1);
  check_size("tokens", shape.tokens, 1);
}

// Pairs of a row and a key that it sees, of one sequence.
double seen_pairs(const Shape& shape, double rows) {
  const auto past = static_cast<double>(shape.past);
  if (shape.d_memory > 0) return rows * (past + static_cast<double>(shape.memory_tokens));
  if (!shape.causal) return rows * (past + rows);
  const double all = rows * past + rows * (rows + 1) / 2;
  if (shape.window == 0) return all;
  // Rows from position `window` on would see more keys than fit: 1, 2, ... up to the last row's.
  const double most = past + rows - static_cast<double>(shape.window);
  const double first = std::max(0.0, past - static_cast<double>(shape.window));
  return most <= 0 ? all : all - (most * (most + 1) - first * (first + 1)) / 2;
}

}  // namespace

void Shape::validate() const {
  check_size("batch", batch, 0);
  check_size("tokens", tokens, 0);
  check_size("d_in", d_in, 0);
  check_size("d_out", d_out, 1);
  check_size("heads", heads, 1);
  check_size("d_proj", d_proj, 0);
  check_heads_divide(d_out, heads);
  check_size("kv_heads", kv_heads, 0);
  check_key_heads(heads, kv_heads);
  check_size("window", window, 0);
  check_size("past", past, 0);
  if (window > 0 && !causal) {
    throw InvalidArgument(fmt::format(
        "shape: window is {} without a causal mask; it counts keys back from a row's own "
        "one, so set causal, or window to 0",
        window));
  }
  check_rotary(*this);
  check_memory(*this);
  check_lengths(*this);
  check_given_heads(*this);
  if (!(dropout >= 0 && dropout < 1)) {  // written so that NaN fails too
    throw InvalidArgument(fmt::format(
        "shape: dropout is {}; allowed is 0 <= dropout < 1, and 0 keeps every weight", dropout));
  }
  check_product("batch * tokens * d_in", {batch, tokens, d_in});
  check_product("batch * tokens * 3 * d_out", {batch, tokens, 3, d_out});
  check_product("batch * tokens * d_proj", {batch, tokens, d_proj});
  check_product("d_in * 3 * d_out", {d_in, 3, d_out});
  check_product("d_out * d_proj", {d_out, d_proj});
  check_product("d_memory * 2 * d_out", {d_memory, 2, d_out});
  check_product("batch * memory_tokens * d_memory", {batch, memory_tokens, d_memory});
  check_sum("past", past, "tokens", tokens);
  check_sum("past", past, "memory_tokens", memory_tokens);
  check_product("batch * heads * tokens * keys", {batch, heads, tokens, context()});
  check_product("batch * keys * 2 * d_out", {batch, context(), 2, d_out});
}

std::int64_t Shape::rows() const {
  if (lengths.empty()) return batch * tokens;
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

FlopCount Shape::flops() const {
  const auto all_rows = static_cast<double>(rows());
  const auto width = static_cast<double>(d_out);
  const auto keys = 2 * static_cast<double>(kv_width());
  FlopCount count;
  if (d_memory > 0) {
    count.qkv = 2 * all_rows * static_cast<double>(d_in) * width +
                2 * static_cast<double>(memory_rows()) * static_cast<double>(d_memory) * keys;
  } else {
    count.qkv = 2 * all_rows * static_cast<double>(d_in) * (width + keys);
  }
  double pairs = 0;
  if (lengths.empty()) {
    pairs = static_cast<double>(batch) * seen_pairs(*this, static_cast<double>(tokens));
  }
  for (const std::int64_t length : lengths) pairs += seen_pairs(*this, static_cast<double>(length));
  count.attention = 4 * pairs * width;
  count.output = 2 * all_rows * width * static_cast<double>(d_proj);
  return count;
}

ByteCount Shape::bytes(Dtype dtype) const {
  const std::int64_t each = dtype == Dtype::f32 ? kFloatBytes : kFloatBytes / 2;
  std::int64_t weights = d_in * d_out + key_input() * 2 * kv_width() + d_out * d_proj + d_proj;
  if (qkv_bias) weights += d_out + 2 * kv_width();
  const std::int64_t row = has_projections() ? d_in : d_out + 2 * kv_width();
  return {each * (rows() * row + memory_rows() * d_memory), each * rows() * output_width(),
          each * weights, each * batch * past * 2 * kv_width()};
}

std::string Shape::id() const {
  std::string id = fmt::format("B{}_T{}_D{}_H{}", batch, tokens, d_out, heads);
  if (!has_projections()) id += "_qkv";
  if (has_projections() && d_in != d_out) id += fmt::format("_in{}", d_in);
  if (!causal) id += "_nomask";
  if (qkv_bias) id += "_bias";
  if (has_projections() && d_proj == 0) id += "_noproj";
  if (d_proj != 0 && d_proj != d_out) id += fmt::format("_proj{}", d_proj);
  if (dropout != 0) id += fmt::format("_drop{}", dropout);
  if (key_heads() != heads) id += fmt::format("_K{}", kv_heads);
  if (window > 0) id += fmt::format("_W{}", window);
  if (rotary.pairs != Rotary::Pairs::none) {
    id += rotary.pairs == Rotary::Pairs::halves ? "_rope" : "_ropen";
    if (rotary.base != Rotary{}.base) id += fmt::format("{}", rotary.base);
    if (rotary.scale != Rotary{}.scale) id += fmt::format("x{}", rotary.scale);
  }
  if (d_memory > 0) id += fmt::format("_M{}x{}", memory_tokens, d_memory);
  if (past > 0) id += fmt::format("_P{}", past);
  if (!lengths.empty()) id += fmt::format("_L{}", fmt::join(lengths, "-"));
  return id;
}

}  // namespace headroom

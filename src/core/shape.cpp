#include "headroom/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
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

}  // namespace

void Shape::validate() const {
  check_size("batch", batch, 0);
  check_size("tokens", tokens, 0);
  check_size("d_in", d_in, 1);
  check_size("d_out", d_out, 1);
  check_size("heads", heads, 1);
  check_size("d_proj", d_proj, 0);
  check_heads_divide(d_out, heads);
  if (!(dropout >= 0 && dropout < 1)) {  // written so that NaN fails too
    throw InvalidArgument(fmt::format(
        "shape: dropout is {}; allowed is 0 <= dropout < 1, and 0 keeps every weight", dropout));
  }
  check_product("batch * tokens * d_in", {batch, tokens, d_in});
  check_product("batch * tokens * 3 * d_out", {batch, tokens, 3, d_out});
  check_product("batch * tokens * d_proj", {batch, tokens, d_proj});
  check_product("d_in * 3 * d_out", {d_in, 3, d_out});
  check_product("d_out * d_proj", {d_out, d_proj});
  check_product("batch * heads * tokens * tokens", {batch, heads, tokens, tokens});
}

FlopCount Shape::flops() const {
  const auto b = static_cast<double>(batch);
  const auto t = static_cast<double>(tokens);
  const auto width = static_cast<double>(d_out);
  FlopCount count;
  count.qkv = 2 * b * t * static_cast<double>(d_in) * 3 * width;
  count.attention = causal ? 2 * b * t * (t + 1) * width : 4 * b * t * t * width;
  count.output = 2 * b * t * width * static_cast<double>(d_proj);
  return count;
}

ByteCount Shape::bytes() const {
  std::int64_t weights = d_in * 3 * d_out + d_out * d_proj + d_proj;
  if (qkv_bias) weights += 3 * d_out;
  return {kFloatBytes * rows() * d_in, kFloatBytes * rows() * output_width(),
          kFloatBytes * weights};
}

std::string Shape::id() const {
  std::string id = fmt::format("B{}_T{}_D{}_H{}", batch, tokens, d_out, heads);
  if (d_in != d_out) id += fmt::format("_in{}", d_in);
  if (!causal) id += "_nomask";
  if (qkv_bias) id += "_bias";
  if (d_proj == 0) id += "_noproj";
  if (d_proj != 0 && d_proj != d_out) id += fmt::format("_proj{}", d_proj);
  if (dropout != 0) id += fmt::format("_drop{}", dropout);
  return id;
}

}  // namespace headroom

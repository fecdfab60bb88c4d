#include "attention/heads_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "attention/views.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostFloats = kMostAddresses / std::int64_t{sizeof(float)};

std::string sizes_of(const ConstAnyHeads& view) {
  return fmt::format("{} x {} x {} x {} (batch, tokens, heads, head_dim)", view.batch, view.tokens,
                     view.heads, view.head_dim);
}

using Steps = std::array<std::pair<std::int64_t, std::int64_t>, 3>;  // stride, count

Steps steps_of(const ConstAnyHeads& view) {
  return {{{view.batch_stride, view.batch},
           {view.token_stride, view.tokens},
           {view.head_stride, view.heads}}};
}

bool is_empty(const ConstAnyHeads& view) {
  return view.batch == 0 || view.tokens == 0 || view.heads == 0 || view.head_dim == 0;
}

// From the first value to behind the last. @pre nothing is negative.
std::int64_t bytes_of(std::string_view name, const ConstAnyHeads& view) {
  const std::int64_t value = view.dtype == Dtype::f32 ? sizeof(float) : sizeof(Bf16);
  std::int64_t bytes = view.head_dim * value;
  for (const auto& [stride, count] : steps_of(view)) {
    bytes = add_to_span(name, bytes, stride, count, value);
  }
  return bytes;
}

void check_one(std::string_view name, const ConstAnyHeads& view) {
  for (const std::int64_t size : {view.batch, view.tokens, view.heads, view.head_dim}) {
    if (size < 0 || size > kMostFloats) {
      throw InvalidArgument(fmt::format("attention: {} is {}", name, sizes_of(view)));
    }
  }
  if (is_empty(view)) return;
  if (view.data == nullptr) {
    throw InvalidArgument(
        fmt::format("attention: {} is a null pointer; pass {} values", name, sizes_of(view)));
  }
  for (const auto& [stride, count] : steps_of(view)) {
    if (count > 1 && stride < 0) {
      throw InvalidArgument(fmt::format("attention: {} has the negative stride {}", name, stride));
    }
  }
  bytes_of(name, view);
}

// Each step must pass over all that the smaller ones reach.
void check_no_value_twice(const ConstAnyHeads& out) {
  Steps steps = steps_of(out);
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = out.head_dim;
  for (const auto& [stride, count] : steps) {
    if (count < 2) continue;
    if (stride < reach) {
      throw InvalidArgument(
          fmt::format("attention: out overlaps itself: a stride of {} where {} values are written",
                      stride, reach));
    }
    reach = stride * (count - 1) + reach;
  }
}

}  // namespace

std::int64_t add_to_span(std::string_view name, std::int64_t bytes, std::int64_t stride,
                         std::int64_t count, std::int64_t value_bytes) {
  if (count < 2) return bytes;
  if (stride > (kMostAddresses - bytes) / (count - 1) / value_bytes) {
    throw InvalidArgument(
        fmt::format("attention: {} would span more than the 2^56 bytes that memory can have; give "
                    "strides in values",
                    name));
  }
  return bytes + stride * (count - 1) * value_bytes;
}

void check_apart_from_output(std::string_view name, const void* data, std::int64_t bytes,
                             const ConstAnyHeads& out) {
  if (is_empty(out)) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto of_out = reinterpret_cast<std::uintptr_t>(out.data);
  if (begin >= of_out + static_cast<std::uintptr_t>(bytes_of("out", out)) ||
      of_out >= begin + static_cast<std::uintptr_t>(bytes)) {
    return;
  }
  throw InvalidArgument(fmt::format("attention: out overlaps {}; give it memory of its own", name));
}

void check_heads(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
                 const AnyHeads& out) {
  check_one("q", q);
  check_one("k", k);
  check_one("v", v);
  check_one("out", out);
  const auto same = [](const ConstAnyHeads& a, const ConstAnyHeads& b) {
    return a.batch == b.batch && a.tokens == b.tokens && a.heads == b.heads &&
           a.head_dim == b.head_dim;
  };
  const auto fail = [](std::string_view what, const ConstAnyHeads& found, std::string_view other,
                       const ConstAnyHeads& wanted) {
    throw InvalidArgument(fmt::format("attention: {} is {}, and {} is {}", what, sizes_of(found),
                                      other, sizes_of(wanted)));
  };
  if (!same(v, k)) fail("v", v, "k", k);
  if (!same(out, q)) fail("out", out, "q", q);
  if (k.batch != q.batch || k.head_dim != q.head_dim) fail("k", k, "q", q);
  check_no_value_twice(out);
  const auto check_apart = [&](std::string_view name, const ConstAnyHeads& view) {
    if (!is_empty(view)) check_apart_from_output(name, view.data, bytes_of(name, view), out);
  };
  check_apart("q", q);
  check_apart("k", k);
  check_apart("v", v);
}

}  // namespace headroom

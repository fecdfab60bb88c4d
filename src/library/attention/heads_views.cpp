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

std::string sizes_of(const ConstHeadsView& view) {
  return fmt::format("{} x {} x {} x {} (batch, tokens, heads, head_dim)", view.batch, view.tokens,
                     view.heads, view.head_dim);
}

using Steps = std::array<std::pair<std::int64_t, std::int64_t>, 3>;  // stride, count

Steps steps_of(const ConstHeadsView& view) {
  return {{{view.batch_stride, view.batch},
           {view.token_stride, view.tokens},
           {view.head_stride, view.heads}}};
}

bool is_empty(const ConstHeadsView& view) {
  return view.batch == 0 || view.tokens == 0 || view.heads == 0 || view.head_dim == 0;
}

// Floats from the first to behind the last. @pre nothing is negative.
std::int64_t span_of(std::string_view name, const ConstHeadsView& view) {
  std::int64_t span = view.head_dim;
  for (const auto& [stride, count] : steps_of(view)) {
    if (count > 1 && stride > (kMostFloats - span) / (count - 1)) {
      throw InvalidArgument(fmt::format(
          "attention: {} would span more than the 2^56 bytes that memory can have; give "
          "strides in values",
          name));
    }
    span += stride * (count - 1);
  }
  return span;
}

void check_one(std::string_view name, const ConstHeadsView& view) {
  for (const std::int64_t size : {view.batch, view.tokens, view.heads, view.head_dim}) {
    if (size < 0 || size > kMostFloats) {
      throw InvalidArgument(fmt::format("attention: {} is {}", name, sizes_of(view)));
    }
  }
  if (is_empty(view)) return;
  if (view.data == nullptr) {
    throw InvalidArgument(
        fmt::format("attention: {} is a null pointer; pass {} floats", name, sizes_of(view)));
  }
  for (const auto& [stride, count] : steps_of(view)) {
    if (count > 1 && stride < 0) {
      throw InvalidArgument(fmt::format("attention: {} has the negative stride {}", name, stride));
    }
  }
  span_of(name, view);
}

// Each step must pass over all that the smaller ones reach.
void check_no_value_twice(const ConstHeadsView& out) {
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

void check_apart_from(std::string_view name, const ConstHeadsView& view,
                      const ConstHeadsView& out) {
  if (is_empty(view) || is_empty(out)) return;
  const auto begin = [](const ConstHeadsView& of) {
    return reinterpret_cast<std::uintptr_t>(of.data);
  };
  const auto end = [&](std::string_view what, const ConstHeadsView& of) {
    return begin(of) + static_cast<std::uintptr_t>(span_of(what, of)) * sizeof(float);
  };
  if (begin(view) >= end("out", out) || begin(out) >= end(name, view)) return;
  throw InvalidArgument(fmt::format("attention: out overlaps {}; give it memory of its own", name));
}

}  // namespace

void check_heads(const ConstHeadsView& q, const ConstHeadsView& k, const ConstHeadsView& v,
                 const HeadsView& out) {
  check_one("q", q);
  check_one("k", k);
  check_one("v", v);
  check_one("out", out);
  const auto same = [](const ConstHeadsView& a, const ConstHeadsView& b) {
    return a.batch == b.batch && a.tokens == b.tokens && a.heads == b.heads &&
           a.head_dim == b.head_dim;
  };
  const auto fail = [](std::string_view what, const ConstHeadsView& found, std::string_view other,
                       const ConstHeadsView& wanted) {
    throw InvalidArgument(fmt::format("attention: {} is {}, and {} is {}", what, sizes_of(found),
                                      other, sizes_of(wanted)));
  };
  if (!same(v, k)) fail("v", v, "k", k);
  if (!same(out, q)) fail("out", out, "q", q);
  if (k.batch != q.batch || k.head_dim != q.head_dim) fail("k", k, "q", q);
  check_no_value_twice(out);
  check_apart_from("q", q, out);
  check_apart_from("k", k, out);
  check_apart_from("v", v, out);
}

}  // namespace headroom

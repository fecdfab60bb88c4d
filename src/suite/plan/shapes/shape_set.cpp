#include "plan/shapes/shape_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "headroom/error.hpp"
#include "plan/expand.hpp"

namespace headroom::plan {
namespace {

// Of a shape that is there already: such as all of --head-dim beside --d-model, for which a short
// line would otherwise be busy for seconds.
constexpr std::size_t kMaxRepeated = 1'000'000;

[[noreturn]] void fail_too_many(const char* what, std::size_t most) {
  throw InvalidArgument(fmt::format("these axes give more than {} {}; shorten a list{}", most, what,
                                    most == kMaxCells ? " or add --yes" : ""));
}

// Of what differs most often. Making an id for each of ten million repetitions would take many
// seconds.
std::size_t hash_of(const Case& shape) {
  std::size_t hash = 0;
  for (const std::int64_t number : {shape.batch, shape.tokens, shape.d_in, shape.d_out, shape.heads,
                                    shape.kv_heads, shape.window, shape.past}) {
    hash = (hash ^ static_cast<std::size_t>(number)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

bool ShapeSet::has(const Case& shape, std::size_t hash) const {
  const auto [first, last] = seen_.equal_range(hash);
  return std::any_of(first, last, [&](const auto& seen) { return shapes_[seen.second] == shape; });
}

void ShapeSet::add(const Case& shape) {
  if (++added_ > kMaxShapes) fail_too_many("shapes", kMaxShapes);
  const std::size_t hash = hash_of(shape);
  if (has(shape, hash)) {
    if (++repeated_ > kMaxRepeated) fail_too_many("repeated shapes", kMaxRepeated);
    return;
  }
  shape.validate();
  seen_.emplace(hash, shapes_.size());
  shapes_.push_back(shape);
  if (shapes_.size() > most_) fail_too_many("cells", kMaxCells);
}

}  // namespace headroom::plan

#include "plan/shapes/shape_set.hpp"

#include <fmt/format.h>

#include <bit>

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

}  // namespace

// Of rotary positions the base and the pairs differ between models; the lengths are the same for
// all shapes.
ShapeSet::Key ShapeSet::key_of(const Shape& shape) {
  return {shape.batch,
          shape.tokens,
          shape.d_in,
          shape.d_out,
          shape.heads,
          shape.kv_heads,
          shape.window,
          shape.past,
          static_cast<std::int64_t>(shape.rotary.pairs),
          std::bit_cast<std::int64_t>(shape.rotary.base)};
}

void ShapeSet::add(const Shape& shape) {
  if (++added_ > kMaxShapes) fail_too_many("shapes", kMaxShapes);
  if (!seen_.insert(key_of(shape)).second) {
    if (++repeated_ > kMaxRepeated) fail_too_many("repeated shapes", kMaxRepeated);
    return;
  }
  shape.validate();
  shapes_.push_back(shape);
  if (shapes_.size() > most_) fail_too_many("cells", kMaxCells);
}

}  // namespace headroom::plan

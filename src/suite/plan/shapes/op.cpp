#include "plan/shapes/op.hpp"

#include "core/text/names.hpp"

namespace headroom::plan {
namespace {

constexpr Name<Op> kOps[] = {{Op::layer, "layer"}, {Op::attention, "attention"}};

}  // namespace

std::string_view to_string(Op op) { return name_of(kOps, op); }

std::optional<Op> parse_op(std::string_view name) { return value_of(kOps, name); }

}  // namespace headroom::plan

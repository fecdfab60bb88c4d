// What is measured: a layer, or its attention alone.
#pragma once

#include <optional>
#include <string_view>

namespace headroom::plan {

enum class Op {
  layer,      ///< products with weights around attention
  attention,  ///< over queries, keys and values that are given
};

std::string_view to_string(Op op);

/// Inverse of `to_string`; empty for an unknown name.
std::optional<Op> parse_op(std::string_view name);

}  // namespace headroom::plan

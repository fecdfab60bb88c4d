// Checks of the caller's views of heads before a call touches them.
#pragma once

#include <cstdint>
#include <string_view>

#include "headroom/dot_product.hpp"

namespace headroom {

/// @throws InvalidArgument naming the view: sizes that do not fit each other, null pointers,
///         strides that are negative or reach beyond any memory, an output that overlaps itself or
///         another view.
void check_heads(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
                 const AnyHeads& out);

/// Bytes that a view spans, with `count` steps of so many values more.
/// @throws InvalidArgument naming the view: beyond any memory.
std::int64_t add_to_span(std::string_view name, std::int64_t bytes, std::int64_t stride,
                         std::int64_t count, std::int64_t value_bytes);

/// @throws InvalidArgument naming the view: the output reaches into its bytes.
void check_apart_from_output(std::string_view name, const void* data, std::int64_t bytes,
                             const ConstAnyHeads& out);

}  // namespace headroom

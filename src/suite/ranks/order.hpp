// What the leading rank tells the others to do.
#pragma once

#include <cstdint>
#include <string>

#include "core/case.hpp"
#include "headroom/attention.hpp"

namespace headroom::ranks {

inline constexpr int kOrderTag = 1;

struct Order {
  enum class Kind { make, pass, drop, measure_link, end };
  Kind kind = Kind::end;
  std::int64_t layer = 0;  ///< counted from 1
  // Of `make`:
  Case shape = {};
  AttentionOptions options = {};
  int ranks = 1;
  std::int64_t fill_tokens = 1;
  double patience = 0;  ///< see `DistributedOptions`
  // Of `pass`:
  std::int64_t passes = 1;
  bool compare = false;  ///< afterwards the leader asks for the bits of y
};

/// In one line of JSON.
std::string to_text(const Order& order);

/// Inverse of `to_text`. @throws nlohmann::json::exception or InvalidArgument for anything else
Order order_from_text(const std::string& text);

}  // namespace headroom::ranks

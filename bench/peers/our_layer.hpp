// One of our backends as a peer: it answers what the rivals' programs answer.
#pragma once

#include <string>

#include "core/element/layer_numbers.hpp"

namespace headroom::peers {

struct OurLayer {
  std::string backend;
  Numbers numbers = {};
};

/// Serves until standard input ends. A layer that stores bf16 is called with bf16 values.
void serve_layer(const OurLayer& ours);

}  // namespace headroom::peers

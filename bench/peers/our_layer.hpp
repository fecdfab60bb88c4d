// One of our backends as a peer: it answers what the rivals' programs answer.
#pragma once

#include <string>

namespace headroom::peers {

/// Serves until standard input ends.
void serve_layer(const std::string& backend);

}  // namespace headroom::peers

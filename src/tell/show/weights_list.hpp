// What a file of weights holds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "weights/tensor_set.hpp"

namespace headroom::show {

/// For people: the layers that are recognised, and every tensor with its type and size.
/// @throws FileError for a file that cannot be read, as do all.
std::string weights_list(weights::TensorSet& set);

/// For programs: schema `headroom.weights/1`.
nlohmann::ordered_json weights_json(weights::TensorSet& set);

}  // namespace headroom::show

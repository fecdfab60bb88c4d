// Weights of a layer in a few words.
#pragma once

#include <optional>
#include <string>

#include "core/case.hpp"

namespace headroom::show {

/// Such as `weights 4.5 MiB of q8 (error of storing 5.5e-03)`.
/// @param storage_error as `record::CellResult::storage_error`
std::string weights_words(const Case& shape, const Numbers& stored,
                          const std::optional<double>& storage_error);

}  // namespace headroom::show

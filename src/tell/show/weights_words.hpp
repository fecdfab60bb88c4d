// Weights of a layer in a few words.
#pragma once

#include <optional>
#include <string>

#include "core/case.hpp"
#include "record/result.hpp"

namespace headroom::show {

/// Such as `weights 4.5 MiB of q8 (error of storing 5.5e-03; attention weights: 0.4 % of maxima
/// moved, KL 1.3e-05)`.
/// @param storage_error, shift as in `record::CellResult`
std::string weights_words(const Case& shape, const Numbers& stored,
                          const std::optional<double>& storage_error,
                          const std::optional<reference::AttentionShift>& shift);

}  // namespace headroom::show

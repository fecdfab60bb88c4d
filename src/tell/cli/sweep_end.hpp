// What a sweep says at its end beside its table: what to link, and what changed since the last one.
#pragma once

#include <string>

#include "record/results_folder.hpp"

namespace headroom::cli {

/// For each shape what to link, then what one wide matrix gains with more heads; empty without any
/// time.
std::string answers_of(const record::ResultsFolder& folder);

/// How this sweep differs from the latest other one of the same axes on the same processor whose
/// folder lies beside this one; empty if there is none.
std::string changes_since_the_last(const record::ResultsFolder& folder);

}  // namespace headroom::cli

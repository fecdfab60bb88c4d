// What one wide matrix in place of one small matrix for each head wins: the question that the
// project was founded on, answered for each machine.
#pragma once

#include <string>

#include "across/overview.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

inline constexpr const char* kFoundingHead = "One wide matrix, or one for each head";

/// The run that adds a machine to it, in minutes.
inline constexpr const char* kFoundingCommand =
    "scripts/sweep --d-model 768,1536 --heads 1,12,48,96 --tokens 16,128 --backend all "
    "--formulation wrapper,split";

/// Backends as rows, heads as columns, the factor of split over wrapper in each field.
Table factor_table(const across::HeadPanel& panel);

/// The same with times, intervals and verdicts: a row for each field.
Table field_table(const across::HeadPanel& panel);

/// A panel for each series of each machine, and what adds those that have none.
std::string founding_html(const across::Overview& overview);
std::string founding_markdown(const across::Overview& overview);

}  // namespace headroom::report

// The answers of a report: for each shape one line that says what to link, how sure that is, and
// what it is worth.
#pragma once

#include <string>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// One row per shape with a time.
Table answer_table(const Findings& findings);

/// What its columns say.
Prose answer_note();

/// The same for a terminal, each line of at most 100 characters; empty without any time.
std::string answer_lines(const Findings& findings);

}  // namespace headroom::report

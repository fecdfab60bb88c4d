// The lines that add a choice to a user's project; every output format quotes the same ones.
#pragma once

#include <string>
#include <vector>

#include "pick/pick.hpp"

namespace headroom::pick {

std::vector<std::string> cmake_lines(const Configuration& choice);
std::vector<std::string> cpp_lines(const Configuration& choice);

/// Such as `fused/tbb, 2 threads`.
std::string to_text(const Configuration& choice);

/// That there is no answer yet; empty if there is one.
std::string no_answer(const Pick& pick);

/// Why this choice, in a sentence or two.
std::string reason(const Pick& pick);

/// That a pick is borrowed, from whom, and how near that is; empty for one of this machine.
std::vector<std::string> borrowed_lines(const Pick& pick);

/// The machine and the time, such as `AMD EPYC (x86_64), 2 cores, avx2, 2026-01-31T12:00:00Z`.
std::string measured_on(const record::ResultsFolder& folder);

}  // namespace headroom::pick

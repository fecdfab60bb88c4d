// Measures the cells of two results folders again, with the programs that measured them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record/results_folder.hpp"

namespace headroom::measure {

/// The program that measured a folder.
struct MeasuredBy {
  const record::ResultsFolder* folder = nullptr;
  std::string program;
};

/// Both in turns, so that what the machine does meanwhile meets both.
struct SecondRun {
  record::ResultsFolder base, next;
};

/// Alternating runs of each program.
inline constexpr int kRounds = 4;

/// Measures these cells with the axes and settings that the folders recorded, in a temporary
/// folder. The samples of each round are those of other processes.
/// @param ids of cells that both folders have
/// @param note told of each run
/// @throws InvalidArgument if a folder does not say how it was measured, or if a program is of
///         another revision than the one that measured its folder; FileError if a program cannot be
///         run; std::runtime_error if it fails.
SecondRun measure_again(const MeasuredBy& base, const MeasuredBy& next,
                        const std::vector<std::string>& ids,
                        const std::function<void(const std::string&)>& note);

}  // namespace headroom::measure

// Threads beside which the machine had fewer cores: on shared hosts two virtual cores are at times
// one physical core.
#pragma once

#include <optional>
#include <string>

#include "record/peaks.hpp"
#include "record/result.hpp"

namespace headroom::judge {

/// How many cores would do multiply-adds at the rate that the threads of a cell reached beside its
/// samples, if each did as many per cycle as one thread alone.
/// @param roofs of the same run, for the rate of one thread
/// @return the median of the samples; nothing without a time, on one thread, without a control, or
///         where the rate of one thread was not measured
std::optional<double> core_rate(const record::CellResult& result, const record::Peaks& roofs);

/// The same, only where that is fewer cores than the cell had threads.
std::optional<double> too_few_cores(const record::CellResult& result, const record::Peaks& roofs);

/// Such as `"2 threads ran at the rate of 1.1 cores"`, or those of the leading one of several
/// ranks.
std::string core_rate_words(const record::CellResult& result, double cores);

}  // namespace headroom::judge

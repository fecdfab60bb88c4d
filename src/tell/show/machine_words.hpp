// The machine in words, of an environment.json that may come from anywhere or be an old one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "record/peaks.hpp"

namespace headroom::show {

/// The conditions of a run: those that are known in one line, then one line for each that is not,
/// with the reason. An old record gives no reasons; there it is "not known".
std::vector<std::string> condition_lines(const nlohmann::ordered_json& environment);

/// Such as `"3.40 GHz"`, or why there is none.
std::string clock_words(const nlohmann::ordered_json& environment);

/// The unit in use, those that are available, and why others are not.
std::string unit_words(const nlohmann::ordered_json& environment);

/// The caches next to memory, all together; empty in an old record.
std::string last_level_words(const nlohmann::ordered_json& environment);

/// A multiply-add roof: its rate and clock, then the rate and clock that the machine goes on with
/// or, where that is less, what makes it a roof of bursts; then the roof of register tiles. Empty
/// if it was not measured.
std::string fma_peak_words(const record::Peaks& peaks, int threads);

/// The roof of each precision that was measured, beside that of multiply-adds.
std::vector<std::string> product_peak_lines(const record::Peaks& peaks, int threads);

}  // namespace headroom::show

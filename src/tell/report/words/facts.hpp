// Which machine was measured, how, and what is in doubt.
#pragma once

#include <string>
#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// Processor, memory, instruction set, build, conditions and measured peaks.
Table machine_facts(const record::ResultsFolder& folder);

/// Backends with their libraries; for a missing one, the reason.
Table backend_rows(const record::ResultsFolder& folder);

/// The peers with their versions, settings and packages; for one that was not measured, the reason.
Table peer_rows(const record::ResultsFolder& folder);

/// Every variant in which a peer was called for a shape, with its time or why it has none.
Table peer_trials(const record::ResultsFolder& folder);

/// Threads, samples, how operations are counted, baselines, and the rule that distinguishes cells.
Table method_facts(const Findings& findings);

/// What a pass of the fastest cell of each shape used: energy, instructions, cache misses. No row
/// where the machine told nothing.
Table usage_rows(const Findings& findings);

/// The noise floor, and how far the control moved for each number of threads.
Table noise_facts(const Findings& findings);

/// Cells without a time, with the status and the reason.
Table table_without_times(const record::ResultsFolder& folder);

/// What a reader must know before the figures: dropped lines, missing cells, the sweep's warnings.
std::vector<Prose> remarks(const record::ResultsFolder& folder);

/// The command that repeats the sweep; empty where the sweep did not record its axes.
std::string repeating_command(const nlohmann::ordered_json& environment);

/// @throws FileError if a line cannot come from the machine that the environment describes.
void check_one_machine(const record::ResultsFolder& folder);

}  // namespace headroom::report

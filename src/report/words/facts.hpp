// What was measured on, how, and what is in doubt.
#pragma once

#include <string>
#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

/// Processor, memory, instruction set, build, conditions and measured peaks.
Table machine_facts(const record::ResultsFolder& folder);

/// Backends with their libraries; those that were not there with the reason.
Table backend_rows(const record::ResultsFolder& folder);

/// Threads, samples, counting of operations, baselines, and the rule by which cells are told apart.
Table method_facts(const Findings& findings);

/// The noise floor, and how far the control moved for each number of threads.
Table noise_facts(const Findings& findings);

/// Cells without a time, with the status and the reason.
Table table_without_times(const record::ResultsFolder& folder);

/// What a reader must know before the figures: dropped lines, missing cells, warnings of the sweep.
std::vector<Prose> remarks(const record::ResultsFolder& folder);

/// The arguments that measure the same again; empty where the sweep did not record its axes.
std::string repeating_command(const nlohmann::ordered_json& environment);

/// @throws FileError if the lines cannot be of one machine: its environment describes another.
void check_one_machine(const record::ResultsFolder& folder);

}  // namespace headroom::report

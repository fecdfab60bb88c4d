// The subcommands. Each adds itself to the program and returns the function to run if chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/with_ranks.hpp"
#include "machine/meters/peak.hpp"

namespace headroom::cli {

/// A subcommand and its function, which returns an exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// @param limits_of returns the kernels that measure the hardware's limits; may be null.
/// @param run_as_rank may be null, too
Command add_info(CLI::App& app, machine::LimitKernelsOf limits_of, RunAsRank run_as_rank);
Command add_verify(CLI::App& app, RunAsRank run_as_rank);
Command add_sweep(CLI::App& app, machine::LimitKernelsOf limits_of, RunAsRank run_as_rank);
Command add_merge(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_explain(CLI::App& app, machine::LimitKernelsOf limits_of);
Command add_export(CLI::App& app);
Command add_pick(CLI::App& app, machine::LimitKernelsOf limits_of);
Command add_report(CLI::App& app);
Command add_run(CLI::App& app);
Command add_tune(CLI::App& app, machine::LimitKernelsOf limits_of);

/// The whole program: parses, runs, and turns every error into a message and an exit code.
int run_program(int count, char** arguments, machine::LimitKernelsOf limits_of,
                RunAsRank run_as_rank);

}  // namespace headroom::cli

// The subcommands. Each adds itself to the program and returns the function to run if chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "cli/with_ranks.hpp"
#include "machine/meters/peak.hpp"

namespace headroom::cli {

/// A subcommand and its function, which returns an exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// Adds an option. @param value what stands for its value in help, such as `FOLDER`, or the names
/// that it may be, such as `warm|cold`, which shells complete
template <class T>
CLI::Option* add_value(CLI::App& command, const char* name, T& variable, const std::string& value,
                       const std::string& help) {
  return command.add_option(name, variable, help)->option_text(value);
}

/// Adds what has its place instead of a name, such as `DIR`.
template <class T>
CLI::Option* add_place(CLI::App& command, const char* name, T& variable, const std::string& help) {
  return command.add_option(name, variable, help)
      ->option_text(" ");  // empty would mean the type's name
}

/// What a help ends with. @param lines commands that a user can type, one a line
inline void add_examples(CLI::App& command, const std::string& lines) {
  command.footer("Examples:\n" + lines +
                 "\n\nLIST: numbers and ranges, such as 1,2,8 or 1-8+1 or 1-64*2. NAMES: separated "
                 "by commas.\n"
                 "The whole manual: man headroom");
}

/// @param limits_of returns the kernels that measure the hardware's limits; may be null.
/// @param run_as_rank may be null, too
Command add_info(CLI::App& app, machine::LimitKernelsOf limits_of, RunAsRank run_as_rank);
Command add_verify(CLI::App& app, RunAsRank run_as_rank);
Command add_sweep(CLI::App& app, machine::LimitKernelsOf limits_of, RunAsRank run_as_rank);
Command add_merge(CLI::App& app);
Command add_bisect(CLI::App& app);
Command add_collect(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_explain(CLI::App& app, machine::LimitKernelsOf limits_of);
Command add_export(CLI::App& app);
Command add_pick(CLI::App& app, machine::LimitKernelsOf limits_of);
Command add_report(CLI::App& app);
Command add_run(CLI::App& app, machine::LimitKernelsOf limits_of);
Command add_trend(CLI::App& app);
Command add_tune(CLI::App& app, machine::LimitKernelsOf limits_of);

}  // namespace headroom::cli

// What differs between Google Benchmark 1.7.1 (Debian 12) and 1.9: detected from the types
// themselves, because 1.7.1 has no version macro.
#pragma once

#include <benchmark/benchmark.h>

#include <string>

namespace headroom::machine {

/// Whether a run ended through SkipWithError or SkipWithMessage.
template <class Run>
bool was_skipped(const Run& run) {
  if constexpr (requires { run.error_occurred; }) {
    return run.error_occurred;
  } else {
    return static_cast<int>(run.skipped) != 0;
  }
}

/// Ends a benchmark that cannot run here although nothing is wrong; older libraries know only
/// errors.
template <class State>
void skip_with_reason(State& state, const std::string& reason) {
  if constexpr (requires { state.SkipWithMessage(reason.c_str()); }) {
    state.SkipWithMessage(reason.c_str());
  } else {
    state.SkipWithError(reason.c_str());
  }
}

}  // namespace headroom::machine

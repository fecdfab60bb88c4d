// What stands beside Google Benchmark's warning that its library was built as DEBUG, as Debian's
// is.
#pragma once

#include <benchmark/benchmark.h>

#include <sstream>
#include <string>

#include "record/environment.hpp"

namespace headroom::bench {

/// Whether the linked library gives that warning.
inline bool google_benchmark_is_debug() {
  std::ostringstream context;
  benchmark::BenchmarkReporter::PrintBasicContext(&context, {});
  return context.str().find("built as DEBUG") != std::string::npos;
}

/// Says so in every output, right above the warning, if there is one. Call after
/// `benchmark::Initialize`.
inline void name_own_build() {
  if (!google_benchmark_is_debug()) return;
  benchmark::AddCustomContext(
      "headroom",
      record::is_release_build()
          ? "Release build, kernels optimised; 'Library was built as DEBUG' is about "
            "Google Benchmark's own library and slows no kernel"
          : "not a Release build, so its times say little; 'Library was built as DEBUG' "
            "is about Google Benchmark's own library");
}

}  // namespace headroom::bench

// Times each kernel alone, beside its limit measured in the same run. Names are
// `project/<backend>/<isa>/t<threads>/M<rows>_N<columns>_K<depth>` and
// `attend/<backend>/<isa>/t<threads>/T<tokens>_D<head_dim>_H<heads>[_nomask]`; select rows with
// --benchmark_filter. Every result is checked before its row is timed. Compare rows by their
// peak_share, which is relative to multiply-adds timed right before and after the row's own loop.

#include <benchmark/benchmark.h>

#include <iostream>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "kernels/rows.hpp"
#include "own_build.hpp"
#include "program/exit_code.hpp"
#include "program/process_setup.hpp"

int main(int argc, char** argv) {
  headroom::restart_with_passive_openmp(argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  headroom::bench::name_own_build();
  headroom::bench::register_limits();
  headroom::bench::register_project();
  headroom::bench::register_attend();
  headroom::bench::register_elementwise();
  try {
    benchmark::RunSpecifiedBenchmarks();
  } catch (const headroom::ResourceError& error) {
    std::cerr << "error: " << headroom::shown_text(error.what()) << '\n';
    return headroom::kNoResource;
  }
  benchmark::Shutdown();
  return 0;
}

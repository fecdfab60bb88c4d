// Results in the formats of other tools.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "record/results_folder.hpp"

namespace headroom::show {

enum class ExportFormat {
  gbench,  ///< Google Benchmark's JSON
  csv,     ///< comma-separated values, RFC 4180
  bmf,     ///< Bencher Metric Format
};

/// @throws InvalidArgument for an unknown name.
ExportFormat parse_export_format(std::string_view option, std::string_view name);

std::string export_results(const record::ResultsFolder& folder, ExportFormat format);

/// The same names and fields as `headroom-bench --benchmark_format=json`, so that Google
/// Benchmark's tools/compare.py reads both. Cells without a time are left out: a time of 0 would be
/// false.
std::string export_google_benchmark(const record::ResultsFolder& folder);

/// One row per cell, whatever its status; an empty field was not measured.
std::string export_csv(const record::ResultsFolder& folder);

/// A folder of several, and whose it is.
struct NamedFolder {
  const record::ResultsFolder* folder = nullptr;
  std::string machine, version;
};

/// The same for several, with the columns `machine` and `version` in front.
std::string export_csv(const std::vector<NamedFolder>& folders);

/// `latency` in nanoseconds and `throughput` in floating-point operations per second, each with the
/// bounds of the median's 95 % confidence interval. Cells without a time are left out.
std::string export_bencher(const record::ResultsFolder& folder);

/// Cells that `gbench` and `bmf` leave out.
std::size_t cells_without_time(const record::ResultsFolder& folder);

}  // namespace headroom::show

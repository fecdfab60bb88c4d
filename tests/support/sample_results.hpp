// Results that no machine measured, with every field filled in.
#pragma once

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "record/results_folder.hpp"

namespace headroom::test {

/// Nine samples around a middle, 0.1 % apart: as steady as a quiet machine.
inline std::vector<double> around(double middle, double step = 0.001) {
  std::vector<double> samples;
  for (int i = -4; i <= 4; ++i) samples.push_back(middle * (1 + step * i));
  return samples;
}

inline Case sample_shape() {
  Case shape;
  shape.tokens = 4;
  shape.d_in = shape.d_out = shape.d_proj = 8;
  shape.heads = 2;
  return shape;
}

/// A cell without a time: give it a status and a reason, or `with_time`.
inline record::CellResult sample_result(const std::string& backend,
                                        Formulation formulation = Formulation::split) {
  record::CellResult result;
  result.shape = sample_shape();
  result.cell.formulation = formulation;
  result.cell.backend = backend;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  result.isa = "avx2";
  result.estimate = {1234, 0.25};
  return result;
}

/// A cell that each of as many launches sampled once.
inline record::CellResult with_time(record::CellResult result, const std::vector<double>& samples) {
  result.status = record::Status::ok;
  result.reason.clear();
  std::vector<int> launches(samples.size());
  std::iota(launches.begin(), launches.end(), 0);
  result.time = record::summarise(samples, launches, 1);
  result.gflops = result.shape.flops().total() / result.time.median * 1e-9;
  result.peak_fraction = 0.1;
  result.phases = {1e-3, 2e-3, 5e-4};
  result.costs = AttentionCosts{0.125, 4096, 512, "brg:avx512_core", "simd:avx512"};
  result.error = reference::Comparison{};
  result.error->nrmse = 1.5e-7;
  result.error->max_over_rms = 3.25e-7;
  result.checked_rows = 3;
  return result;
}

/// The same samples, all of one launch.
inline record::CellResult of_one_launch(record::CellResult result) {
  result.time = record::summarise(result.time.samples, {}, 1);
  return result;
}

/// The same cell with its heads divided over so many processes.
inline record::CellResult on_ranks(record::CellResult result, int ranks) {
  result.cell.ranks = ranks;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return result;
}

inline record::CellResult without_time(record::CellResult result, record::Status status,
                                       const std::string& reason) {
  result.status = status;
  result.reason = reason;
  return result;
}

inline nlohmann::ordered_json sample_environment() {
  return {
      {"schema", "headroom.environment/1"},
      {"time", "2026-01-31T12:00:00Z"},
      {"processor", {{"name", "Processor"}, {"architecture", "x86_64"}}},
      {"allowed_cores", 2},
      {"isa", "avx2"},
      {"backends", {{{"name", "naive"}, {"library", ""}}, {{"name", "autovec"}, {"library", ""}}}},
      {"build", {{"compiler", "GNU 12"}, {"build_type", "Release"}, {"flags", "-O3"}}}};
}

/// A folder as it is after it was read, with the results in the given order.
inline record::ResultsFolder sample_folder(const std::string& name,
                                           std::vector<record::CellResult> results) {
  record::ResultsFolder folder;
  folder.path = name;
  folder.environment = sample_environment();
  for (std::size_t i = 0; i < results.size(); ++i) results[i].cell.order = i;
  folder.results = std::move(results);
  return folder;
}

inline std::string lines_of(const std::vector<record::CellResult>& results) {
  std::string text;
  for (const record::CellResult& result : results) text += to_json(result).dump() + "\n";
  return text;
}

/// A results folder on disk.
inline void write_sample_folder(const std::filesystem::path& folder,
                                const std::vector<record::CellResult>& results,
                                const nlohmann::ordered_json& environment = sample_environment()) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "environment.json") << environment.dump();
  std::ofstream(folder / "results.jsonl", std::ios::binary) << lines_of(results);
}

}  // namespace headroom::test

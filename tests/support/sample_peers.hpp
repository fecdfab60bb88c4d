// A folder as scripts/peers writes one, with another library that is faster for one shape.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/sample_results.hpp"

namespace headroom::test {

inline record::CellResult cell_of(const std::string& backend, Formulation formulation,
                                  std::int64_t tokens, int threads, std::vector<double> samples) {
  record::CellResult result = sample_result(backend, formulation);
  result.shape.tokens = tokens;
  result.threads = result.cell.threads = threads;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return with_time(std::move(result), samples);
}

/// `rapid` beats ours for 4 tokens on one thread, and is as fast on two; `steady` is slower
/// everywhere. For 16 tokens there is none of ours.
inline std::vector<record::CellResult> cells_with_peers() {
  constexpr auto kFused = Formulation::fused, kSplit = Formulation::split;
  record::CellResult failed = cell_of("rapid", kSplit, 4, 1, {1});
  failed = without_time(std::move(failed), record::Status::failed, "wrong result");
  return {cell_of("tbb", kFused, 4, 1, around(1e-3)),
          cell_of("xsimd", kSplit, 4, 1, around(1.2e-3)),
          cell_of("steady", kFused, 4, 1, around(2e-3)),
          cell_of("rapid", kFused, 4, 1, around(0.8e-3)),
          std::move(failed),
          cell_of("tbb", kFused, 4, 2, around(0.5e-3)),
          cell_of("xsimd", kSplit, 4, 2, around(0.6e-3)),
          cell_of("rapid", kFused, 4, 2, around(0.5e-3)),
          cell_of("rapid", kSplit, 4, 2, around(0.9e-3)),
          cell_of("steady", kFused, 4, 2, around(0.7e-3)),
          cell_of("steady", kFused, 16, 1, around(5e-3))};
}

inline nlohmann::ordered_json environment_with_peers() {
  nlohmann::ordered_json environment = sample_environment();
  environment["sweep"]["compared_with"] = {"fused/tbb/f32/t1/B1_T4_D8_H2",
                                           "fused/tbb/f32/t2/B1_T4_D8_H2"};
  environment["peers"] = {
      {"steady", {{"version", "steady 2.1"}, {"settings", {{"mode", "plain"}}}}},
      {"rapid",
       {{"version", "rapid 1.0"},
        {"settings", {{"precision", "f32"}, {"streams", 1}}},
        {"packages", {{"rapid", "1.0"}, {"numpy", "2.0"}}},
        {"tried",
         {{"t1/B1_T4_D8_H2",
           {{"fused",
             {{"tried", {{"plain", "0.0009 s"}, {"packed", "0.0008 s"}}}, {"taken", "packed"}}},
            {"split", {{"tried", {{"plain", "wrong result: 3"}}}, {"taken", nullptr}}}}}}}}},
      {"absent", {{"skipped", "not installed; install it with: pip install absent"}}}};
  return environment;
}

/// As it is after it was read.
inline record::ResultsFolder folder_with_peers() {
  record::ResultsFolder folder = sample_folder("beside", cells_with_peers());
  folder.environment = environment_with_peers();
  mark_peers(folder);
  return folder;
}

}  // namespace headroom::test

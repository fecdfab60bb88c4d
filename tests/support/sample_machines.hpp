// Results folders of several machines and versions, on disk.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "plan/cell.hpp"
#include "reference/limits.hpp"
#include "support/sample_results.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::test {

/// A version of the program on a machine of this name.
inline nlohmann::ordered_json environment_of(const std::string& processor,
                                             const std::string& revision = "aaaaaaaaaaaa",
                                             const std::string& time = "2026-01-31T12:00:00Z") {
  nlohmann::ordered_json environment = sample_environment();
  environment["headroom"] = "0.1.0";
  environment["time"] = time;
  environment["processor"]["name"] = processor;
  environment["build"]["git_revision"] = revision;
  environment["processor"]["caches"] =
      nlohmann::ordered_json::array({nlohmann::ordered_json{{"name", "L3"}, {"bytes", 33554432}}});
  environment["noise"]["floor"] = 0.01;
  environment["peaks"] = {{"isa", "avx2"},
                          {"fma_gflops_by_threads", {{"1", 100.0}, {"2", 200.0}}},
                          {"read_gb_per_s_by_threads", {{"1", 20.0}, {"2", 30.0}}}};
  return environment;
}

/// A cell of heads of 4 with 8 tokens.
inline record::CellResult machine_cell(const std::string& backend, std::int64_t heads,
                                       const std::vector<double>& samples, int threads = 1) {
  record::CellResult result = sample_result(backend);
  result.shape.heads = heads;
  result.shape.tokens = 8;
  result.shape.d_in = result.shape.d_out = result.shape.d_proj = 4 * heads;
  result.threads = result.cell.threads = threads;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return with_time(std::move(result), samples);
}

inline record::CellResult with_control(record::CellResult result, double gflops) {
  result.control = record::Control{};
  result.control->isa = "avx2";
  result.control->threads = result.threads;
  result.control->gflops = std::vector<double>(result.time.samples.size(), gflops);
  return result;
}

inline record::CellResult cold(record::CellResult result) {
  result.cache = plan::CacheState::cold;
  return result;
}

inline record::CellResult computed_as(record::CellResult result, Precision precision) {
  result.cell.numbers.precision = precision;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  result.error->limits = reference::limits_of(result.cell.numbers);
  return result;
}

/// Checked in no row, or found beyond its limit.
inline record::CellResult not_checked(record::CellResult result) {
  result.checked_rows = 0;
  return result;
}
inline record::CellResult beyond_limit(record::CellResult result) {
  result.error->nrmse = 2 * result.error->limits.nrmse;
  return result;
}

class Machines : public TemporaryFolder {
 protected:
  std::filesystem::path folder(const std::string& name,
                               const std::vector<record::CellResult>& results,
                               const nlohmann::ordered_json& environment) const {
    write_sample_folder(path_ / name, results, environment);
    return path_ / name;
  }
};

}  // namespace headroom::test

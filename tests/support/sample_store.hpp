// Stores of machines that nobody has.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/sample_results.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::test {

/// A machine with AVX-512 and an L2 of that many KiB; the revision says which version.
inline nlohmann::ordered_json machine_environment(
    const std::string& name, int l2_kib, const std::string& revision = "abc123",
    const std::string& time = "2026-11-23T12:00:00Z") {
  nlohmann::ordered_json environment = sample_environment();
  environment["headroom"] = "0.1.0";
  environment["time"] = time;
  environment["build"]["git_revision"] = revision;
  environment["available_isas"] = {"sse4.2", "avx2", "avx512"};
  environment["available_units"] = {"emulated", "none"};
  environment["processor"] = {{"name", name},
                              {"vendor", "Maker"},
                              {"architecture", "x86_64"},
                              {"cores", 2},
                              {"caches",
                               {{{"name", "L1d"}, {"bytes", 32768}, {"count", 2}},
                                {{"name", "L2"}, {"bytes", l2_kib << 10}, {"count", 2}},
                                {{"name", "L3"}, {"bytes", 1 << 25}, {"count", 1}}}}};
  return environment;
}

/// Steady times of cells for that many tokens.
inline record::CellResult steady(const std::string& backend, double seconds,
                                 std::int64_t tokens = 4, int threads = 1) {
  record::CellResult result = sample_result(backend);
  result.shape.tokens = tokens;
  result.threads = result.cell.threads = threads;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return with_time(std::move(result), around(seconds));
}

/// A store in a folder of its own. The name of a machine's folder says nothing.
class SampleStore : public TemporaryFolder {
 protected:
  void put(const std::string& place, const nlohmann::ordered_json& environment,
           const std::vector<record::CellResult>& results) const {
    write_sample_folder(path_ / place, results, environment);
  }
};

}  // namespace headroom::test

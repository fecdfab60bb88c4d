// Cells whose weights and caches are stored in fewer bits, on the real program: killed, gone on
// with, measured in parts, merged and compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "support/cli.hpp"

namespace headroom::test::storage_test {
namespace {

using nlohmann::json;

// Two backends, three storages of weights, two of the cache.
constexpr const char* kSweep =
    "$headroom sweep --backend naive,xsimd --formulation fused --threads 1 --heads 2 --head-dim 32 "
    "--tokens 1 --past 64 --weights-dtype f32,q8,q4 --cache-dtype f32,q8 --repetitions 2 "
    "--processes 1 --min-time 0.001 --out ";
constexpr std::size_t kCells = 12;

class StorageCli : public Cli {
 protected:
  static std::string sweep(const std::string& more) { return kSweep + more; }

  void expect_every_cell(const std::string& folder) const {
    std::set<std::string> ids;
    for (const json& line : results(folder)) EXPECT_TRUE(ids.insert(line["id"]).second);
    EXPECT_EQ(ids.size(), kCells);
    const auto has = [&](const std::string& numbers) {
      return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
        return id.find("/" + numbers + "/") != std::string::npos;
      });
    };
    for (const char* numbers : {"f32-wq8", "f32-wq4", "f32-cq8", "f32-wq8-cq8", "f32-wq4-cq8"}) {
      EXPECT_TRUE(has(numbers)) << numbers;
    }
  }
};

TEST_F(StorageCli, SaysWhatEachCellStoresAndOthersAreAnotherSweep) {
  expect(sweep("results"), 0, {"12 of 12 cells: 12 ok", "of q4", "f32-wq8-cq8"});
  expect_every_cell("results");
  for (const json& line : results()) {
    const bool weights = line.contains("weights_dtype");
    const bool cache = line.contains("cache_dtype");
    EXPECT_EQ(line.contains("storage_nrmse"), weights || cache) << line;
  }
  std::string other = sweep("results --resume");
  other.replace(other.find("f32,q8,q4"), 9, "f32,q8");
  expect(other, 2, {"--weights-dtype"});
}

TEST_F(StorageCli, GoesOnWhereItWasKilled) {
  std::string killed = sweep("results");
  killed.replace(0, std::string("$headroom").size(), "timeout -s KILL 2 $headroom");
  run(killed);
  expect(sweep("results --resume"), 0, {"12 of 12 cells: 12 ok"});
  expect_every_cell("results");
  expect(sweep("results --resume"), 0, {"12 cells are already done; 0 to go"});
  const std::string text = read_all(path_ / "results" / "results.jsonl");
  write("results/results.jsonl", text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  expect(sweep("results --resume"), 0, {"11 cells are already done; 1 to go"});
  expect_every_cell("results");
}

TEST_F(StorageCli, PartsAreMergedAndCompared) {
  expect(sweep("one --shard 1/2"), 0, {});
  expect(sweep("two --shard 2/2"), 0, {});
  expect("$headroom merge one two --out results", 0, {"12 cells from 2 folders"});
  expect_every_cell("results");
  expect(sweep("results --resume"), 0, {"12 cells are already done; 0 to go"});
  expect("$headroom compare results results", 0,
         {"fused/xsimd/f32-wq8/", "fused/naive/f32-wq4-cq8/", "12 cells compared",
          "0 only in BASE, 0 only in NEW"});
  expect("$headroom export results --to bmf", 0, {"fused/xsimd/f32-wq4-cq8/t1/"});
  expect("$headroom report results && grep -c wq4-cq8 results/report.md", 0, {});
}

TEST_F(StorageCli, PickChoosesAmongStoragesByTheWholeError) {
  const std::string pick =
      "$headroom pick --backend xsimd --formulation fused --threads 1 --heads 2 --head-dim 32 "
      "--tokens 1 --past 64 --weights-dtype f32,q8,q4 ";
  expect(pick, 2, {"--weights-dtype", "--max-error"});
  const Outcome measured = run(pick + "--precision f32 --max-error 5e-2 --budget 30s");
  EXPECT_EQ(measured.code, 0) << measured.errors;
  for (const char* part : {"times that of f32", "f32 with weights of q8 ",
                           "storing alone costs 1.5e-01, more than --max-error"}) {
    EXPECT_NE(measured.output.find(part), std::string::npos) << measured.output;
  }
  // Measured for each storage, answered once.
  const std::string shape = "\nB1_T1_D64_H2_P64\n";
  EXPECT_NE(measured.output.find(shape), std::string::npos) << measured.output;
  EXPECT_EQ(measured.output.find(shape), measured.output.rfind(shape)) << measured.output;
}

}  // namespace
}  // namespace headroom::test::storage_test

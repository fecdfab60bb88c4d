#include "record/results_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>

#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "support/sample_results.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::record::results_folder_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::sample_result;
using test::with_time;
using test::without_time;

const std::vector<double> kSamples{0.1, 0.30000000000000004, 1e-7, 123.456};

void expect_same_line(const CellResult& result) {
  const std::string line = to_json(result).dump();
  EXPECT_EQ(to_json(from_json(ordered_json::parse(line))).dump(), line);
}

TEST(ResultReader, GivesBackEveryFieldOfATimedCell) {
  CellResult result = with_time(sample_result("tbb"), kSamples);
  result.threads = result.cell.threads = 7;
  result.cell.warnings = {"7 threads share 2 allowed cores"};
  result.shape.d_proj = 0;
  result.shape.qkv_bias = true;
  result.shape.causal = false;
  result.shape.dropout = 0.1;
  expect_same_line(result);
  const CellResult read = from_json(to_json(result));
  EXPECT_EQ(read.time.samples, kSamples);
  EXPECT_EQ(read.shape, result.shape);
  EXPECT_EQ(read.cell.threads, 7);
  EXPECT_TRUE(read.error->passed);
  result.peak_fraction.reset();
  expect_same_line(result);
}

TEST(ResultReader, GivesBackThatAPrecisionWasLeftToAuto) {
  CellResult result = with_time(sample_result("tbb"), kSamples);
  result.choice = Choice{"tbb", result.cell.formulation, Choice::Source::rule, "by rule", ""};
  expect_same_line(result);
  EXPECT_FALSE(to_json(result)["choice"].contains("precision_asked"));
  result.cell.any_precision = true;
  result.choice->precision_reason = "by rule: why";
  expect_same_line(result);
  const CellResult read = from_json(to_json(result));
  EXPECT_TRUE(read.cell.any_precision);
  EXPECT_EQ(read.choice->precision_reason, "by rule: why");
}

TEST(ResultReader, GivesBackWhatDecidedOfTheError) {
  CellResult result = with_time(sample_result("tbb"), kSamples);
  result.error->limits = {0.03, 0.4};
  EXPECT_EQ(to_json(result)["error"]["limit"], 0.03);
  EXPECT_FALSE(to_json(result)["error"].contains("bound_ratio"));
  expect_same_line(result);
  EXPECT_FALSE(from_json(to_json(result)).error->by_element());
  result.error->data = reference::Data::adversarial;
  result.error->bound_ratio = 0.25;
  EXPECT_EQ(to_json(result)["error"]["limit"], 1) << "of the bound";
  expect_same_line(result);
  EXPECT_TRUE(from_json(to_json(result)).error->by_element());
  EXPECT_EQ(from_json(to_json(result)).error->bound_ratio, 0.25);
}

TEST(ResultReader, GivesBackWhichProcessTookEachSample) {
  CellResult result = with_time(sample_result("tbb"), kSamples);
  result.time.processes.clear();
  EXPECT_FALSE(to_json(result)["time_s"].contains("processes")) << "nothing says which";
  EXPECT_TRUE(from_json(to_json(result)).time.processes.empty());
  result.time.processes = {0, 0, 1, 2};
  result.again = Again{1.5, {1, 2}, {}, {0, 1}};
  expect_same_line(result);
  EXPECT_EQ(from_json(to_json(result)).time.processes, result.time.processes);
  EXPECT_EQ(from_json(to_json(result)).again->processes, result.again->processes);
}

TEST(ResultReader, HeadsPackedTogether_RoundTrip) {
  CellResult result = with_time(sample_result("naive"), kSamples);
  EXPECT_FALSE(to_json(result)["provenance"].contains("heads"));
  EXPECT_FALSE(from_json(to_json(result)).costs->packs_heads_together);
  result.costs->packs_heads_together = true;
  EXPECT_EQ(to_json(result)["provenance"]["heads"], "packed together");
  EXPECT_TRUE(from_json(to_json(result)).costs->packs_heads_together);
}

TEST(ResultReader, GivesBackTheControlWithOrWithoutItsClock) {
  CellResult result = with_time(sample_result("tbb"), kSamples);
  result.control = Control{"avx2", 1, {100, 99, 98, 97}};
  expect_same_line(result);
  EXPECT_FALSE(to_json(result)["control"].contains("clock_ghz"));
  EXPECT_TRUE(from_json(to_json(result)).control->clock_ghz.empty());
  result.control->clock_ghz = {3.5, 3.4, 3.3, 2.9999999999999996};
  expect_same_line(result);
  EXPECT_EQ(from_json(to_json(result)).control->clock_ghz, result.control->clock_ghz);
}

TEST(ResultReader, GivesBackTheTilesBesideTheSamplesIfTheyWereRun) {
  CellResult result = with_time(sample_result("tbb"), kSamples);
  result.control = Control{"avx2", 1, {100, 99, 98, 97}};
  const ordered_json old = to_json(result);
  EXPECT_FALSE(old.contains("tile_fraction")) << "as in older folders";
  EXPECT_FALSE(old["control"].contains("tile_gflops"));
  EXPECT_FALSE(from_json(old).tile_fraction.has_value());
  EXPECT_TRUE(from_json(old).control->tile_gflops.empty());
  result.tile_fraction = 0.30000000000000004;
  result.control->tile_gflops = {90, 89, 88, 87.00000000000001};
  expect_same_line(result);
  EXPECT_EQ(from_json(to_json(result)).tile_fraction, result.tile_fraction);
  EXPECT_EQ(from_json(to_json(result)).control->tile_gflops, result.control->tile_gflops);
}

// Lines as earlier versions wrote them, and as this one does.
TEST(ResultReader, ReadsALineWhateverWasMeasuredBesideIt) {
  const auto line_of = [](const std::string& name) {
    std::ifstream file(fs::path(HEADROOM_TEST_DATA).parent_path() / "fuzz/corpus/results" / name);
    return from_json(ordered_json::parse(file));
  };
  const CellResult old = line_of("again");
  EXPECT_EQ(old.control->gflops.size(), 3u);
  EXPECT_TRUE(old.control->tile_gflops.empty());
  EXPECT_FALSE(old.tile_fraction.has_value());
  const CellResult now = line_of("tiles");
  EXPECT_EQ(now.control->tile_gflops, (std::vector<double>{190.5, 189, 191.25}));
  EXPECT_GT(now.tile_fraction.value_or(0), now.peak_fraction.value_or(1));
}

TEST(ResultReader, GivesBackEveryFieldOfACellWithoutATime) {
  for (const Status status :
       {Status::unsupported, Status::skipped, Status::failed, Status::crashed}) {
    CellResult result = without_time(sample_result("naive"), status, "because");
    expect_same_line(result);
    result.costs = AttentionCosts{0.5, 1, 2, "a", "b"};
    result.error = reference::Comparison{};
    // As a result with a NaN in it is recorded.
    result.error->nrmse = std::numeric_limits<double>::quiet_NaN();
    result.error->max_over_rms = std::numeric_limits<double>::infinity();
    expect_same_line(result);
    const CellResult read = from_json(ordered_json::parse(to_json(result).dump()));
    EXPECT_TRUE(std::isnan(read.error->nrmse));
    EXPECT_FALSE(read.error->passed);
  }
}

TEST(ResultReader, PassesOverFieldsThatItDoesNotKnow) {
  ordered_json line = to_json(with_time(sample_result("naive"), kSamples));
  line["later"] = {{"anything", 1}};
  line["shape"]["later"] = true;
  EXPECT_NO_THROW(from_json(line));
}

struct Spoiled {
  const char* field;  ///< that the message has to name
  std::function<void(ordered_json&)> spoil;
};

TEST(ResultReader, BelievesNoValue) {
  const Spoiled all[] = {
      {"schema", [](auto& line) { line["schema"] = "headroom.cell/2"; }},
      {"schema", [](auto& line) { line.erase("schema"); }},
      {"id", [](auto& line) { line["id"] = ""; }},
      {"id", [](auto& line) { line["id"] = 7; }},
      {"status", [](auto& line) { line["status"] = "fine"; }},
      {"reason", [](auto& line) { line["reason"] = "ok needs none"; }},
      {"reason", [](auto& line) { line["status"] = "failed"; }},
      {"time_s", [](auto& line) { line["status"] = "failed", line["reason"] = "wrong"; }},
      {"formulation", [](auto& line) { line["formulation"] = "joined"; }},
      {"backend", [](auto& line) { line["backend"] = nullptr; }},
      {"dtype", [](auto& line) { line["dtype"] = "f16"; }},
      {"weights_dtype", [](auto& line) { line["weights_dtype"] = "q5"; }},
      {"weights_dtype", [](auto& line) { line["weights_dtype"] = line["dtype"]; }},
      {"cache_dtype", [](auto& line) { line["cache_dtype"] = "q4"; }},
      {"cache_dtype", [](auto& line) { line["cache_dtype"] = line["dtype"]; }},
      {"storage_nrmse", [](auto& line) { line["storage_nrmse"] = -1; }},
      {"attention_shift", [](auto& line) { line["attention_shift"] = 1; }},
      {"moved",
       [](auto& line) {
         line["attention_shift"] = {{"moved", 1.5}, {"kl_divergence", 0}};
       }},
      {"kl_divergence",
       [](auto& line) {
         line["attention_shift"] = {{"moved", 1}, {"kl_divergence", -1}};
       }},
      {"threads", [](auto& line) { line["threads"] = 0; }},
      {"threads", [](auto& line) { line["threads"] = 4294967297; }},
      {"threads", [](auto& line) { line["threads"] = 1.5; }},
      {"isa", [](auto& line) { line["isa"] = 512; }},
      {"unit", [](auto& line) { line["unit"] = true; }},
      {"unit", [](auto& line) { line.erase("unit"); }},
      {"precision", [](auto& line) { line.erase("precision"); }},
      {"ranks", [](auto& line) { line.erase("ranks"); }},
      {"shape", [](auto& line) { line["shape"] = "B1"; }},
      {"shape.tokens", [](auto& line) { line["shape"]["tokens"] = -1; }},
      {"shape.heads", [](auto& line) { line["shape"]["heads"] = 18446744073709551615u; }},
      {"shape.head_dim", [](auto& line) { line["shape"]["head_dim"] = 3; }},
      {"shape.causal", [](auto& line) { line["shape"]["causal"] = 1; }},
      {"shape.out_proj", [](auto& line) { line["shape"]["out_proj"] = false; }},
      {"shape: d_out", [](auto& line) { line["shape"]["heads"] = 3; }},
      {"dropout", [](auto& line) { line["shape"]["dropout"] = 1; }},
      {"product",
       [](auto& line) { line["shape"]["tokens"] = std::numeric_limits<std::int64_t>::max(); }},
      {"time_s.median", [](auto& line) { line["time_s"]["median"] = -1; }},
      {"time_s.median", [](auto& line) { line["time_s"]["median"] = "1"; }},
      {"time_s.min", [](auto& line) { line["time_s"]["min"] = nullptr; }},
      {"time_s.samples", [](auto& line) { line["time_s"]["samples"] = ordered_json::array(); }},
      {"time_s.samples", [](auto& line) { line["time_s"]["samples"][1] = 0; }},
      {"time_s.samples", [](auto& line) { line["time_s"]["samples"][1] = nullptr; }},
      {"time_s.processes", [](auto& line) { line["time_s"]["processes"] = {0}; }},
      {"time_s.processes",
       [](auto& line) {
         line["time_s"]["processes"] = {0, 0, -1, 0};
       }},
      {"time_s.processes", [](auto& line) { line["time_s"]["processes"] = 3; }},
      {"time_s.ci95",
       [](auto& line) {
         line["time_s"]["ci95"] = {2, 1};
       }},
      {"time_s.ci95",
       [](auto& line) {
         line["time_s"]["ci95"] = {1, 2, 3};
       }},
      {"gflops", [](auto& line) { line["gflops"] = -1; }},
      {"peak_fraction", [](auto& line) { line["peak_fraction"] = true; }},
      {"tile_fraction", [](auto& line) { line["tile_fraction"] = "0.5"; }},
      {"tile_fraction", [](auto& line) { line["tile_fraction"] = -0.5; }},
      {"control.tile_gflops",
       [](auto& line) {
         line["control"]["tile_gflops"] = {1, 2, 3};
       }},
      {"control.tile_gflops",
       [](auto& line) {
         line["control"]["tile_gflops"] = {1, 2, 3, 0};
       }},
      {"control.gflops",
       [](auto& line) {
         line["control"]["gflops"] = {1, 2, 3};
       }},
      {"control.clock_ghz",
       [](auto& line) {
         line["control"]["clock_ghz"] = {3, 3, 3};
       }},
      {"control.clock_ghz",
       [](auto& line) {
         line["control"]["clock_ghz"] = {3, 3, 3, 0};
       }},
      {"control.clock_ghz", [](auto& line) { line["control"]["clock_ghz"] = 3; }},
      {"phases_s.attend", [](auto& line) { line["phases_s"].erase("attend"); }},
      {"packed_bytes", [](auto& line) { line["packed_bytes"] = -4; }},
      {"provenance.project", [](auto& line) { line["provenance"]["project"] = 1; }},
      {"provenance.heads", [](auto& line) { line["provenance"]["heads"] = "apart"; }},
      {"error", [](auto& line) { line.erase("error"); }},
      {"error.nrmse", [](auto& line) { line["error"]["nrmse"] = nullptr; }},
      {"checked_rows.checked", [](auto& line) { line["checked_rows"]["checked"] = 5; }},
      {"estimate.seconds", [](auto& line) { line["estimate"]["seconds"] = -0.5; }},
      {"warnings", [](auto& line) { line["warnings"] = {1}; }},
  };
  CellResult whole = with_time(sample_result("naive"), kSamples);
  whole.control = Control{"avx2", 1, {100, 99, 98, 97}, {3.5, 3.4, 3.3, 3.2}, {90, 89, 88, 87}};
  whole.tile_fraction = 0.5;
  const ordered_json good = to_json(whole);
  for (const Spoiled& spoiled : all) {
    ordered_json line = good;
    spoiled.spoil(line);
    try {
      from_json(line);
      ADD_FAILURE() << "accepted: " << line;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(spoiled.field), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(from_json(ordered_json::array()), InvalidArgument);
}

class ResultsFolders : public test::TemporaryFolder {
 protected:
  void write_environment() const { write("environment.json", test::sample_environment().dump()); }
  void write_folder(const std::string& lines) const {
    write_environment();
    write("results.jsonl", lines);
  }

  void expect_bad(const fs::path& path, const std::vector<std::string>& parts) const {
    try {
      read_results_folder(path);
      ADD_FAILURE() << "accepted " << path << " instead of saying " << parts.front();
    } catch (const FileError& error) {
      for (const std::string& part : parts) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
    }
  }

  const std::string good_ = test::lines_of(
      {with_time(sample_result("tbb"), kSamples), with_time(sample_result("naive"), kSamples)});
};

TEST_F(ResultsFolders, AreRead) {
  write_folder(good_);
  const ResultsFolder folder = read_results_folder(path_);
  EXPECT_EQ(test::lines_of(folder.results), good_);
  EXPECT_EQ(folder.environment, test::sample_environment());
  EXPECT_TRUE(folder.notes.empty());
  EXPECT_EQ(folder.intact_bytes, static_cast<std::int64_t>(good_.size()));
}

TEST_F(ResultsFolders, HaveTheOrderOfTheSweep) {
  write_folder(
      test::lines_of({with_time(sample_result("autovec", Formulation::fused), kSamples),
                      with_time(sample_result("naive", Formulation::fused), kSamples),
                      with_time(sample_result("autovec", Formulation::wrapper), kSamples)}));
  const ResultsFolder folder = read_results_folder(path_);
  EXPECT_EQ(folder.results[0].cell.order, 2u);
  EXPECT_EQ(folder.results[1].cell.order, 0u);
  EXPECT_EQ(folder.results[2].cell.order, 1u);
}

TEST_F(ResultsFolders, ATornLastLineIsDroppedWithANote) {
  const std::size_t first = good_.find('\n') + 1;
  const std::string torn[] = {good_.substr(0, good_.size() - 1), good_.substr(0, first + 40),
                              good_.substr(0, first + 40) + "\n",
                              good_.substr(0, first) + std::string(512, '\0')};
  for (const std::string& text : torn) {
    write_folder(text);
    const ResultsFolder folder = read_results_folder(path_);
    EXPECT_EQ(folder.results.size(), 1u);
    EXPECT_EQ(folder.intact_bytes, static_cast<std::int64_t>(first));
    ASSERT_EQ(folder.notes.size(), 1u);
    EXPECT_NE(folder.notes[0].find("results.jsonl:2 (byte " + std::to_string(first) + ")"),
              std::string::npos)
        << folder.notes[0];
  }
}

TEST_F(ResultsFolders, OfACellThatStandsThereTwiceTheLaterLineCounts) {
  const std::string again = test::lines_of({with_time(sample_result("tbb"), {5})});
  write_folder(good_ + again);
  const ResultsFolder folder = read_results_folder(path_);
  ASSERT_EQ(folder.results.size(), 2u);
  EXPECT_EQ(folder.results[0].time.median, 5);
  ASSERT_EQ(folder.notes.size(), 1u);
  EXPECT_NE(folder.notes[0].find(folder.results[0].cell.id), std::string::npos);
}

TEST_F(ResultsFolders, AnUnreadableLineIsNamed) {
  const std::string second = std::to_string(good_.find('\n') + 1);
  write_folder(good_.substr(0, good_.find('\n') + 1) + "{\"schema\": \n" + good_);
  expect_bad(path_, {"results.jsonl:2 (byte ", "not valid JSON"});
  write_folder(good_ + "\n" + good_);
  expect_bad(path_, {"results.jsonl:3 (byte " + std::to_string(good_.size())});
  write_folder(good_.substr(0, good_.find('\n') + 1) + "{\"schema\": \"other\"}\n");
  expect_bad(path_, {"results.jsonl:2 (byte " + second + ")", "\"other\"", "headroom.cell/1"});
  std::string huge = good_;
  huge.replace(huge.find("0.1"), 3, "1e999");
  write_folder(huge);
  expect_bad(path_, {"results.jsonl:1", "number"});
  // Nesting that would exhaust the stack of a recursive reader.
  write_folder("{\"schema\": " + std::string(1'000'000, '[') + "\n" + good_);
  expect_bad(path_, {"results.jsonl:1"});
}

TEST_F(ResultsFolders, WhatIsNoFolderOfResultsIsNamed) {
  expect_bad(path_ / "missing", {"missing", "No such file"});
  expect_bad(path_, {path_.string(), "environment.json"});
  write("environment.json/x", "");
  expect_bad(path_, {"results.jsonl"});
  write("results.jsonl", good_);
  expect_bad(path_, {"environment.json", "directory"});
  expect_bad(path_ / "results.jsonl", {"results.jsonl", "not a folder"});
  fs::remove_all(path_ / "environment.json");
  for (const char* text :
       {"", "{", "[]", "{}", "{\"schema\": \"headroom.environment/9\"}", "1e999"}) {
    write("environment.json", text);
    expect_bad(path_, {"environment.json"});
  }
  write_environment();
  fs::remove(path_ / "results.jsonl");
  ASSERT_EQ(mkfifo((path_ / "results.jsonl").c_str(), 0600), 0);
  expect_bad(path_, {"results.jsonl", "FIFO"});
}

TEST_F(ResultsFolders, WithoutAFinishedCellServeOnlyASweepThatGoesOn) {
  for (const std::string& text : {std::string(), good_.substr(0, 30)}) {
    write_folder(text);
    expect_bad(path_, {"results.jsonl", "no finished cell"});
    const ResultsFolder folder = read_results_folder(path_, Empty::accept);
    EXPECT_TRUE(folder.results.empty());
    EXPECT_EQ(folder.intact_bytes, 0);
  }
}

}  // namespace
}  // namespace headroom::record::results_folder_test

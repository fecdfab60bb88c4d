#include "show/export.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "json/shape_json.hpp"
#include "support/sample_peers.hpp"
#include "support/sample_results.hpp"

namespace headroom::show::export_test {
namespace {

using nlohmann::ordered_json;
using test::sample_result;
using test::with_time;
using test::without_time;

const std::vector<double> kSamples{0.5, 0.25, 1.0, 0.5, 0.375};

record::ResultsFolder three_cells() {
  return test::sample_folder("folder", {with_time(sample_result("naive"), kSamples),
                                        without_time(sample_result("tbb"), record::Status::failed,
                                                     "wrong, \"very\" wrong\nrow 3"),
                                        with_time(sample_result("xsimd"), {0.125})});
}

const std::string kNaive = "split/naive/f32/t1/B1_T4_D8_H2";
const std::string kXsimd = "split/xsimd/f32/t1/B1_T4_D8_H2";

// Fields as RFC 4180 has them: a reader of its own, so that a wrong writer cannot agree with
// itself.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (quoted) {
      if (text[i] != '"') {
        field += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[i++];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (text.compare(i, 2, "\r\n") == 0) {
      ++i;
      rows.emplace_back(1);
    } else {
      EXPECT_TRUE(text[i] != '\r' && text[i] != '\n') << "a line end within a field at byte " << i;
      field += text[i];
    }
  }
  rows.pop_back();  // after the last line end
  return rows;
}

TEST(ExportCsv, HasARowForEveryCellWhateverItsStatus) {
  record::ResultsFolder folder = three_cells();
  folder.results[2].tile_fraction = 0.25;
  const auto rows = read_csv(export_csv(folder));
  ASSERT_EQ(rows.size(), 4u);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const auto field = [&](std::size_t row, const std::string& name) {
    for (std::size_t i = 0; i < rows[0].size(); ++i) {
      if (rows[0][i] == name) return rows[row][i];
    }
    return "no column " + name;
  };
  EXPECT_EQ(field(1, "tile_fraction"), "") << "not measured";
  EXPECT_EQ(field(3, "tile_fraction"), "0.25");
  const std::map<std::string, std::string> naive{
      {"id", kNaive},           {"status", "ok"},      {"reason", ""},
      {"formulation", "split"}, {"backend", "naive"},  {"dtype", "f32"},
      {"threads", "1"},         {"isa", "avx2"},       {"tokens", "4"},
      {"head_dim", "4"},        {"causal", "true"},    {"qkv_bias", "false"},
      {"d_proj", "8"},          {"dropout", "0"},      {"median_s", "0.5"},
      {"min_s", "0.25"},        {"samples", "5"},      {"peak_fraction", "0.1"},
      {"attend_s", "0.002"},    {"setup_s", "0.125"},  {"packed_bytes", "4096"},
      {"nrmse", "1.5e-07"},     {"checked_rows", "3"}, {"project", "brg:avx512_core"}};
  for (const auto& [name, value] : naive) EXPECT_EQ(field(1, name), value) << name;
  EXPECT_EQ(field(2, "status"), "failed");
  EXPECT_EQ(field(2, "reason"), "wrong, \"very\" wrong\\nrow 3");
  for (const char* name : {"median_s", "ci95_low_s", "samples", "gflops", "qkv_s", "nrmse"}) {
    EXPECT_EQ(field(2, name), "") << name << " was not measured";
  }
}

TEST(ExportCsv, QuotesWhateverWouldEndAField) {
  for (const char* reason : {"a,b", "a\nb", "a\rb", "\"a\"", "\"", " a "}) {
    record::ResultsFolder folder;
    folder.results = {without_time(sample_result("tbb"), record::Status::crashed, reason)};
    EXPECT_EQ(read_csv(export_csv(folder))[1][2], shown_text(reason));
  }
}

TEST(ExportCsv, NumbersComeBackExactly) {
  record::ResultsFolder folder = three_cells();
  folder.results[0] = with_time(sample_result("naive"), {0.1 + 0.2});
  EXPECT_NE(export_csv(folder).find(",0.30000000000000004,"), std::string::npos);
}

TEST(ExportGoogleBenchmark, HasARepetitionForEverySampleAndTheAggregates) {
  const ordered_json json = ordered_json::parse(export_google_benchmark(three_cells()));
  EXPECT_EQ(json["context"]["date"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(json["context"]["library_build_type"], "release");
  const ordered_json& entries = json["benchmarks"];
  ASSERT_EQ(entries.size(), 5u + 4u + 1u) << "a single sample has no aggregates";
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(entries[i]["name"], kNaive + "/real_time");
    EXPECT_EQ(entries[i]["run_name"], kNaive + "/real_time");
    EXPECT_EQ(entries[i]["run_type"], "iteration");
    EXPECT_EQ(entries[i]["repetitions"], 5);
    EXPECT_EQ(entries[i]["repetition_index"], i);
    EXPECT_EQ(entries[i]["family_index"], 0);
    EXPECT_EQ(entries[i]["time_unit"], "ns");
    EXPECT_DOUBLE_EQ(entries[i]["real_time"].get<double>(), 1e9 * kSamples[i]);
    EXPECT_EQ(entries[i]["cpu_time"], entries[i]["real_time"]);
  }
  // Of 0.5, 0.25, 1, 0.5, 0.375: mean 0.525, sum of squared deviations 0.3250, divided by 4.
  const std::map<std::string, double> expected{{"mean", 0.525e9},
                                               {"median", 0.5e9},
                                               {"stddev", 1e9 * std::sqrt(0.08125)},
                                               {"cv", std::sqrt(0.08125) / 0.525}};
  for (std::size_t i = 5; i < 9; ++i) {
    const std::string name = entries[i]["aggregate_name"];
    EXPECT_EQ(entries[i]["name"], std::string(kNaive).append("/real_time_").append(name));
    EXPECT_EQ(entries[i]["run_type"], "aggregate");
    EXPECT_EQ(entries[i]["aggregate_unit"], name == "cv" ? "percentage" : "time");
    EXPECT_NEAR(entries[i]["real_time"].get<double>() / expected.at(name), 1, 1e-12) << name;
  }
  EXPECT_EQ(entries[9]["name"], kXsimd + "/real_time");
  EXPECT_EQ(entries[9]["family_index"], 1);
}

TEST(ExportBencher, HasLatencyAndThroughputWithTheirBounds) {
  const record::ResultsFolder folder = three_cells();
  const ordered_json json = ordered_json::parse(export_bencher(folder));
  ASSERT_EQ(json.size(), 2u);
  const ordered_json& latency = json[kNaive]["latency"];
  const ordered_json& throughput = json[kNaive]["throughput"];
  EXPECT_DOUBLE_EQ(latency["value"].get<double>(), 0.5e9);
  EXPECT_LE(latency["lower_value"], latency["value"]);
  EXPECT_GE(latency["upper_value"], latency["value"]);
  const double flops = folder.results[0].shape.flops().total();
  EXPECT_DOUBLE_EQ(throughput["value"].get<double>(), flops / 0.5);
  EXPECT_DOUBLE_EQ(throughput["lower_value"].get<double>(),
                   flops / latency["upper_value"].get<double>() * 1e9);
  EXPECT_DOUBLE_EQ(throughput["upper_value"].get<double>(),
                   flops / latency["lower_value"].get<double>() * 1e9);
}

TEST(Export, WhatHasNoTimeIsCounted) { EXPECT_EQ(cells_without_time(three_cells()), 1u); }

TEST(Export, FormatsHaveNames) {
  EXPECT_EQ(parse_export_format("--to", "gbench"), ExportFormat::gbench);
  EXPECT_EQ(parse_export_format("--to", "csv"), ExportFormat::csv);
  EXPECT_EQ(parse_export_format("--to", "bmf"), ExportFormat::bmf);
  EXPECT_THROW(parse_export_format("--to", "CSV"), InvalidArgument);
}

TEST(Export, CsvHasTheFieldsOfTheCallAtItsEnd) {
  record::ResultsFolder folder = test::folder_with_peers();
  Case& shape = folder.results[0].shape;
  shape.kv_heads = 1;
  shape.window = 3;
  shape.rotary = {Rotary::Pairs::halves, 500'000, 1};
  shape.past = 17;
  shape.batch = 2;
  shape.lengths = {4, 0};
  folder.results[0].reading = record::Reading{1024, 2.5, 0.75};
  folder.results[0].cached = record::Cached{96, 0.125};
  const auto rows = read_csv(export_csv(folder));
  const auto last = [](const std::vector<std::string>& row) {
    return std::vector<std::string>(row.end() - 25, row.end());
  };
  EXPECT_EQ(last(rows[0]),
            (std::vector<std::string>{
                "kv_heads",  "rotary",        "rotary_base",   "rotary_scale", "lengths",
                "bytes",     "read_gbps",     "read_fraction", "cache_bytes",  "fill_s",
                "precision", "ranks",         "sum_s",         "window",       "d_memory",
                "past",      "memory_tokens", "chunk",         "clip",         "scale",
                "softcap",   "sinks",         "gate",          "value_dim",    "outliers"}));
  const auto changed = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
    return row[0] == folder.results[0].cell.id;
  });
  ASSERT_NE(changed, rows.end());
  EXPECT_EQ(last(*changed),
            (std::vector<std::string>{"1",     "halves", "500000", "1",   "4-0", "1024", "2.5",
                                      "0.75",  "96",     "0.125",  "f32", "1",   "",     "3",
                                      "0",     "17",     "0",      "0",   "0",   "0",    "0",
                                      "false", "false",  "0",      "0"}));
  EXPECT_EQ(last(rows.back()),
            (std::vector<std::string>{"2", "none", "",  "",      "",      "",  "",  "",  "",
                                      "",  "f32",  "1", "",      "0",     "0", "0", "0", "0",
                                      "0", "0",    "0", "false", "false", "0", "0"}));
}

TEST(ExportCsv, HasTheRanksAndWhatTheirSumTook) {
  record::ResultsFolder folder;
  folder.results = {test::on_ranks(with_time(sample_result("naive"), {0.5}), 4)};
  folder.results[0].phases.sum = 0.125;
  const auto rows = read_csv(export_csv(folder));
  const auto after_ranks = rows[1].end() - static_cast<std::ptrdiff_t>(shape_fields().size());
  EXPECT_EQ(std::vector<std::string>(after_ranks - 2, after_ranks),
            (std::vector<std::string>{"4", "0.125"}));
}

bool is_ours(const std::string& id) {
  return id.find("/tbb/") != std::string::npos || id.find("/xsimd/") != std::string::npos;
}

TEST(Export, MarksPeers) {
  const record::ResultsFolder folder = test::folder_with_peers();
  const auto rows = read_csv(export_csv(folder));
  ASSERT_EQ(rows.size(), folder.results.size() + 1);
  const auto peer =
      static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), "peer") - rows[0].begin());
  ASSERT_LT(peer, rows[0].size());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][peer], is_ours(rows[i][0]) ? "false" : "true") << rows[i][0];
  }
  const auto json = ordered_json::parse(export_google_benchmark(folder));
  for (const ordered_json& entry : json["benchmarks"]) {
    const std::string name = entry["name"];
    EXPECT_EQ(entry.contains("label"), !is_ours(name)) << name;
  }
}

}  // namespace
}  // namespace headroom::show::export_test

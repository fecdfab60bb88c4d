// What a line and a table say about a shape with a cache, grouped heads or lengths.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "json/shape_json.hpp"
#include "record/peaks.hpp"
#include "record/result.hpp"
#include "support/sample_results.hpp"

namespace headroom::record::shape_fields_test {
namespace {

using nlohmann::ordered_json;
using Change = std::function<void(ordered_json&)>;

Case plain() {
  Case shape = test::sample_shape();
  shape.tokens = 4;
  return shape;
}

Case full() {
  Case shape = plain();
  shape.kv_heads = 1;
  shape.window = 3;
  shape.rotary = {Rotary::Pairs::neighbours, 500'000.25, 0.30000000000000004};
  shape.past = 17;
  shape.batch = 3;
  shape.lengths = {0, 4, 1};
  shape.outliers = 300;
  return shape;
}

Case crossed() {
  Case shape = plain();
  shape.causal = false;
  shape.d_memory = 5;
  shape.memory_tokens = 6;
  return shape;
}

Case latent() {
  Case shape = plain();
  shape.value_dim = 3;
  shape.latent = {5, 6, 2, 0.30000000000000004};
  shape.rotary.pairs = Rotary::Pairs::neighbours;
  return shape;
}

Case pictures() {
  Case shape = plain();
  shape.rotary = {.pairs = Rotary::Pairs::halves, .sections = {1, 0, 1}, .interleaved = true};
  shape.rotary.context = 7;
  shape.rotary.long_divisors = {1.1, 30.000000000000004};
  return shape;
}

Case growing() {
  Case shape = plain();
  shape.rotary = {.pairs = Rotary::Pairs::halves, .context = 7, .growth = 1.1};
  return shape;
}

std::string refusal(const Case& shape, const Change& change) {
  ordered_json json = to_json(shape);
  change(json);
  try {
    shape_from_json(JsonFields(json, "shape"));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(ShapeFields, APlainLayerHasTheSameLineAsEver) {
  EXPECT_EQ(to_json(plain()).dump(),
            R"({"batch":1,"tokens":4,"d_in":8,"d_out":8,"heads":2,"head_dim":4,"causal":true,)"
            R"("qkv_bias":false,"out_proj":true,"d_proj":8,"dropout":0.0})");
}

TEST(ShapeFields, AreReadAsTheyWereWritten) {
  for (const Case& shape : {plain(), full(), crossed(), latent(), pictures(), growing()}) {
    const std::string text = to_json(shape).dump();
    const ordered_json line = ordered_json::parse(text);
    EXPECT_EQ(shape_from_json(JsonFields(line, "shape")), shape) << text;
    CellResult result = test::with_time(test::sample_result("tbb"), {1, 2});
    result.shape = shape;
    EXPECT_EQ(from_json(ordered_json::parse(to_json(result).dump())).shape, shape);
  }
}

TEST(ShapeFields, WhatACacheTakesAndHowFastItIsReadComesBack) {
  CellResult result = test::with_time(test::sample_result("tbb"), {1, 2});
  EXPECT_FALSE(to_json(result).contains("read_gbps")) << "as for many rows";
  EXPECT_FALSE(to_json(result).contains("key_value_cache"));
  EXPECT_FALSE(from_json(to_json(result)).reading.has_value());
  result.cached = Cached{4096, 0.30000000000000004};
  result.reading = Reading{123456, 17.25};
  EXPECT_FALSE(from_json(to_json(result)).reading->fraction.has_value());
  result.reading->fraction = 0.875;
  const std::string line = to_json(result).dump();
  const CellResult read = from_json(ordered_json::parse(line));
  EXPECT_EQ(to_json(read).dump(), line);
  EXPECT_EQ(read.cached->fill_seconds, 0.30000000000000004);
  EXPECT_EQ(read.reading->fraction, 0.875);
}

TEST(ReadRoof, IsThatOfTheNearestPowerOfTwo) {
  EXPECT_EQ(size_class(0), 1 << 16);
  EXPECT_EQ(size_class(90'000), 1 << 16);
  EXPECT_EQ(size_class(100'000), 1 << 17);
  EXPECT_EQ(size_class(std::int64_t{3} << 29), std::int64_t{1} << 31);
  EXPECT_EQ(size_class(std::numeric_limits<std::int64_t>::max()), std::int64_t{1} << 62);
  Peaks peaks;
  peaks.read_gbs[2] = 10;
  EXPECT_FALSE(to_json(peaks).contains("read_gb_per_s_by_threads_and_bytes"));
  peaks.read_gbs_of_set[2] = {{1 << 20, 80}, {1 << 30, 11}};
  const Peaks read = peaks_of({{"peaks", to_json(peaks)}});
  EXPECT_EQ(read.read_gbs_of_set, peaks.read_gbs_of_set);
  EXPECT_EQ(read.read_roof(2, 1'100'000, false), 80);
  EXPECT_EQ(read.read_roof(2, 1'100'000, true), 10) << "cold: from memory, whatever the size";
  EXPECT_EQ(read.read_roof(2, 1 << 24, false), std::nullopt);
  EXPECT_EQ(read.read_roof(1, 1 << 20, false), std::nullopt);
  ordered_json odd = {{"peaks", to_json(peaks)}};
  odd["peaks"]["read_gb_per_s_by_threads_and_bytes"] = {{"2", {{"-5", 1}, {"64", "x"}}}, {"x", 3}};
  EXPECT_TRUE(peaks_of(odd).read_gbs_of_set.empty()) << "a file may come from anywhere";
}

TEST(ShapeFields, AsManyKeyHeadsAsHeadsAreReadAsNoneNamed) {
  ordered_json json = to_json(plain());
  json["kv_heads"] = 2;
  EXPECT_EQ(shape_from_json(JsonFields(json, "shape")), plain());
}

TEST(ShapeFields, AreCheckedBeforeTheyAreUsed) {
  const struct {
    const char* named;
    Change change;
  } table[] = {
      {"kv_heads 3 does not divide", [](ordered_json& json) { json["kv_heads"] = 3; }},
      {"shape.kv_heads", [](ordered_json& json) { json["kv_heads"] = -1; }},
      {"shape.window", [](ordered_json& json) { json["window"] = -1; }},
      {"shape.window", [](ordered_json& json) { json["window"] = "all"; }},
      {"shape.past", [](ordered_json& json) { json["past"] = 1.5; }},
      {"shape.lengths",
       [](ordered_json& json) {
         json["lengths"] = {4, -1, 0};
       }},
      {"shape.lengths", [](ordered_json& json) { json["lengths"] = 4; }},
      {"lengths for batch 3", [](ordered_json& json) { json["lengths"] = {4}; }},
      {"largest length is 5",
       [](ordered_json& json) {
         json["lengths"] = {5, 0, 0};
       }},
      {"shape.rotary.pairs", [](ordered_json& json) { json["rotary"]["pairs"] = "all"; }},
      {"shape.rotary.pairs", [](ordered_json& json) { json["rotary"]["pairs"] = "none"; }},
      {"shape.rotary.sections",
       [](ordered_json& json) {
         json["rotary"]["sections"] = {1, 2};
       }},
      {"shape.rotary.interleaved",
       [](ordered_json& json) {
         json["rotary"]["sections"] = {4, 2, 2};
       }},
      {"shape.rotary.context", [](ordered_json& json) { json["rotary"]["context"] = 0; }},
      {"shape.rotary.growth", [](ordered_json& json) { json["rotary"]["growth"] = -1; }},
      {"shape.rotary.long_divisors",
       [](ordered_json& json) { json["rotary"]["long_divisors"] = "all"; }},
      {"shape.rotary.base", [](ordered_json& json) { json["rotary"]["base"] = 0; }},
      {"shape.rotary.scale", [](ordered_json& json) { json["rotary"].erase("scale"); }},
      {"memory_tokens is 6", [](ordered_json& json) { json["memory_tokens"] = 6; }},
  };
  for (const auto& row : table) {
    const std::string found = refusal(full(), row.change);
    EXPECT_NE(found.find(row.named), std::string::npos) << row.named << " not in: " << found;
  }
}

}  // namespace
}  // namespace headroom::record::shape_fields_test

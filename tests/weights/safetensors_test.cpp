// Headers of safetensors files and their index: what is read, and what is refused.
#include "weights/safetensors.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/safetensors_text.hpp"
#include "weights/safetensors_index.hpp"

namespace headroom::weights::safetensors_test {
namespace {

using nlohmann::ordered_json;
using test::SafetensorsText;
using test::with_length;

SafetensorsText sample() {
  SafetensorsText text;
  text.header()["__metadata__"] = {{"format", "pt"}, {"dtype", "F32"}};
  text.add("b", {2, 2}, {1, 2, 3, 4}).add("a", "BF16", {3}, "abcdef").add("none", {0, 5}, {});
  text.add("ids", "I64", {1}, "12345678").add("scalar", {}, {7});
  return text;
}

std::string error_of(const std::string& text) {
  try {
    read_safetensors_header(MemoryBytes("m.safetensors", text));
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

void expect_refused(const std::string& text, const std::string& part) {
  EXPECT_NE(error_of(text).find(part), std::string::npos) << error_of(text);
  EXPECT_TRUE(error_of(text).starts_with("m.safetensors: ")) << error_of(text);
}

// The sample with one thing changed, and the tensor that has to be named.
void expect_refused(const std::function<void(ordered_json&)>& change, const std::string& tensor,
                    const std::string& part) {
  SafetensorsText text = sample();
  change(text.header());
  expect_refused(text.text(), part);
  expect_refused(text.text(), "tensor '" + tensor + "'");
}

TEST(Safetensors, GivesBackEveryTensor) {
  const std::string text = sample().text();
  const std::vector<Tensor> tensors = read_safetensors_header(MemoryBytes("m", text));
  ASSERT_EQ(tensors.size(), 5U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].type, Element::bf16);
  EXPECT_EQ(tensors[0].dims, std::vector<std::int64_t>{3});
  EXPECT_EQ(text.substr(static_cast<std::size_t>(tensors[0].offset), 6), "abcdef");
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].bytes, 16);
  EXPECT_EQ(tensors[2].name, "ids");
  EXPECT_FALSE(tensors[2].type.has_value());
  EXPECT_EQ(tensors[3].bytes, 0);
  EXPECT_TRUE(tensors[4].dims.empty());
  EXPECT_EQ(tensors[4].bytes, 4);
}

TEST(Safetensors, BlanksBehindTheHeaderAreAllowed) {
  EXPECT_EQ(error_of(with_length("{}    ")), "no error");
}

TEST(Safetensors, EveryTornPieceIsRefused) {
  const std::string text = sample().text();
  for (std::size_t length = 0; length < text.size(); ++length) {
    expect_refused(text.substr(0, length), "");
  }
  EXPECT_EQ(error_of(text), "no error");
  expect_refused(text + "xy", "2 bytes at the end belong to no tensor");
}

TEST(Safetensors, AHeaderBeyondTheFileOrItsLimitIsRefused) {
  expect_refused(std::string(8, '\xff'), "18446744073709551615 bytes");
  expect_refused(std::string("\x09\0\0\0\0\0\0\0", 8) + "{}", "the header has 9 bytes");
  const std::string spaces(std::size_t{16} << 20, ' ');
  expect_refused(with_length("{}" + spaces), "16777216 are allowed");
  EXPECT_EQ(error_of(with_length("{}" + spaces.substr(2))), "no error");
}

TEST(Safetensors, OtherFormatsAreNamed) {
  expect_refused("PK\3\4and so on", "Python unpickles");
  expect_refused(std::string("\x93NUMPY\1\0", 8), ".npy");
  expect_refused(std::string("GGUF\3\0\0\0", 8), "GGUF");
}

TEST(Safetensors, OffsetsThatDoNotFitAreRefused) {
  const auto offsets = [](const char* tensor, ordered_json value) {
    return [=](ordered_json& header) { header[tensor]["data_offsets"] = value; };
  };
  expect_refused(offsets("b", {0, 1000}), "b", "0 to 1000; the file has bytes 0 to 34");
  expect_refused(offsets("b", {16, 0}), "b", "16 to 0");
  expect_refused(offsets("b", {std::uint64_t{1} << 63U, (std::uint64_t{1} << 63U) + 16}), "b",
                 "2^63");
  expect_refused(offsets("b", {0, -1}), "b", "a negative number");
  expect_refused(offsets("b", {0, 16.0}), "b", "not whole");
  expect_refused(offsets("b", {0}), "b", "data_offsets");
  expect_refused(offsets("b", {0, 16, 16}), "b", "more than 2 numbers");
  expect_refused(offsets("b", 16), "b", "a number where");
  expect_refused(offsets("b", {0, 12}), "b", "shape (2, 2) of F32 does not take the 12 bytes");
}

TEST(Safetensors, OverlapsAndHolesAreRefused) {
  SafetensorsText overlap = sample();
  overlap.header()["a"]["data_offsets"] = {14, 20};
  expect_refused(overlap.text(), "tensor 'a', at byte ");
  expect_refused(overlap.text(), "it overlaps the tensor before it");
  SafetensorsText hole = sample();
  hole.header().erase("a");
  expect_refused(hole.text(), "tensor 'none', at byte ");
  expect_refused(hole.text(), "6 bytes before it belong to no tensor");
  SafetensorsText same = sample();
  same.header()["b2"] = same.header()["b"];
  expect_refused(same.text(), "overlaps");
}

TEST(Safetensors, ShapesWhoseProductWrapsAreRefused) {
  const std::int64_t large = std::int64_t{1} << 32;
  const auto shape = [](ordered_json value) {
    return [=](ordered_json& header) { header["none"]["shape"] = value; };
  };
  expect_refused(shape({large, large}), "none", "does not take the 0 bytes");
  expect_refused(shape({large, large, 0}), "none", "does not take the 0 bytes");
  expect_refused(shape({std::int64_t{1} << 62}), "none", "does not take the 0 bytes");
  expect_refused(shape({std::numeric_limits<std::uint64_t>::max()}), "none", "2^63");
  expect_refused(shape({-1}), "none", "negative");
  expect_refused(shape({1e300}), "none", "not whole");
  expect_refused(shape(std::vector<int>(33, 1)), "none", "more than 32 numbers");
  expect_refused(shape({{1}}), "none", "a list where");
  expect_refused(shape({"1"}), "none", "text where");
  SafetensorsText fours;
  fours.add("odd", "F4", {3}, "ab");
  expect_refused(fours.text(), "tensor 'odd'");
}

TEST(Safetensors, EntriesMustBeComplete) {
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    expect_refused([&](ordered_json& header) { header["b"].erase(field); }, "b", "it lacks one of");
  }
  expect_refused([](ordered_json& header) { header["b"]["more"] = 1; }, "b", "a field 'more'");
  for (const char* dtype : {"F128", "f32", "", "<f4", "float32"}) {
    expect_refused([&](ordered_json& header) { header["b"]["dtype"] = dtype; }, "b",
                   "is not known");
  }
  expect_refused([](ordered_json& header) { header["b"]["dtype"] = nullptr; }, "b", "null");
  expect_refused([](ordered_json& header) { header["b"]["dtype"] = {"F32"}; }, "b", "a list");
  expect_refused([](ordered_json& header) { header["b"] = 5; }, "b", "a number");
  expect_refused([](ordered_json& header) { header["b"] = "F32"; }, "b", "text");
  expect_refused([](ordered_json& header) { header["b"]["shape"] = ordered_json::object(); }, "b",
                 "an object");
  expect_refused(
      [](ordered_json& header) {
        header["__metadata__"]["x"] = {{"y", "z"}};
      },
      "__metadata__", "an object");
}

// nlohmann's writer drops repeated keys, so these are written by hand.
TEST(Safetensors, WhatStandsTwiceIsRefused) {
  const std::string entry = R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  expect_refused(with_length(R"({"a":)" + entry + R"(,"a":)" + entry + "}"),
                 "tensor 'a', at byte 115: two tensors have this name");
  expect_refused(
      with_length(R"({"a":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}})"),
      "tensor 'a', at byte 0: it has 'dtype' twice");
}

TEST(Safetensors, WhatIsNoHeaderIsRefused) {
  for (const char* header : {"[]", "5", "\"text\"", "null", "true", "-1", "1.5"}) {
    expect_refused(with_length(header), " where the format has none");
  }
  expect_refused(with_length("{\"a\":}"), "byte 13: this is not valid JSON");
  expect_refused(with_length("{} {}"), "not valid JSON");
  expect_refused(with_length("{\"\xff\":1}"), "not valid JSON");
  expect_refused(with_length("{\"a\":1e999}"), "not valid JSON");
  expect_refused(with_length(""), "not valid JSON");
}

// Neither the reader nor the parser below it may recurse.
TEST(Safetensors, DeepNestingIsRefused) {
  const std::string deep(std::size_t{8} << 20, '[');
  expect_refused(with_length(deep), "a list where the format has none");
  expect_refused(with_length("{\"a\":" + deep), "tensor 'a'");
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  expect_refused(with_length(objects), "tensor 'a'");
  expect_refused(with_length("{\"__metadata__\":" + objects), "an object");
}

TEST(Safetensors, AMillionTensorsAreOneTooMany) {
  std::string header = "{";
  const auto add = [&](int i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  };
  for (int i = 0; i < 100'000; ++i) add(i);
  EXPECT_EQ(error_of(with_length(header + "}")), "no error");
  add(100'000);
  expect_refused(with_length(header + "}"), "tensor '100000'");
  expect_refused(with_length(header + "}"), "one too many; 100000 are allowed");
  for (int i = 100'001; i < 1'000'000; ++i) add(i);
  expect_refused(with_length(header + "}"), "16777216 are allowed");
}

TEST(Safetensors, NamesArePrintable) {
  SafetensorsText text = sample();
  text.header()["evil\x1b[2J\n" + std::string(500, 'x')] = 5;
  const std::string error = error_of(text.text());
  EXPECT_NE(error.find("tensor 'evil\\u001b[2J\\nxxx"), std::string::npos) << error;
  EXPECT_LT(error.size(), 400U);
}

SafetensorsIndex index_of(const std::string& text) {
  return read_safetensors_index(MemoryBytes("m.index.json", text));
}

std::string index_error(const std::string& text) {
  try {
    index_of(text);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

void expect_index_refused(const std::string& text, const std::string& part) {
  EXPECT_NE(index_error(text).find(part), std::string::npos) << index_error(text);
  EXPECT_TRUE(index_error(text).starts_with("m.index.json: ")) << index_error(text);
}

TEST(SafetensorsIndex, SaysWhereEachTensorIs) {
  const SafetensorsIndex index =
      index_of(R"({"metadata": {"total_size": 12, "more": [1, {"weight_map": 2}]},
                   "weight_map": {"b": "one", "a": "two", "c": "one"}, "other": null})");
  EXPECT_EQ(index.files, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(index.entries.size(), 3U);
  const std::map<std::string, std::size_t> wanted{{"a", 1}, {"b", 0}, {"c", 0}};
  for (const auto& entry : index.entries) EXPECT_EQ(entry.file, wanted.at(entry.tensor));
  EXPECT_EQ(index.entries[0].tensor, "a") << "sorted";
}

TEST(SafetensorsIndex, FilesStayInTheirFolder) {
  for (const char* file :
       {"../m", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000", "a\\nb"}) {
    expect_index_refused(std::string(R"({"weight_map": {"a": ")") + file + "\"}}",
                         "'a': its file '");
  }
  expect_index_refused(R"({"weight_map": {"a": ")" + std::string(256, 'x') + "\"}}", "its file");
}

TEST(SafetensorsIndex, WhatIsNoIndexIsRefused) {
  for (const char* text : {"", "{", "nonsense", "{} {}", "{\"weight_map\": {\"a\": \"b\"}"}) {
    expect_index_refused(text, "not valid JSON");
  }
  expect_index_refused("{}", "no object 'weight_map'");
  expect_index_refused(R"({"metadata": {"weight_map": {"a": "b"}}})", "no object 'weight_map'");
  for (const char* text : {"[]", "5", "null", "\"a\"", "true", "-3", "2.5"}) {
    expect_index_refused(text, "where the format has none");
  }
  for (const char* value : {"5", "null", "[]", "\"a\"", "true", "-3", "2.5", "[{}]"}) {
    expect_index_refused(std::string(R"({"weight_map": )") + value + "}", "'weight_map': ");
    if (value[0] == '"') continue;
    expect_index_refused(std::string(R"({"weight_map": {"a": )") + value + "}}", "'a': ");
  }
  expect_index_refused(R"({"weight_map": {"a": {"b": "c"}}})", "an object");
}

TEST(SafetensorsIndex, WhatStandsTwiceIsRefused) {
  expect_index_refused(R"({"weight_map": {"a": "x", "b": "x", "a": "y"}})",
                       "'a': the index has it");
  expect_index_refused(R"({"weight_map": {"a": "x"}, "weight_map": {}})", "there are two of them");
}

TEST(SafetensorsIndex, DeepAndLongOnesAreRefused) {
  expect_index_refused(R"({"metadata": )" + std::string(1'000'000, '['), "a list");
  std::string many = R"({"weight_map": {"first": "f")";
  for (int i = 0; i < 300'000; ++i) many += ",\"" + std::to_string(i) + "\":\"f\"";
  expect_index_refused(many + "}}", "one too many; 300000 are allowed");
  expect_index_refused(R"({"weight_map": {}})" + std::string(std::size_t{16} << 20, ' '),
                       "16777216 are allowed");
}

}  // namespace
}  // namespace headroom::weights::safetensors_test

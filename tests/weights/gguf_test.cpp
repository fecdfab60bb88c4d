// Headers of GGUF files: what is read, and what is refused.
#include "weights/gguf/gguf.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/gguf_text.hpp"

namespace headroom::weights::gguf_test {
namespace {

using nlohmann::json;
using test::GgufKind;
using test::GgufTensor;
using test::GgufText;
using test::raw;
using test::raw_text;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

GgufText sample() {
  GgufText text;
  text.set("general.architecture", "llama").set("llama.block_count", 2);
  text.set("llama.rope.freq_base", 10000.0).set("general.flag", true);
  text.add("b", {2, 2}, {1, 2, 3, 4}).add("a", GgufTensor::bf16, {3}, "abcdef");
  text.add("q", GgufTensor::q8_0, {2, 32}, std::string(68, 'q'));
  return text;
}

GgufHeader header_of(const std::string& text) {
  return read_gguf_header(MemoryBytes("m.gguf", text));
}

std::string error_of(const std::string& text) {
  try {
    header_of(text);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

void expect_refused(const std::string& text, const std::string& part) {
  EXPECT_NE(error_of(text).find(part), std::string::npos) << error_of(text);
  EXPECT_TRUE(error_of(text).starts_with("m.gguf: ")) << error_of(text);
}

void expect_refused(const GgufText& text, const std::string& part) {
  expect_refused(text.text(), part);
}

// The value of a key of this kind.
json read_back(GgufKind kind, const std::string& value) {
  GgufText text;
  text.set("key", kind, value);
  return header_of(text.text()).metadata.at("key");
}

TEST(Gguf, GivesBackEveryTensor) {
  const std::string text = sample().text();
  const std::vector<Tensor> tensors = header_of(text).tensors;
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].type, Element::bf16);
  EXPECT_EQ(tensors[0].dims, std::vector<std::int64_t>{3});
  EXPECT_EQ(text.substr(static_cast<std::size_t>(tensors[0].offset), 6), "abcdef");
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].bytes, 16);
  EXPECT_EQ(tensors[2].dtype, "Q8_0");
  EXPECT_EQ(tensors[2].type, Element::q8_0);
  EXPECT_EQ(tensors[2].dims, (std::vector<std::int64_t>{2, 32})) << "the outermost first";
  EXPECT_EQ(tensors[2].bytes, 68);
}

TEST(Gguf, VersionTwoIsTheSame) {
  GgufText text = sample();
  text.version = 2;
  EXPECT_EQ(header_of(text.text()).tensors.size(), 3U);
}

TEST(Gguf, EveryKindOfValueIsRead) {
  EXPECT_EQ(read_back(GgufKind::u8, raw<std::uint8_t>(200)), 200);
  EXPECT_EQ(read_back(GgufKind::i8, raw<std::int8_t>(-3)), -3);
  EXPECT_EQ(read_back(GgufKind::u16, raw<std::uint16_t>(60'000)), 60'000);
  EXPECT_EQ(read_back(GgufKind::i16, raw<std::int16_t>(-3)), -3);
  EXPECT_EQ(read_back(GgufKind::u32, raw<std::uint32_t>(4'000'000'000)), 4'000'000'000);
  EXPECT_EQ(read_back(GgufKind::i32, raw<std::int32_t>(-3)), -3);
  EXPECT_EQ(read_back(GgufKind::u64, raw(kHuge)), kHuge);
  EXPECT_EQ(read_back(GgufKind::i64, raw<std::int64_t>(-3)), -3);
  EXPECT_EQ(read_back(GgufKind::f64, raw(0.1)), 0.1);
  EXPECT_EQ(read_back(GgufKind::truth, raw(true)), true);
  EXPECT_EQ(read_back(GgufKind::truth, raw(false)), false);
  EXPECT_EQ(read_back(GgufKind::text, raw_text("text")), "text");
  EXPECT_EQ(read_back(GgufKind::text, raw_text("")), "");
  GgufText lists;
  lists.set("numbers", GgufKind::i32, std::vector<std::int32_t>{1, -2, 3});
  lists.set("none", GgufKind::f32, std::vector<float>{});
  EXPECT_EQ(header_of(lists.text()).metadata.at("numbers"), (json{1, -2, 3}));
  EXPECT_EQ(header_of(lists.text()).metadata.at("none"), json::array());
}

// 1e-6 as a float is 9.99999997e-07.
TEST(Gguf, FloatsAreTheDecimalNumbersOfTheirWriter) {
  EXPECT_EQ(read_back(GgufKind::f32, raw(1e-6F)), 1e-6);
  EXPECT_EQ(read_back(GgufKind::f32, raw(-0.1F)), -0.1);
  EXPECT_EQ(read_back(GgufKind::f32, raw(500'000.0F)), 500'000);
  EXPECT_TRUE(std::isnan(read_back(GgufKind::f32, raw(std::nanf(""))).get<double>()));
  EXPECT_EQ(read_back(GgufKind::f32, raw(-INFINITY)), -std::numeric_limits<double>::infinity());
}

// Vocabularies are walked over, and what follows them is read.
TEST(Gguf, LongValuesAreNotKept) {
  std::string words = raw(GgufKind::text) + raw<std::uint64_t>(40'000);
  for (int i = 0; i < 40'000; ++i) words += raw_text("word" + std::to_string(i));
  GgufText text;
  text.set("tokenizer.ggml.tokens", GgufKind::list, words);
  text.set("scores", GgufKind::f32, std::vector<float>(100'000, 1.0F));
  text.set("template", std::string(100'000, 'x').c_str());
  text.set("deep", GgufKind::list,
           raw(GgufKind::list) + raw<std::uint64_t>(1) + raw(GgufKind::u8) + raw<std::uint64_t>(2) +
               "ab");
  text.set(std::string(60'000, 'k'), 1);
  text.set("last", 7).add("a", {1}, {5});
  const GgufHeader header = header_of(text.text());
  for (const char* key : {"tokenizer.ggml.tokens", "scores", "template", "deep"}) {
    EXPECT_TRUE(header.metadata.at(key).is_null()) << key;
  }
  EXPECT_EQ(header.metadata.at("last"), 7);
  EXPECT_EQ(header.metadata.size(), 5U);
  EXPECT_EQ(header.tensors.at(0).bytes, 4);
}

TEST(Gguf, EveryTornPieceIsRefused) {
  const std::string text = sample().text();
  for (std::size_t length = 0; length < text.size(); ++length) {
    expect_refused(text.substr(0, length), "");
  }
  EXPECT_EQ(error_of(text), "no error");
  EXPECT_EQ(error_of(text + std::string(31, '\0')), "no error") << "padding";
  expect_refused(text + std::string(32, 'x'), "32 bytes at the end belong to no tensor");
}

TEST(Gguf, OtherFilesAndVersionsAreRefused) {
  expect_refused("GGML" + sample().text().substr(4), "byte 0: it does not begin with GGUF");
  for (const std::uint32_t version : {0U, 1U, 4U, 0xffffffffU}) {
    GgufText text = sample();
    text.version = version;
    expect_refused(text,
                   "byte 4: its version is " + std::to_string(version) + "; allowed are 2 and 3");
  }
  GgufText swapped = sample();
  swapped.version = 0x03000000;
  expect_refused(swapped, "big-endian");
}

TEST(Gguf, CountsBeyondTheFileAreRefused) {
  GgufText text = sample();
  text.more_keys = 1;
  expect_refused(text, "");
  for (const std::uint64_t more : {std::uint64_t{10'000}, kHuge - 10}) {
    text.more_keys = more;
    expect_refused(text, "keys; 10000 are allowed");
  }
  text.more_keys = 0;
  text.more_tensors = 1;
  expect_refused(text, "");
  text.more_tensors = 90'000;
  expect_refused(text, "tensors of 90003 items cannot be in the");
  text.more_tensors = kHuge - 10;
  expect_refused(text, "tensors; 100000 are allowed");
}

TEST(Gguf, AMillionKeysAreTooMany) {
  GgufText text;
  for (int i = 0; i < 10'000; ++i) text.set(std::to_string(i), true);
  EXPECT_EQ(error_of(text.text()), "no error");
  for (int i = 10'000; i < 1'000'000; ++i) text.set(std::to_string(i), true);
  expect_refused(text, "it has 1000000 keys; 10000 are allowed");
}

TEST(Gguf, LengthsBeyondTheFileAreRefused) {
  for (const std::uint64_t length : {std::uint64_t{1'000}, std::uint64_t{1} << 62U, kHuge}) {
    GgufText text;
    text.set("key", GgufKind::text, raw(length) + "abc");
    expect_refused(text, "a text of " + std::to_string(length) + " bytes cannot be in the");
    for (const GgufKind kind : {GgufKind::u8, GgufKind::f64, GgufKind::text, GgufKind::list}) {
      GgufText list;
      list.set("key", GgufKind::list, raw(kind) + raw(length) + "abc");
      expect_refused(list, "a list of " + std::to_string(length) + " ");
    }
  }
  std::string key = sample().text();
  key.replace(24, 8, raw(kHuge));
  expect_refused(key, "a key has 18446744073709551615 bytes; 65535 are allowed");
}

TEST(Gguf, ValuesOfNoKindAreRefused) {
  GgufText kind;
  kind.set("key", static_cast<GgufKind>(13), "abc");
  expect_refused(kind, "key 'key': its type 13 is not known");
  GgufText in_list;
  in_list.set("key", GgufKind::list, raw<std::uint32_t>(99) + raw<std::uint64_t>(0));
  expect_refused(in_list, "its type 99 is not known");
  GgufText truth;
  truth.set("key", GgufKind::truth, "\x02");
  expect_refused(truth, "a truth value is 2; allowed are 0 and 1");
  GgufText twice;
  expect_refused(twice.set("key", 1).set("key", 2), "key 'key': it is there twice");
}

TEST(Gguf, DeepListsAreRefused) {
  const auto lists = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += raw(GgufKind::list) + raw<std::uint64_t>(1);
    return text + raw(GgufKind::u8) + raw<std::uint64_t>(1) + "x";
  };
  GgufText four;
  EXPECT_EQ(error_of(four.set("key", GgufKind::list, lists(3)).text()), "no error");
  for (const int depth : {4, 1'000'000}) {
    GgufText deep;
    expect_refused(deep.set("key", GgufKind::list, lists(depth)), "lists are deeper than 4");
  }
}

TEST(Gguf, TheAlignmentIsThatOfItsKey) {
  for (const std::uint32_t alignment : {1U, 8U, 64U, 1U << 20U}) {
    GgufText text;
    text.alignment = alignment;
    text.set("general.alignment", alignment).add("a", {1}, {1}).add("b", {1}, {2});
    const std::vector<Tensor> tensors = header_of(text.text()).tensors;
    EXPECT_EQ(tensors[0].offset % alignment, 0);
    EXPECT_EQ(tensors[1].offset - tensors[0].offset, std::max(alignment, 4U));
  }
  GgufText usual;
  usual.alignment = 8;
  expect_refused(usual.add("a", {1}, {1}).add("b", {1}, {2}), "the alignment 32");
  for (const std::uint32_t alignment : {0U, 24U, 1U << 21U, 0x80000000U}) {
    GgufText text;
    text.set("general.alignment", alignment).add("a", {1}, {1});
    expect_refused(text, "general.alignment is " + std::to_string(alignment));
  }
  GgufText words;
  expect_refused(words.set("general.alignment", "32"), "general.alignment is no number");
}

// The sample with one tensor more, which has to be named.
void expect_tensor_refused(std::uint32_t type, const std::vector<std::int64_t>& dims,
                           std::uint64_t offset, const std::string& part) {
  GgufText text = sample();
  text.add_entry("odd", type, dims, offset, "");
  expect_refused(text, part);
  expect_refused(text, "tensor 'odd', at byte ");
}

TEST(Gguf, TensorsOfNoTypeOrShapeAreRefused) {
  for (const std::uint32_t type : {4U, 31U, 99U, 0xffffffffU}) {
    expect_tensor_refused(type, {1}, 192, "its type " + std::to_string(type) + " is not known");
  }
  const std::int64_t large = std::int64_t{1} << 32;
  expect_tensor_refused(0, {large, large}, 192, "is none of F32");
  expect_tensor_refused(0, {large, large, 0}, 192, "is none of F32");
  expect_tensor_refused(0, {std::int64_t{1} << 62}, 192, "is none of F32");
  expect_tensor_refused(0, {-1}, 192, "shape (-1) is none of F32");
  expect_tensor_refused(0, {-1, -1}, 192, "is none of F32");
  expect_tensor_refused(8, {2, 33}, 192, "rows are blocks of 32 values");
  expect_tensor_refused(0, {1, 1, 1, 1, 1}, 192, "it has 5 sizes; 4 are allowed");
}

TEST(Gguf, OffsetsThatDoNotFitAreRefused) {
  expect_tensor_refused(0, {1}, kHuge, "are beyond the file's");
  expect_tensor_refused(0, {1}, kHuge / 2, "are beyond the file's");
  expect_tensor_refused(0, {1}, 320, "are beyond the file's");
  expect_tensor_refused(0, {std::int64_t{1} << 60}, 160, "are beyond the file's");
  expect_tensor_refused(0, {1}, 4, "its offset 4 is no multiple of the alignment 32");
  GgufText overlap = sample();
  overlap.add_entry("odd", 0, {1}, 64, "");
  expect_refused(overlap, "it overlaps the tensor before it");
  GgufText hole;
  hole.add("a", {1}, {1}).add_entry("b", 0, {1}, 64, std::string(64, 'x'));
  expect_refused(hole, "tensor 'b', at byte ");
  expect_refused(hole, "60 bytes before it belong to no tensor");
}

TEST(Gguf, NamesAreDifferentShortAndPrintable) {
  GgufText twice = sample();
  expect_refused(twice.add("a", {1}, {1}), "tensor 'a', at byte ");
  expect_refused(twice, "two tensors have this name");
  GgufText name;
  expect_refused(name.add(std::string(65, 'x'), {1}, {1}),
                 "the name of a tensor has 65 bytes; 64 are allowed");
  GgufText evil;
  evil.add("evil\x1b[2J\n", static_cast<GgufTensor>(99), {1}, "abcd");
  expect_refused(evil, "tensor 'evil\\u001b[2J\\n'");
  GgufText key;
  expect_refused(key.set("evil\x1b[2J\n" + std::string(500, 'x'), GgufKind::truth, "x"),
                 "key 'evil\\u001b[2J\\nxxx");
  EXPECT_LT(error_of(key.text()).size(), 400U);
}

}  // namespace
}  // namespace headroom::weights::gguf_test

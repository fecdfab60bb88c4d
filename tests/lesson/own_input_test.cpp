// A user's own numbers: what is read, and what is refused with which message.
#include "lesson/own_input.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "lesson/examples.hpp"
#include "support/temporary_folder.hpp"
#include "weights/npy.hpp"

namespace headroom::lesson::own_input_test {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_text_table(text, "own.txt");
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

TEST(TextTable, ReadsWordsAndNumbers) {
  const Subject subject =
      parse_text_table("# a comment\n\nthe 1 -2.5 3e-1\r\ncat\t+4,5 ; 6\nsleeps 7 8 9", "own.txt");
  EXPECT_EQ(subject.words, (std::vector<std::string>{"the", "cat", "sleeps"}));
  EXPECT_EQ(subject.x.rows, 3);
  EXPECT_EQ(subject.x.cols, 3);
  EXPECT_EQ(subject.x.values, (std::vector<float>{1, -2.5F, 0.3F, 4, 5, 6, 7, 8, 9}));
}

TEST(TextTable, ErrorsNameFileLineAndWhatWasFound) {
  const auto has = [](const std::string& text, const std::vector<std::string>& parts) {
    const std::string error = error_of(text);
    for (const std::string& part : parts) {
      EXPECT_NE(error.find(part), std::string::npos) << "no '" << part << "' in: " << error;
    }
  };
  has("", {"own.txt", "no line"});
  has("# nothing\n\n", {"own.txt", "no line"});
  has("the 1 2\ncat 1 x2\n", {"own.txt: line 2", "'x2'", "column 3"});
  has("the 1 2\ncat 1\n", {"line 2", "1 numbers", "line 1 has 2"});
  has("the\n", {"line 1", "only 'the'"});
  has("the 1 nan\n", {"line 1", "'nan'", "finite"});
  has("the 1 1e99\n", {"line 1", "'1e99'"});
  has("the 1 2x\n", {"'2x'"});
  has("the 1 \x01\x02\n", {"'\\u0001\\u0002'"});
  has(std::string(65, 'w') + " 1", {"line 1", "a word of 65 bytes"});
  has("the 1 " + std::string(1000, '9') + "x\n", {"..."});
}

TEST(TextTable, WordsCannotSteerATerminal) {
  EXPECT_EQ(parse_text_table("a\x1b[2Jb 1", "own.txt").words.front(), "a\\u001b[2Jb");
}

TEST(TextTable, RefusesMoreThanALessonShows) {
  std::string long_table, wide = "w";
  for (std::int64_t t = 0; t <= kMostTokens; ++t) long_table += "w 1 2\n";
  for (std::int64_t c = 0; c <= kMostWidth; ++c) wide += " 1";
  EXPECT_NE(error_of(long_table).find("at most 256 tokens"), std::string::npos);
  EXPECT_NE(error_of(wide).find("width of 512"), std::string::npos);
}

class OwnFile : public test::TemporaryFolder {
 protected:
  void write_npy(const std::vector<std::int64_t>& dims, const std::vector<float>& values) const {
    write("x.npy",
          weights::npy_header(dims) + std::string(reinterpret_cast<const char*>(values.data()),
                                                  values.size() * sizeof(float)));
  }
  std::string error() const {
    try {
      read_input(path_ / "x.npy");
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(OwnFile, NpyOfOneSentence) {
  write_npy({2, 3}, {1, 2, 3, 4, 5, 6});
  const Subject subject = read_input(path_ / "x.npy");
  EXPECT_EQ(subject.batch, 1);
  EXPECT_EQ(subject.tokens(), 2);
  EXPECT_EQ(subject.words, (std::vector<std::string>{"token 1", "token 2"}));
  EXPECT_EQ(subject.x.values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(OwnFile, NpyOfABatch) {
  write_npy({3, 2, 1}, {1, 2, 3, 4, 5, 6});
  const Subject subject = read_input(path_ / "x.npy");
  EXPECT_EQ(subject.batch, 3);
  EXPECT_EQ(subject.tokens(), 2);
  EXPECT_EQ(subject.width(), 1);
  Choices choices;
  choices.own = subject;
  for (const Example& example : examples()) {
    if (!example.any_input) continue;
    EXPECT_TRUE(make_lesson(example.name, choices).passed) << example.name;
  }
}

TEST_F(OwnFile, BadNpyIsAFileError) {
  write_npy({6}, {1, 2, 3, 4, 5, 6});
  EXPECT_NE(error().find("shape (6)"), std::string::npos) << error();
  write_npy({0, 3}, {});
  EXPECT_NE(error().find("none of them 0"), std::string::npos) << error();
  write_npy({1, 2}, {1, INFINITY});
  EXPECT_NE(error().find("row 1, column 2"), std::string::npos) << error();
  write_npy({257, 1}, std::vector<float>(257));
  EXPECT_NE(error().find("at most 256 tokens"), std::string::npos) << error();
  write_npy({1, 2}, {1});
  EXPECT_NE(error(), "");
  write("x.npy", "");
  EXPECT_NE(error().find("no line"), std::string::npos) << error();
}

// One token has nobody else to listen to; width 1 has one head.
TEST(OwnInput, TheSmallestIsWalked) {
  Choices choices;
  choices.own = parse_text_table("alone 0.5", "own.txt");
  for (const Example& example : examples()) {
    if (!example.any_input) continue;
    EXPECT_TRUE(make_lesson(example.name, choices).passed) << example.name;
  }
}

TEST(OwnInput, HeadsAreAsManyAsCanBeRead) {
  std::string table;
  for (int t = 0; t < 256; ++t) {
    table += "w";
    for (int c = 0; c < 32; ++c) table += " 1";
    table += "\n";
  }
  Choices choices;
  choices.own = parse_text_table(table, "own.txt");
  choices.heads = 32;
  EXPECT_THROW(make_lesson("split", choices), InvalidArgument);
}

TEST(OwnInput, HeadsHaveToDivideTheWidth) {
  Choices choices;
  choices.own = parse_text_table("a 1 2 3 4 5 6\nb 6 5 4 3 2 1", "own.txt");
  choices.heads = 3;
  EXPECT_TRUE(make_lesson("split", choices).passed);
  choices.heads = 4;
  try {
    make_lesson("split", choices);
    FAIL() << "4 heads of width 6";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("nearest: 3 and 6"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace headroom::lesson::own_input_test

// Text of others as it is shown: nothing that a terminal obeys, nothing that misleads a reader.
#include "core/text/shown.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace headroom::shown_test {
namespace {

using namespace std::string_view_literals;

TEST(Shown, PlainTextStaysAsItIs) {
  for (const std::string_view text :
       {""sv, "naive"sv, "AMD EPYC 7R13 (48 cores), 95 %"sv, "\\ \" ' ` | < > & $"sv,
        "Größe ± · 中文 🙂"sv, "\xc2\xa0\xef\xbf\xbf\xf4\x8f\xbf\xbf"sv}) {
    EXPECT_EQ(shown_text(text), text);
    EXPECT_EQ(shown_lines(text), text);
  }
}

TEST(Shown, ControlCharactersAreWritten) {
  for (const auto& [text, shown] : {std::pair("a\x1b[31mb"sv, "a\\u001b[31mb"),
                                    {"\a\b"sv, "\\u0007\\u0008"},
                                    {"a\0b"sv, "a\\u0000b"},
                                    {"\x7f"sv, "\\u007f"},
                                    {"a\n\r\tb"sv, "a\\n\\r\\tb"},
                                    // C1: a terminal may take U+009B for ESC [.
                                    {"\xc2\x80\xc2\x9b\xc2\x9f"sv, "\\u0080\\u009b\\u009f"}}) {
    EXPECT_EQ(shown_text(text), shown);
  }
}

TEST(Shown, MarksThatTurnTextAroundAreWritten) {
  for (const auto& [text, shown] : {std::pair("\u200e\u200f"sv, "\\u200e\\u200f"),
                                    {"\u202a\u202e"sv, "\\u202a\\u202e"},
                                    {"\u2066\u2069"sv, "\\u2066\\u2069"},
                                    {"\u2028\u2029"sv, "\\u2028\\u2029"},
                                    {"\u061c"sv, "\\u061c"}}) {
    EXPECT_EQ(shown_text(text), shown);
  }
  EXPECT_EQ(shown_text("\u200d\u2027\u202f\u2065\u206a"), "\u200d\u2027\u202f\u2065\u206a");
}

// Other readers may accept what is not UTF-8: overlong forms of ESC and of U+009B, a surrogate,
// more than there is, and what ends too early.
TEST(Shown, BytesThatAreNoUtf8AreWritten) {
  for (const auto& [text, shown] : {std::pair("\xff\xfe"sv, "\\xff\\xfe"),
                                    {"\xc0\x9b"sv, "\\xc0\\x9b"},
                                    {"\xe0\x80\x9b"sv, "\\xe0\\x80\\x9b"},
                                    {"\xe0\x82\x9b"sv, "\\xe0\\x82\\x9b"},
                                    {"\xf0\x80\x82\x9b"sv, "\\xf0\\x80\\x82\\x9b"},
                                    {"\xed\xa0\x80"sv, "\\xed\\xa0\\x80"},
                                    {"\xf4\x90\x80\x80"sv, "\\xf4\\x90\\x80\\x80"},
                                    {"\xf5\x80\x80\x80"sv, "\\xf5\\x80\\x80\\x80"},
                                    {"\x9b"sv, "\\x9b"},
                                    {"\xc2"sv, "\\xc2"},
                                    {"\xe2\x80"sv, "\\xe2\\x80"},
                                    {"\xe2\x80z"sv, "\\xe2\\x80z"},
                                    {"\xc2\x1b"sv, "\\xc2\\u001b"}}) {
    EXPECT_EQ(shown_text(text), shown);
  }
}

TEST(Shown, NothingChangesTheSecondTime) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += {static_cast<char>(i), ' '};
  for (int i = 0; i < 256; ++i) all += {static_cast<char>(0xc2), static_cast<char>(i)};
  EXPECT_EQ(shown_text(shown_text(all)), shown_text(all));
  EXPECT_EQ(shown_lines(shown_lines(all)), shown_lines(all));
}

TEST(Shown, ADocumentKeepsItsLines) {
  EXPECT_EQ(shown_lines("a\n\tb\r\nc\x1b\n"), "a\n\tb\r\nc\\u001b\n");
  EXPECT_EQ(shown_lines("50 %\r 100 %"), "50 %\\r 100 %");  // would hide the first
}

TEST(Shown, TheStartDoesNotCutALetter) {
  EXPECT_EQ(shown_start("abc", 3), "abc");
  EXPECT_EQ(shown_start("abcd", 3), "abc...");
  EXPECT_EQ(shown_start("ab\u00e9d", 3), "ab...");
  EXPECT_EQ(shown_start("\x1b[2J and more", 4), "\\u001b[2J...");
  EXPECT_EQ(shown_start(std::string(9, '\x80'), 4), "\\x80...");
}

TEST(Shown, PathsMayHoldAnyByte) {
  EXPECT_EQ(shown_path("a/\x1b]0;title\a/\xff.npy"), "a/\\u001b]0;title\\u0007/\\xff.npy");
}

}  // namespace
}  // namespace headroom::shown_test

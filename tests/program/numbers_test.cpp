#include "program/numbers.hpp"

#include <gtest/gtest.h>

#include <string>

#include "headroom/error.hpp"

namespace headroom::numbers_test {
namespace {

using Numbers = std::vector<std::int64_t>;

std::string error_of(const std::string& text) {
  try {
    parse_numbers("--heads", text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Numbers, ListsAndRanges) {
  EXPECT_EQ(parse_numbers("--heads", "8"), (Numbers{8}));
  EXPECT_EQ(parse_numbers("--heads", "1,2,8"), (Numbers{1, 2, 8}));
  EXPECT_EQ(parse_numbers("--heads", "1-8+3"), (Numbers{1, 4, 7}));
  EXPECT_EQ(parse_numbers("--heads", "1-64*2"), (Numbers{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(parse_numbers("--heads", "3,1-4+1,5"), (Numbers{3, 1, 2, 3, 4, 5}));
  EXPECT_EQ(parse_numbers("--heads", "7-7+1"), (Numbers{7}));
  EXPECT_EQ(parse_numbers("--tokens", "0", 0), (Numbers{0}));
}

TEST(Numbers, ReachesButDoesNotPassTheLargest) {
  EXPECT_EQ(parse_numbers("--heads", "9223372036854775807"), (Numbers{9223372036854775807}));
  EXPECT_EQ(parse_numbers("--heads", "9223372036854775806-9223372036854775807+5"),
            (Numbers{9223372036854775806}));
  EXPECT_EQ(parse_numbers("--heads", "4611686018427387904-9223372036854775807*2"),
            (Numbers{4611686018427387904}));
}

class WrongNumbers : public testing::TestWithParam<const char*> {};

TEST_P(WrongNumbers, AreRefusedAndNamed) {
  const std::string message = error_of(GetParam());
  EXPECT_NE(message.find("--heads"), std::string::npos) << message;
  EXPECT_NE(message.find("'" + std::string(GetParam())), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(All, WrongNumbers,
                         testing::Values("0", "-1", "1e3", "8x", "x8", "", "1.5", "+3", " 8", "8 ",
                                         "0x10", "9223372036854775808", "99999999999999999999",
                                         "1-8*1", "1-8*0", "1-8+0", "8-1+1", "1-8", "1-", "1-8+",
                                         "1-8+1x", "1-8-1", "1-9223372036854775807+1"));

TEST(Numbers, EmptyPlacesInLists) {
  EXPECT_NE(error_of("1,,2").find("empty item"), std::string::npos);
  EXPECT_NE(error_of("1,").find("empty item"), std::string::npos);
  EXPECT_NE(error_of(",").find("empty item"), std::string::npos);
}

TEST(Numbers, ErrorsSayWhatIsAllowed) {
  EXPECT_NE(error_of("0").find("the smallest value is 1"), std::string::npos) << error_of("0");
  EXPECT_NE(error_of("1-8*1").find("never ends"), std::string::npos) << error_of("1-8*1");
  EXPECT_NE(error_of("8-1+1").find("smaller number first"), std::string::npos);
  EXPECT_NE(error_of("9223372036854775808").find("9223372036854775807"), std::string::npos);
}

TEST(Numbers, RangesFromZeroWithAFactorNeverEnd) {
  EXPECT_THROW(parse_numbers("--tokens", "0-8*2", 0), InvalidArgument);
}

TEST(Numbers, BytesAndDurations) {
  EXPECT_EQ(parse_bytes("--max-memory", "16GiB"), std::int64_t{16} << 30);
  EXPECT_EQ(parse_bytes("--max-memory", "1.5KiB"), 1536);
  EXPECT_EQ(parse_bytes("--max-memory", "2GB"), 2'000'000'000);
  EXPECT_EQ(parse_bytes("--max-memory", "16G"), std::int64_t{16} << 30);
  EXPECT_EQ(parse_bytes("--max-memory", "77"), 77);
  EXPECT_DOUBLE_EQ(parse_duration("--budget", "10m"), 600);
  EXPECT_DOUBLE_EQ(parse_duration("--budget", "0.05s"), 0.05);
  EXPECT_DOUBLE_EQ(parse_seconds("--min-time", "0.05"), 0.05);
  EXPECT_DOUBLE_EQ(parse_seconds("--min-time", "2m"), 120);
  EXPECT_DOUBLE_EQ(parse_duration("--budget", "1.5h"), 5400);
  for (const char* wrong : {"", "GiB", "0", "-1GiB", "16 GiB", "16gib", "nan", "1e99GiB", "1e3"}) {
    EXPECT_THROW(parse_bytes("--max-memory", wrong), InvalidArgument) << wrong;
  }
  for (const char* wrong : {"", "m", "0", "10", "0.05", "0s", "-1m", "10 m", "10min", "inf", "nan",
                            "9999999999s", "999999h"}) {
    EXPECT_THROW(parse_duration("--budget", wrong), InvalidArgument) << wrong;
  }
  EXPECT_THROW(parse_duration("--budget", std::string(308, '9') + "h"), InvalidArgument);
}

TEST(Numbers, Percentages) {
  EXPECT_DOUBLE_EQ(parse_percent("--threshold", "3%"), 0.03);
  EXPECT_DOUBLE_EQ(parse_percent("--threshold", "0.5%"), 0.005);
  EXPECT_EQ(parse_percent("--threshold", "0%"), 0);
  EXPECT_EQ(parse_percent("--threshold", "100%"), 1);
  for (const char* wrong : {"", "%", "3", "-1%", "-0%", "100.1%", "3 %", "3%%", "nan%", "1e1%"}) {
    EXPECT_THROW(parse_percent("--threshold", wrong), InvalidArgument) << wrong;
  }
}

TEST(Numbers, FormatsForPeople) {
  EXPECT_EQ(counted(0, "shape"), "0 shapes");
  EXPECT_EQ(counted(std::size_t{1}, "shape"), "1 shape");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(std::int64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(format_seconds(1.5e-3), "1.5 ms");
  EXPECT_EQ(format_share(0.974), "97 %");
  EXPECT_EQ(format_share(1.0449, 1), "104.5 %");
  EXPECT_EQ(format_wait(125), "2 m 05 s");
  EXPECT_EQ(format_wait(3 * 3600 + 60), "3 h 01 m");
}

}  // namespace
}  // namespace headroom::numbers_test

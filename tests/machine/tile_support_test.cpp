// Every reason not to use tiles, from made-up facts.
#include "machine/tile_support.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace headroom {
namespace {

TileFacts all_good() {
  TileFacts facts;
  facts.tiles = facts.bf16 = true;
  facts.enabled = 0x600e7;
  facts.palettes = 1;
  return facts;
}

void expect_reason(const TileFacts& facts, const std::string& part) {
  EXPECT_NE(why_no_tiles(facts).find(part), std::string::npos) << why_no_tiles(facts);
}

TEST(TileSupport, HasNoReasonWhereAllIsGood) { EXPECT_EQ(why_no_tiles(all_good()), ""); }

TEST(TileSupport, NamesWhatIsMissing) {
  expect_reason({}, "no tiles");
  TileFacts facts = all_good();
  facts.bf16 = false;
  expect_reason(facts, "do not multiply bfloat16");
  facts = all_good();
  facts.enabled = 0x200e7;  // their configuration, and not their data
  expect_reason(facts, "operating system");
  facts = all_good();
  facts.palettes = 0;
  expect_reason(facts, "palette");
  facts = all_good();
  facts.permission = EPERM;
  expect_reason(facts, "Operation not permitted");
  facts = all_good();
  facts.probe = SIGILL;  // as a wait status has it
  expect_reason(facts, "Illegal instruction");
  facts = all_good();
  facts.probe = -1;
  expect_reason(facts, "no child process");
}

TEST(TileSupport, SaysEitherThatTheyAreHereOrWhyNot) {
  EXPECT_NE(tile_support().available, !tile_support().reason.empty() && !tile_support().emulated);
}

}  // namespace
}  // namespace headroom

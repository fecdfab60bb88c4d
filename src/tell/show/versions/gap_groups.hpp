// Cells that are broken or missing in some versions, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trend/trend.hpp"

namespace headroom::show {

enum class GapKind {
  broke,    ///< verified once, broken now
  broken,   ///< broken in some version: mended since, or never verified
  missing,  ///< skipped or left out, which somebody may have wanted
};

/// The cells of a machine of which the same is to be said.
struct GapGroup {
  const trend::MachineTrend* machine = nullptr;
  GapKind kind = GapKind::missing;
  std::size_t since = 0;  ///< the version of the newest gap that matters
  std::string words;      ///< such as `"was fine until V1, failed since V2"`
  std::vector<const trend::Series*> cells;
};

/// What broke first, and of that the newest first.
std::vector<GapGroup> gap_groups(const trend::Trend& trend);

/// Why a cell is broken, as its newest broken version recorded it; empty where nothing broke.
std::string broken_reason(const trend::Series& series);

/// Such as `"failed"`, `"declined"` or `"missing"`.
std::string_view gap_word(const trend::Gap& gap);

/// Such as `" (does not gate)"`; empty for a cell that gates.
std::string gate_remark(const trend::Series& series);

/// That cells of a backend that somebody would link broke; empty if none did.
std::string broke_sentence(const trend::Trend& trend);

/// The groups for people; empty without any.
std::string gap_table(const trend::Trend& trend);

}  // namespace headroom::show

// What the tables of several machines are made of.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string>
#include <utility>

#include "across/overview.hpp"
#include "program/numbers.hpp"
#include "report/words/prose.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {

inline Prose words_cell(std::string words) { return {plain(std::move(words))}; }
inline Prose number_cell(std::size_t number) { return words_cell(fmt::format("{}", number)); }

inline const across::Entry& entry_at(const across::Overview& overview, std::size_t entry) {
  return overview.collection->entries[entry];
}

inline const std::string& machine_at(const across::Overview& overview, std::size_t machine) {
  return overview.collection->machines[machine].name;
}

inline Prose verdict_of(judge::Verdict verdict) {
  const std::string words(judge::to_string(verdict));
  const bool matters = verdict == judge::Verdict::faster || verdict == judge::Verdict::slower;
  return {matters ? strong(words) : plain(words)};
}

inline Prose program_facts(const across::Versus& versus) {
  return words_cell(fmt::format("{}", fmt::join(versus.differs, ", ")));
}

// A cell in a table that names its shape elsewhere.
inline Prose short_cell(const record::CellResult& cell) {
  return {code(fmt::format("{} t{}", name_of(cell), cell.threads))};
}

inline Prose time_of(const record::CellResult& cell) {
  return words_cell(format_seconds(cell.time.median));
}

}  // namespace headroom::report

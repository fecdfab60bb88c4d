// What the tables of several machines are made of.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

#include "across/overview.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

inline Prose words_cell(std::string words) { return {plain(std::move(words))}; }
inline Prose number_cell(std::size_t number) { return words_cell(fmt::format("{}", number)); }

inline const across::Entry& entry_at(const across::Overview& overview, std::size_t entry) {
  return overview.collection->entries[entry];
}

inline const std::string& machine_at(const across::Overview& overview, std::size_t machine) {
  return overview.collection->machines[machine].name;
}

}  // namespace headroom::report

#include "report/many/many_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/text/names.hpp"
#include "judge/competes.hpp"
#include "program/numbers.hpp"
#include "report/many/table_words.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using across::Overview;
using judge::Sureness;

constexpr const char* kOneMachine = "one machine";

std::string labels_of(const Overview& overview, const std::vector<std::size_t>& entries) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> names;
  for (const std::size_t entry : entries) {
    if (names.size() < kMost) names.push_back(entry_at(overview, entry).label);
  }
  std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (entries.size() > kMost) all += fmt::format(" and {} more", entries.size() - kMost);
  return all;
}

// Of one thread and of all that were measured.
std::string rate_words(const std::map<int, double>& by_threads) {
  std::vector<std::string> parts;
  for (const auto& [threads, rate] : by_threads) {
    if (threads == 1 || threads == by_threads.rbegin()->first) {
      parts.push_back(fmt::format("{:.1f} on {}", rate, counted(threads, "thread")));
    }
  }
  return parts.empty() ? "not measured" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string own_share(const across::Entry& entry, const record::CellResult& cell,
                      show::Shares& shares) {
  const std::optional<Share> share = share_of_limit(entry.folder, cell, entry.roofs);
  return share ? limit_words(*share, shares) : "not measured";
}

}  // namespace

std::string name_of(const across::Contest& contest) {
  std::string name =
      fmt::format("{}, {}", counted(contest.shape.heads, "head"), name_of(contest.shape));
  Numbers exact = contest.numbers;
  exact.weights.reset();
  if (exact != Numbers{}) name += fmt::format(", as exact as {}", headroom::to_string(exact));
  if (contest.numbers.weights) {
    name += fmt::format(", weights stored as {}", to_string(*contest.numbers.weights));
  }
  return contest.cold ? name + ", cold caches" : name;
}

Table machine_table(const Overview& overview) {
  Table table{{{"machine", false},
               {"processor", false},
               {"version", false},
               {"measured", false},
               {"multiply-adds, GFLOP/s", false},
               {"memory read, GB/s", false},
               {"noise floor", true},
               {"verified cells", true}},
              {}};
  const auto& machines = overview.collection->machines;
  const bool priced = std::any_of(machines.begin(), machines.end(),
                                  [](const across::Machine& one) { return one.price.has_value(); });
  if (priced) table.columns.push_back({"price of an hour", true});
  for (std::size_t i = 0; i < overview.collection->entries.size(); ++i) {
    const across::Entry& entry = entry_at(overview, i);
    const across::Machine& machine = overview.collection->machine_of(entry);
    table.rows.push_back(
        {{strong(entry.label)},
         words_cell(machine.processor),
         words_cell(entry.version),
         words_cell(entry.origin.measured.empty() ? "unknown" : entry.origin.measured),
         words_cell(rate_words(entry.roofs.fma_gflops)),
         words_cell(rate_words(entry.roofs.read_gbs)),
         words_cell(entry.noise_floor > 0 ? format_share(entry.noise_floor, 1) : "not known"),
         words_cell(
             fmt::format("{} of {}", overview.verified_cells(i), entry.folder.results.size()))});
    if (priced) {
      table.rows.back().push_back(
          words_cell(machine.price ? fmt::format("{:g}", *machine.price) : "-"));
    }
  }
  return table;
}

Table difference_table(const Overview& overview) {
  Table table{{{"what", false}, {"value", false}, {"folders", false}, {"how many", true}}, {}};
  for (const across::EnvironmentDifference& difference : overview.differences) {
    for (const auto& [value, entries] : difference.values) {
      table.rows.push_back({words_cell(difference.name), words_cell(value),
                            words_cell(labels_of(overview, entries)), number_cell(entries.size())});
    }
  }
  return table;
}

Table lone_table(const Overview& overview, const across::LoneBackend& lone) {
  Table table{{{"backend", false},
               {"little lost", true},
               {"not known", true},
               {"more lost", true},
               {"no time", true},
               {"mean time over the fastest", true},
               {"at worst", true},
               {"where", false}},
              {}};
  for (const across::BackendRecord& record : lone.backends) {
    Prose worst = words_cell("-"), where = words_cell("-");
    if (record.worst.rival != nullptr) {
      const judge::Difference& loss = record.worst.rival->to_fastest;
      worst = words_cell(fmt::format("{} ({})", times(loss.ratio), range(loss.ci95)));
      where = words_cell(fmt::format("{}, {}", machine_at(overview, record.worst.standing->machine),
                                     name_of(*record.worst.contest)));
    }
    table.rows.push_back({{code(record.backend)},
                          number_cell(record.good),
                          number_cell(record.unknown),
                          number_cell(record.behind),
                          number_cell(record.missing),
                          words_cell(times(record.mean)),
                          worst,
                          where});
  }
  return table;
}

Table own_table(const Overview& overview, const across::LoneBackend& lone) {
  Table table{{{"machine", false},
               {"alone it would link", false},
               {"shapes", true},
               {"clear", true},
               {"tie", true},
               {"unclear", true},
               {"only one", true}},
              {}};
  for (const across::OwnChoice& own : lone.own) {
    std::map<Sureness, std::size_t> counts;
    for (const across::Contest& contest : overview.contests) {
      const across::Standing* standing = contest.on(own.machine);
      if (standing != nullptr && lone.covers(contest)) ++counts[standing->sureness];
    }
    table.rows.push_back({{strong(machine_at(overview, own.machine))},
                          {code(own.backend)},
                          number_cell(own.spots),
                          number_cell(counts[Sureness::clear]),
                          number_cell(counts[Sureness::tie]),
                          number_cell(counts[Sureness::unknown]),
                          number_cell(counts[Sureness::alone])});
  }
  return table;
}

namespace {

// Whether one backend is to be linked for a shape wherever it was measured.
Prose holds_everywhere(const across::Contest& contest) {
  const std::vector<across::Standing>& all = contest.standings;
  if (all.size() == 1) return words_cell(kOneMachine);
  const bool sure = std::none_of(all.begin(), all.end(), [](const across::Standing& standing) {
    return standing.sureness == Sureness::unknown || standing.sureness == Sureness::alone;
  });
  const bool same = std::all_of(all.begin(), all.end(), [&](const across::Standing& standing) {
    return standing.choice == all.front().choice;
  });
  // What is unclear on one machine may be the same there.
  if (!sure) return words_cell("unclear");
  return same ? Prose{strong("yes")} : Prose{strong("no")};
}

// More than one version or library stands behind a row.
std::string facts_joined(const std::vector<std::string>& facts) {
  return facts.empty() ? "" : fmt::format("{}", fmt::join(facts, ", "));
}

}  // namespace

Table shared_winners(const Overview& overview) {
  Table table = winner_table(overview);
  std::erase_if(table.rows,
                [](const std::vector<Prose>& row) { return plain_text(row[1]) == kOneMachine; });
  return table;
}

Table winner_table(const Overview& overview) {
  const std::vector<across::Machine>& machines = overview.collection->machines;
  Table table{{{"shape", false}, {"one backend for all", false}}, {}};
  for (const across::Machine& machine : machines) table.columns.push_back({machine.name, false});
  if (machines.size() > kMostColumns || machines.size() < 2) return table;
  for (const across::Contest& contest : overview.contests) {
    std::vector<Prose> row{words_cell(name_of(contest)), holds_everywhere(contest)};
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const across::Standing* standing = contest.on(i);
      if (standing == nullptr) {
        row.push_back(words_cell("-"));
      } else {
        row.push_back(
            {code(standing->choice), plain(fmt::format(", {}", to_string(standing->sureness)))});
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table side_by_side_table(const Overview& overview) {
  Table table{{{"shape", false},
               {"machine", false},
               {"link", false},
               {"how sure", false},
               {"fastest cell", false},
               {"time", true},
               {"95 % interval", true},
               {"share of its own roof", true},
               {"programs differ in", false}},
              {}};
  const across::Programs programs(*overview.collection);
  show::Shares shares;
  for (const across::Contest& contest : overview.contests) {
    std::vector<std::size_t> entries;
    for (const across::Standing& standing : contest.standings) entries.push_back(standing.entry);
    for (const across::Standing& standing : contest.standings) {
      const across::Entry& entry = entry_at(overview, standing.entry);
      const record::CellResult& cell = *standing.fastest().cell;
      table.rows.push_back(
          {words_cell(name_of(contest)),
           {strong(entry.label)},
           {code(standing.choice)},
           words_cell(std::string(to_string(standing.sureness))),
           {code(fmt::format("{} t{}", name_of(cell), cell.threads))},
           words_cell(format_seconds(cell.time.median)),
           words_cell(fmt::format("{} to {}", format_seconds(cell.time.ci95.low),
                                  format_seconds(cell.time.ci95.high))),
           words_cell(own_share(entry, cell, shares)),
           words_cell(facts_joined(programs.differing(entries, cell.cell.backend)))});
    }
  }
  return table;
}

Table unverified_table(const Overview& overview) {
  Table table{{{"folder", false}, {"why", false}, {"cells", true}, {"such as", false}}, {}};
  for (const across::Entry& entry : overview.collection->entries) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<const record::CellResult*>> by_reason;
    for (const record::CellResult& cell : entry.folder.results) {
      if (judge::verified(cell)) continue;
      const std::string reason = judge::why_not_verified(cell);
      if (by_reason[reason].empty()) order.push_back(reason);
      by_reason[reason].push_back(&cell);
    }
    for (const std::string& reason : order) {
      table.rows.push_back({{strong(entry.label)},
                            words_cell(reason),
                            number_cell(by_reason[reason].size()),
                            {code(by_reason[reason].front()->cell.id)}});
    }
  }
  return table;
}

}  // namespace headroom::report

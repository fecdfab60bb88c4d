#include "show/versions/gap_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "program/numbers.hpp"

namespace headroom::show {
namespace {

using record::Status;
using trend::Gap;
using trend::MachineTrend;
using trend::Series;
using trend::Trend;

// Names of cells that are only missing; --json has all.
constexpr std::size_t kMissingNamed = 4;

// Neighbouring versions of which the same is true.
struct Stretch {
  std::string_view word;
  std::size_t first = 0, last = 0;
};

std::vector<Stretch> stretches_of(const Series& series) {
  std::vector<Stretch> all;
  for (const Gap& gap : series.gaps) {
    const std::string_view word = gap_word(gap);
    if (!all.empty() && all.back().word == word && all.back().last + 1 == gap.version) {
      all.back().last = gap.version;
    } else {
      all.push_back({word, gap.version, gap.version});
    }
  }
  return all;
}

std::string words_of(const MachineTrend& machine, const Stretch& stretch) {
  const std::string& first = machine.versions[stretch.first].name;
  if (stretch.first == stretch.last) return fmt::format("{} in {}", stretch.word, first);
  return fmt::format("{} from {} to {}", stretch.word, first, machine.versions[stretch.last].name);
}

const Gap& gap_at(const Series& series, std::size_t version) {
  return *std::find_if(series.gaps.begin(), series.gaps.end(),
                       [version](const Gap& gap) { return gap.version == version; });
}

const Gap* newest_broken(const Series& series) {
  const auto found = std::find_if(series.gaps.rbegin(), series.gaps.rend(),
                                  [](const Gap& gap) { return gap.is_broken(); });
  return found == series.gaps.rend() ? nullptr : &*found;
}

// What came of it, then every version without a time.
std::string sentence_of(const MachineTrend& machine, const Series& series) {
  std::string words;
  const std::optional<trend::Breach> breach = series.breach();
  if (breach && breach->fine_until) {
    words =
        fmt::format("was fine until {}, {} since {}", machine.versions[*breach->fine_until].name,
                    gap_word(gap_at(series, breach->since)), machine.versions[breach->since].name);
  } else if (breach) {
    words = "never verified";
  } else if (newest_broken(series) != nullptr) {
    words = "mended";
  }
  const std::vector<Stretch> stretches = stretches_of(series);
  // The first sentence has said it.
  if (breach && breach->fine_until && stretches.size() == 1) return words;
  for (const Stretch& stretch : stretches) {
    words += (words.empty() ? "" : "; ") + words_of(machine, stretch);
  }
  return words;
}

GapGroup group_of(const MachineTrend& machine, const Series& series) {
  GapGroup group{&machine, GapKind::missing, series.gaps.back().version, "", {}};
  if (const Gap* broken = newest_broken(series)) {
    group.kind = series.broke() ? GapKind::broke : GapKind::broken;
    group.since = series.broke() ? series.breach()->since : broken->version;
  }
  group.words = sentence_of(machine, series);
  return group;
}

void add(std::vector<GapGroup>& groups, GapGroup like, const Series& series) {
  auto group = std::find_if(groups.begin(), groups.end(), [&](const GapGroup& each) {
    return each.machine == like.machine && each.kind == like.kind && each.words == like.words;
  });
  if (group == groups.end()) group = groups.insert(groups.end(), std::move(like));
  group->cells.push_back(&series);
}

std::string group_text(const GapGroup& group) {
  std::string text = fmt::format("{}  {}  {}\n", group.machine->machine,
                                 counted(group.cells.size(), "cell"), group.words);
  std::size_t named = 0;
  for (const Series* series : group.cells) {
    if (group.kind == GapKind::missing && named++ == kMissingNamed) {
      return text + fmt::format("    and {} more, which --json and --csv have\n",
                                group.cells.size() - kMissingNamed);
    }
    const std::string reason = broken_reason(*series);
    text += fmt::format("    {}{}{}{}\n", series->id, reason.empty() ? "" : ": ", reason,
                        gate_remark(*series));
  }
  return text;
}

}  // namespace

std::string_view gap_word(const Gap& gap) {
  if (!gap.status) return "missing";
  return *gap.status == Status::unsupported ? "declined" : record::to_string(*gap.status);
}

std::string gate_remark(const Series& series) {
  if (series.peer) return " (peer)";
  return series.linkable ? "" : " (does not gate)";
}

std::string broken_reason(const Series& series) {
  const Gap* gap = newest_broken(series);
  return gap == nullptr ? "" : gap->reason;
}

std::vector<GapGroup> gap_groups(const Trend& trend) {
  std::vector<GapGroup> groups;
  for (const MachineTrend& machine : trend.machines) {
    for (const Series& series : machine.series) {
      if (!series.gaps.empty()) add(groups, group_of(machine, series), series);
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [](const GapGroup& a, const GapGroup& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.machine != b.machine) return a.machine < b.machine;  // of one vector
    return a.since > b.since;
  });
  return groups;
}

std::string broke_sentence(const Trend& trend) {
  const std::size_t count = trend.broke();
  if (count == 0) return "";
  return fmt::format(
      "{} once verified and broken now; measure again with headroom verify, or see headroom bisect",
      count == 1 ? "1 cell was" : fmt::format("{} cells were", count));
}

std::string gap_table(const Trend& trend) {
  constexpr std::pair<GapKind, const char*> kHeads[] = {
      {GapKind::broke, "broken now, newest first"},
      {GapKind::broken, "broken in some versions"},
      {GapKind::missing, "not measured in some versions"}};
  const std::vector<GapGroup> groups = gap_groups(trend);
  std::string text;
  for (const auto& [kind, head] : kHeads) {
    std::string inside;
    for (const GapGroup& group : groups) {
      if (group.kind == kind) inside += group_text(group);
    }
    if (!inside.empty()) text += fmt::format("\n{}\n{}", head, inside);
  }
  return text;
}

}  // namespace headroom::show

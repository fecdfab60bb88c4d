#include "report/many/many_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "program/numbers.hpp"
#include "report/many/many_tables.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using across::BackendRecord;
using across::LoneBackend;
using across::Overview;

const std::vector<across::Machine>& machines_of(const Overview& overview) {
  return overview.collection->machines;
}

std::string capital(std::string words) {
  words.front() = static_cast<char>(words.front() - 'a' + 'A');
  return words;
}

// "all 4 machines", "both machines", "3 of 4 machines" or "one machine".
std::string machines_words(const LoneBackend& lone) {
  const std::size_t all = lone.own.size();
  if (all == 1) return "one machine";
  if (lone.agreeing() == all)
    return all == 2 ? "both machines" : fmt::format("all {} machines", all);
  return fmt::format("{} of {} machines", lone.agreeing(), all);
}

// A recommendation that is not known to hold everywhere says so at once.
std::string how_sure(std::span<const LoneBackend> all) {
  std::size_t spots = 0, good = 0, behind = 0;
  for (const LoneBackend& lone : all) {
    spots += lone.spots;
    good += lone.chosen().good;
    behind += lone.chosen().behind;
  }
  if (good == spots) return "";
  return fmt::format(": little is lost in {} of {} shapes, more in {}, not known in {}", good,
                     spots, behind, spots - good - behind);
}

// @param all those of which `lone` speaks
Prose headline_of(const LoneBackend& lone, std::span<const LoneBackend> all) {
  Prose prose{plain("link "), code(lone.chosen().backend)};
  if (lone.own.size() > 1) {
    prose.push_back(plain(lone.agreeing() == lone.own.size()
                              ? fmt::format(" on {}", machines_words(lone))
                              : fmt::format(" if you link one backend for all ({} would choose it)",
                                            machines_words(lone))));
  }
  prose.push_back(plain(how_sure(all)));
  return prose;
}

Prose counts_sentence(const LoneBackend& lone) {
  const BackendRecord& record = lone.chosen();
  Prose prose{strong(fmt::format("{}.", capital(demand_words(lone.demand)))),
              plain(" Of "),
              plain(counted(lone.spots, "shape")),
              plain(fmt::format(" on {}, ", counted(lone.own.size(), "machine"))),
              code(record.backend),
              plain(fmt::format(" loses little or nothing in {}", record.good))};
  if (record.unknown > 0)
    prose.push_back(plain(fmt::format("; in {} it is not known", record.unknown)));
  if (record.behind > 0) prose.push_back(plain(fmt::format("; in {} more is lost", record.behind)));
  if (record.missing > 0) {
    prose.push_back(plain(fmt::format("; in {} it has no verified time", record.missing)));
  }
  prose.push_back(plain(". Each machine's shapes are counted for themselves."));
  return prose;
}

Prose worst_sentence(const Overview& overview, const BackendRecord& record) {
  const across::Spot& worst = record.worst;
  if (worst.rival == nullptr) return {};
  const across::Rival& fastest = worst.standing->fastest();
  if (fastest.backend() == record.backend) {
    return {code(record.backend), plain(" is the fastest everywhere.")};
  }
  const std::string& machine = machines_of(overview)[worst.standing->machine].name;
  const judge::Difference& loss = worst.rival->to_fastest;
  return {
      plain("At worst it takes "),
      plain(fmt::format("{} (95 % interval {}) the time of ", times(loss.ratio), range(loss.ci95))),
      code(fastest.backend()),
      plain(": on "),
      strong(machine),
      plain(fmt::format(", {}{}.", name_of(*worst.contest),
                        worst.rival->leads() ? ", which the samples do not distinguish" : ""))};
}

Prose own_sentence(const Overview& overview, const LoneBackend& lone) {
  if (lone.own.size() < 2 || lone.agreeing() == lone.own.size()) return {};
  Prose prose{plain("Alone ")};
  for (const across::OwnChoice& own : lone.own) {
    if (own.backend == lone.chosen().backend) continue;
    if (prose.size() > 1) prose.push_back(plain(", "));
    append(prose, {strong(machines_of(overview)[own.machine].name), plain(" would link "),
                   code(own.backend)});
  }
  prose.push_back(plain("."));
  return prose;
}

Prose open_words(const LoneBackend& lone) {
  if (lone.open.empty()) return {};
  Prose prose{plain("Lighter to link, and perhaps as good everywhere: ")};
  append(prose, listed(lone.open));
  prose.push_back(plain("."));
  return prose;
}

}  // namespace

std::string demand_words(Demand demand) {
  return demand == Demand::prefill ? "prefill" : "few tokens";
}

Prose many_headline(const Overview& overview) {
  if (overview.lone.empty()) {
    return {
        plain("No backend that one would link has a verified time, so nothing is recommended.")};
  }
  const LoneBackend& widest = *std::max_element(
      overview.lone.begin(), overview.lone.end(),
      [](const LoneBackend& a, const LoneBackend& b) { return a.own.size() < b.own.size(); });
  const bool same =
      std::all_of(overview.lone.begin(), overview.lone.end(), [&](const LoneBackend& lone) {
        return lone.chosen().backend == widest.chosen().backend &&
               lone.agreeing() == lone.own.size();
      });
  Prose headline;
  if (same) {
    headline = headline_of(widest, overview.lone);
    headline.front().text = "Link ";
    headline.push_back(plain("."));
    return headline;
  }
  for (const LoneBackend& lone : overview.lone) {
    headline.push_back(plain(
        fmt::format("{}{}: ", headline.empty() ? "" : " ", capital(demand_words(lone.demand)))));
    append(headline, headline_of(lone, {&lone, 1}));
    headline.push_back(plain("."));
  }
  if (overview.lone.size() > 1) return headline;
  headline.erase(headline.begin());
  headline.front().text = "Link ";
  return headline;
}

std::vector<Prose> many_sentences(const Overview& overview) {
  std::vector<Prose> sentences;
  for (const LoneBackend& lone : overview.lone) {
    Prose prose = counts_sentence(lone);
    for (Prose& more : std::vector{worst_sentence(overview, lone.chosen()),
                                   own_sentence(overview, lone), open_words(lone)}) {
      if (more.empty()) continue;
      prose.push_back(plain(" "));
      append(prose, std::move(more));
    }
    sentences.push_back(std::move(prose));
  }
  return sentences;
}

std::vector<Prose> many_remarks(const Overview& overview) {
  std::vector<Prose> remarks;
  const auto& entries = overview.collection->entries;
  std::set<std::string> versions, silent;
  std::size_t unverified = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    versions.insert(entries[i].version);
    if (!(entries[i].noise_floor > 0)) silent.insert(entries[i].label);
    unverified += entries[i].folder.results.size() - overview.verified_cells(i);
    for (const std::string& note : entries[i].folder.notes) {
      remarks.push_back({strong(entries[i].label), plain(": " + note)});
    }
  }
  if (versions.size() > 1) {
    remarks.push_back({plain(
        fmt::format("{} of the program stand behind these times: what differs between machines may "
                    "be the version. Verdicts between different programs are marked with †.",
                    counted(versions.size(), "version")))});
  }
  if (!silent.empty()) {
    Prose prose{plain("No noise floor was recorded, so the margin is 3 %: ")};
    constexpr std::size_t kMost = 6;
    std::size_t count = 0;
    for (const std::string& label : silent) {
      if (count++ == kMost) break;
      append(prose, {plain(count > 1 ? ", " : ""), strong(label)});
    }
    prose.push_back(plain(silent.size() > kMost
                              ? fmt::format(" and {} more.", silent.size() - kMost)
                              : std::string(".")));
    remarks.push_back(std::move(prose));
  }
  if (unverified > 0) {
    remarks.push_back({plain(
        fmt::format("{} not verified: listed, never ranked and in no picture.",
                    unverified == 1 ? "1 cell is" : fmt::format("{} cells are", unverified)))});
  }
  if (overview.matrices.left_out > 0 || overview.changes_left_out > 0) {
    remarks.push_back({plain(fmt::format(
        "Left out, because a page of more than {} pairs would show no difference: the verdicts "
        "between machines of {}, and {} between versions. Name fewer folders to see them.",
        across::kMostPairs, counted(overview.matrices.left_out, "shape"),
        counted(overview.changes_left_out, "comparison")))});
  }
  return remarks;
}

std::vector<Prose> many_method(const Overview& overview) {
  return {
      {plain(
          "Ranked is what was checked against the oracle in the run that timed it and was within "
          "its limit, of one process and of a backend that somebody would link; other libraries "
          "and the backends that are only there for comparison are listed. Of each backend the "
          "fastest such cell represents it.")},
      {plain(
          "A machine is shown by its newest folder that has the shape, and that has two backends "
          "for it if any has. Its older versions are in the table of versions.")},
      {plain(fmt::format(
          "All {} of this page were corrected together for their number (Benjamini-Hochberg). A "
          "difference is named where the corrected p, of Welch's test of the processes' medians, "
          "is below 0.05, the 95 % interval does not reach 1, and the ratio is beyond the margin: "
          "3 %, or the larger noise floor of both folders.",
          counted(overview.comparisons, "comparison")))},
      {plain("Samples of one machine are divided by the control beside them where both sides have "
             "the same. Between machines they are not: two controls say nothing of each other.")},
      {plain(fmt::format(
          "The share of its own roof is that of the machine on which the cell ran, so a slow "
          "machine that is used well shows a high one. {} stands where it is more than 100 %: {}; "
          "of "
          "memory, {}; of products of another precision than f32, {}; and without a control, {}.",
          show::kAboveMark, show::why_above(show::Limit::beside),
          show::why_above(show::Limit::memory), show::why_above(show::Limit::products),
          show::why_above(show::Limit::once)))}};
}

std::string many_subtitle(const Overview& overview) {
  std::set<std::string> versions;
  std::size_t cells = 0;
  for (const across::Entry& entry : overview.collection->entries) {
    versions.insert(entry.version);
    cells += entry.folder.results.size();
  }
  return fmt::format("{} · {} · {} · {}", counted(machines_of(overview).size(), "machine"),
                     counted(versions.size(), "version"),
                     counted(overview.collection->entries.size(), "folder"),
                     counted(cells, "cell"));
}

}  // namespace headroom::report

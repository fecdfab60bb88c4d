#include "report/words/peer_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using judge::PeerBlock;
using judge::PeerCell;
using judge::Verdict;
using record::CellResult;

std::string shape_of(const PeerBlock& block) {
  return fmt::format("{}, {}", name_of(block.shape()), counted(block.shape().heads, "head"));
}

std::string place_of(const PeerBlock& block) {
  return fmt::format("{}, on {}", shape_of(block), counted(block.threads(), "thread"));
}

bool has_time(const PeerBlock& block) { return block.peers.front().cell->has_time(); }

std::string combinations(std::size_t count) {
  return fmt::format("{} of shape and threads", counted(count, "combination"));
}

// How many of those blocks there are in which ours and a peer have a time.
struct Counts {
  std::size_t compared = 0, faster = 0;
};

Counts count(const std::vector<PeerBlock>& blocks) {
  Counts counts;
  for (const PeerBlock& block : blocks) {
    counts.compared += block.ours != nullptr && has_time(block) ? 1 : 0;
    counts.faster += block.any(Verdict::faster) ? 1 : 0;
  }
  return counts;
}

Prose headline(const Counts& counts) {
  if (counts.compared == 0) {
    return {plain("No other library has a time beside one of ours, so nothing can be compared.")};
  }
  if (counts.faster == 0) {
    return {
        plain(fmt::format("No other library is shown to be faster than the best of ours in any "
                          "of {}.",
                          combinations(counts.compared)))};
  }
  return {plain(fmt::format("Another library is faster than the best of ours in {} of {}.",
                            counts.faster, combinations(counts.compared)))};
}

Prose faster_sentence(const PeerBlock& block, const PeerCell& peer) {
  const judge::Difference& difference = peer.to_ours->difference;
  return {plain(place_of(block) + ": "),
          code(name_of(*peer.cell)),
          plain(" takes "),
          strong(times(difference.ratio)),
          plain(fmt::format(" (95 % confidence interval {}) the time of ", range(difference.ci95))),
          code(name_of(*block.ours)),
          plain(".")};
}

// Places where ours is neither shown to be faster than every peer nor slower than one.
void add_unclear(const std::vector<PeerBlock>& blocks, std::vector<Prose>& sentences) {
  for (const PeerBlock& block : blocks) {
    std::vector<std::string> names;
    for (const PeerCell& peer : block.peers) {
      if (peer.is(Verdict::same) || peer.is(Verdict::not_distinguishable)) {
        names.push_back(name_of(*peer.cell));
      }
    }
    if (names.empty()) continue;
    Prose prose{plain(place_of(block) + ": ")};
    append(prose, listed(names));
    append(prose,
           {plain(" cannot be shown to be slower than "), code(name_of(*block.ours)), plain(".")});
    sentences.push_back(std::move(prose));
  }
}

void add_without_ours(const std::vector<PeerBlock>& blocks, std::vector<Prose>& sentences) {
  for (const PeerBlock& block : blocks) {
    if (block.ours != nullptr || !has_time(block)) continue;
    sentences.push_back(
        {plain(place_of(block) + ": none of ours has a time, but "),
         code(name_of(*block.peers.front().cell)),
         plain(fmt::format(" takes {}.", format_seconds(block.peers.front().cell->time.median)))});
  }
}

Piece as_said(const std::string& text, bool faster) { return faster ? strong(text) : plain(text); }

std::string verdict_of(const judge::Difference& difference) {
  if (difference.verdict == Verdict::not_distinguishable) return "n.d.";
  return std::string(to_string(difference.verdict));
}

Prose versus_ours(const PeerCell* peer) {
  if (peer == nullptr) return {plain("-")};
  if (!peer->to_ours) return {plain(format_seconds(peer->cell->time.median))};
  const judge::Difference& difference = peer->to_ours->difference;
  return {as_said(times(difference.ratio), peer->is(Verdict::faster)),
          plain(fmt::format(" ({}), {}", range(difference.ci95), verdict_of(difference)))};
}

Table by_threads(const Findings& findings) {
  const std::vector<std::string> names = judge::peer_names(*findings.folder);
  Table table{{{"shape", false}, {"threads", true}, {"best of ours", false}, {"time", true}}, {}};
  for (const std::string& name : names) table.columns.push_back({name, false});
  for (const PeerBlock& block : findings.peers) {
    const CellResult* ours = block.ours;
    std::vector<Prose> row{{plain(shape_of(block))},
                           {plain(fmt::format("{}", block.threads()))},
                           {ours == nullptr ? plain("none has a time") : code(name_of(*ours))},
                           {plain(ours == nullptr ? "-" : format_seconds(ours->time.median))}};
    for (const std::string& name : names) row.push_back(versus_ours(block.best_of(name)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table every_cell(const std::vector<PeerBlock>& blocks) {
  Table table{{{"shape", false},
               {"threads", true},
               {"peer", false},
               {"time", true},
               {"over ours as timed", true},
               {"steadied", false},
               {"by", false}},
              {}};
  for (const PeerBlock& block : blocks) {
    for (const PeerCell& peer : block.peers) {
      if (!peer.cell->has_time()) continue;
      table.rows.push_back({{plain(shape_of(block))},
                            {plain(fmt::format("{}", block.threads()))},
                            {code(name_of(*peer.cell))},
                            {plain(format_seconds(peer.cell->time.median))},
                            {plain(peer.to_ours ? times(peer.to_ours->raw_ratio) : "-")},
                            peer.to_ours ? versus_ours(&peer) : Prose{plain("-")},
                            {plain(peer.cell->costs ? peer.cell->costs->attend_provenance : "")}});
    }
  }
  return table;
}

}  // namespace

std::optional<PeerWords> peer_words(const Findings& findings) {
  const nlohmann::ordered_json& peers = value_at(findings.folder->environment, "/peers");
  if (!peers.is_object() || peers.empty()) return std::nullopt;
  PeerWords words;
  words.headline = headline(count(findings.peers));
  for (const PeerBlock& block : findings.peers) {
    for (const PeerCell& peer : block.peers) {
      if (peer.is(Verdict::faster)) words.faster.push_back(faster_sentence(block, peer));
    }
  }
  add_unclear(findings.peers, words.sentences);
  add_without_ours(findings.peers, words.sentences);
  words.by_threads = by_threads(findings);
  words.cells = every_cell(findings.peers);
  return words;
}

}  // namespace headroom::report

#include "table.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <vector>

#include "judge/compare.hpp"
#include "judge/peers.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "record/results_folder.hpp"

namespace headroom::peers {
namespace {

using judge::PeerBlock;
using judge::PeerCell;
using record::CellResult;

std::string name_of(const CellResult& result) {
  return fmt::format("{} {}", result.cell.backend, result.way());
}

std::string title_of(const PeerBlock& block) {
  return fmt::format("{}, {}", block.shape().id(), counted(block.threads(), "thread"));
}

std::string ratio_of(const judge::Difference& difference) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", difference.ratio, difference.ci95.low,
                     difference.ci95.high);
}

std::string faster_peers(const std::vector<PeerBlock>& blocks) {
  std::string text;
  std::size_t count = 0;
  for (const PeerBlock& block : blocks) {
    count += block.any(judge::Verdict::faster) ? 1 : 0;
    for (const PeerCell& peer : block.peers) {
      if (!peer.is(judge::Verdict::faster)) continue;
      text +=
          fmt::format("  {}: {} takes {} of the time of {}\n", title_of(block), name_of(*peer.cell),
                      ratio_of(peer.to_ours->difference), name_of(*block.ours));
    }
  }
  if (text.empty()) return "a peer is faster than the best of our cells: nowhere\n";
  return fmt::format("a peer is faster than the best of our cells in {}:\n{}",
                     counted(count, "block"), text);
}

// Where weights, keys or values are stored in few bits: the error of the kernel, and the distance
// to what is not rounded. Elsewhere all are as exact as ours.
std::string errors_text(const CellResult& cell) {
  if (!cell.error || !cell.storage_error) return "";
  return fmt::format("  {:>8.1e} {:>8.1e}", cell.error->nrmse, *cell.storage_error);
}

std::string row_text(const PeerCell& peer) {
  const CellResult& cell = *peer.cell;
  std::string text = fmt::format("  {:<28} ", name_of(cell));
  if (!cell.has_time()) return fmt::format("{}{}: {}\n", text, to_string(cell.status), cell.reason);
  text += fmt::format("{:>11}", format_seconds(cell.time.median));
  if (peer.to_ours) {
    const judge::Difference& difference = peer.to_ours->difference;
    text += fmt::format("  {:>6.2f}  {:<22} {:<20}", peer.to_ours->raw_ratio, ratio_of(difference),
                        to_string(difference.verdict));
  }
  text += errors_text(cell);
  return fmt::format("{}  {}\n", text, cell.costs ? cell.costs->attend_provenance : "");
}

std::string storage_text(const PeerBlock& block) {
  const Numbers& numbers = block.peers.front().cell->cell.numbers;
  std::string stored;
  if (is_few_bits(numbers.stored_weights())) {
    stored = fmt::format("weights of {}", to_string(*numbers.weights));
  } else if (numbers.cache) {
    stored = fmt::format("keys and values of {}", to_string(*numbers.cache));
  } else {
    return "";
  }
  const std::string_view what = numbers.cache ? "ones" : "weights";
  std::string text = fmt::format("  {}; error, and distance to unrounded {}", stored, what);
  if (block.ours != nullptr) text += fmt::format("; ours:{}", errors_text(*block.ours));
  return text + "\n";
}

std::string block_text(const PeerBlock& block) {
  std::string text = fmt::format("\n{}: ", title_of(block));
  if (block.ours == nullptr) {
    text += "none of our cells has a time\n";
  } else {
    text += fmt::format("our best is {}, {}\n", name_of(*block.ours),
                        format_seconds(block.ours->time.median));
    text += fmt::format("  {:<28} {:>11}  {:>6}  {:<22} {:<20}  {}\n", "peer", "time", "/ ours",
                        "steadied (95 %)", "verdict", "by");
  }
  text += storage_text(block);
  for (const PeerCell& peer : block.peers) text += row_text(peer);
  return text;
}

std::string skipped_peers(const nlohmann::ordered_json& environment) {
  std::string text;
  const nlohmann::ordered_json& peers = value_at(environment, "/peers");
  if (!peers.is_object()) return text;
  for (const auto& [name, peer] : peers.items()) {
    const std::string why = text_at(peer, "/skipped", "");
    if (!why.empty()) text += fmt::format("  {}: {}\n", name, why);
  }
  return text.empty() ? text : "\nnot measured:\n" + text;
}

}  // namespace

std::string peers_table(const std::filesystem::path& path) {
  const record::ResultsFolder folder = record::read_results_folder(path);
  const double noise_floor = judge::recorded_noise_floor(folder);
  std::vector<PeerBlock> blocks = judge::peer_blocks(folder);
  judge::Comparisons comparisons(noise_floor);
  judge::compare_peers(blocks, comparisons);
  comparisons.run();
  std::string text = faster_peers(blocks);
  for (const PeerBlock& block : blocks) text += block_text(block);
  fmt::format_to(
      std::back_inserter(text),
      "\n/ ours: its time over that of our best cell; steadied: each time corrected by the "
      "control beside it.\nEqual layers differed by up to {:.1f} %; faster and slower "
      "hold beyond that and 3 %.\n",
      100 * noise_floor);
  return text + skipped_peers(folder.environment);
}

}  // namespace headroom::peers

#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "headroom/backend.hpp"
#include "judge/compare.hpp"
#include "judge/ranking.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "record/results_folder.hpp"

namespace headroom::peers {
namespace {

using record::CellResult;

struct Row {
  const CellResult* cell = nullptr;
  judge::CellDifference difference;  // of its time over that of our best
};

// The cells of one shape and number of threads.
struct Block {
  const CellResult* ours = nullptr;  // the fastest
  std::vector<Row> rows;             // of the peers
};

bool is_ours(const CellResult& result) {
  for (const BackendInfo& info : backends()) {
    if (info.name == result.cell.backend) return true;
  }
  return false;
}

std::vector<Block> blocks_of(const record::ResultsFolder& folder) {
  std::vector<Block> blocks;
  std::map<std::pair<std::string, int>, std::size_t> places;
  for (const CellResult& result : folder.results) {
    const auto [place, fresh] =
        places.try_emplace({result.shape.id(), result.threads}, blocks.size());
    if (fresh) blocks.emplace_back();
    Block& block = blocks[place->second];
    if (!is_ours(result)) {
      block.rows.push_back({&result, {}});
    } else if (result.has_time() &&
               (block.ours == nullptr || result.time.median < block.ours->time.median)) {
      block.ours = &result;
    }
  }
  return blocks;
}

void compare(std::vector<Block>& blocks, double noise_floor) {
  judge::Comparisons comparisons;
  for (Block& block : blocks) {
    // First, because the answers refer to the rows.
    std::stable_sort(block.rows.begin(), block.rows.end(), [](const Row& a, const Row& b) {
      return std::pair(!a.cell->has_time(), a.cell->time.median) <
             std::pair(!b.cell->has_time(), b.cell->time.median);
    });
    for (Row& row : block.rows) {
      comparisons.add(block.ours, *row.cell,
                      [&row](const judge::CellDifference& found) { row.difference = found; });
    }
  }
  comparisons.run(noise_floor);
}

std::string name_of(const CellResult& result) {
  return fmt::format("{} {}", result.cell.backend, to_string(result.cell.formulation));
}

std::string title_of(const CellResult& result) {
  return fmt::format("{}, {}", result.shape.id(), counted(result.threads, "thread"));
}

std::string ratio_of(const judge::Difference& difference) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", difference.ratio, difference.ci95.low,
                     difference.ci95.high);
}

std::string faster_peers(const std::vector<Block>& blocks) {
  std::string text;
  std::size_t shapes = 0;
  for (const Block& block : blocks) {
    bool found = false;
    for (const Row& row : block.rows) {
      const judge::Difference& difference = row.difference.difference;
      if (block.ours == nullptr || !row.cell->has_time()) continue;
      if (difference.verdict != judge::Verdict::faster) continue;
      found = true;
      text += fmt::format("  {}: {} takes {} of the time of {}\n", title_of(*row.cell),
                          name_of(*row.cell), ratio_of(difference), name_of(*block.ours));
    }
    shapes += found ? 1 : 0;
  }
  if (text.empty()) return "a peer is faster than the best of our cells: nowhere\n";
  return fmt::format("a peer is faster than the best of our cells in {}:\n{}",
                     counted(shapes, "block"), text);
}

std::string row_text(const Row& row, const CellResult* ours) {
  const CellResult& cell = *row.cell;
  std::string text = fmt::format("  {:<28} ", name_of(cell));
  if (!cell.has_time()) return fmt::format("{}{}: {}\n", text, to_string(cell.status), cell.reason);
  text += fmt::format("{:>11}", format_seconds(cell.time.median));
  if (ours != nullptr) {
    const judge::Difference& difference = row.difference.difference;
    text += fmt::format("  {:>6.2f}  {:<22} {:<20}", row.difference.raw_ratio, ratio_of(difference),
                        to_string(difference.verdict));
  }
  return fmt::format("{}  {}\n", text, cell.costs ? cell.costs->attend_provenance : "");
}

std::string block_text(const Block& block) {
  std::string text = fmt::format("\n{}: ", title_of(*block.rows.front().cell));
  if (block.ours == nullptr) {
    text += "none of our cells has a time\n";
  } else {
    text += fmt::format("our best is {}, {}\n", name_of(*block.ours),
                        format_seconds(block.ours->time.median));
    text += fmt::format("  {:<28} {:>11}  {:>6}  {:<22} {:<20}  {}\n", "peer", "time", "/ ours",
                        "steadied (95 %)", "verdict", "by");
  }
  for (const Row& row : block.rows) text += row_text(row, block.ours);
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
  std::vector<Block> blocks = blocks_of(folder);
  std::erase_if(blocks, [](const Block& block) { return block.rows.empty(); });
  const double noise_floor = judge::recorded_noise_floor(folder);
  compare(blocks, noise_floor);
  std::string text = faster_peers(blocks);
  for (const Block& block : blocks) text += block_text(block);
  fmt::format_to(
      std::back_inserter(text),
      "\n/ ours: its time over that of our best cell; steadied: each time corrected by the "
      "control beside it.\nEqual layers differed by up to {:.1f} %; faster and slower "
      "hold beyond that and 3 %.\n",
      100 * noise_floor);
  return text + skipped_peers(folder.environment);
}

}  // namespace headroom::peers

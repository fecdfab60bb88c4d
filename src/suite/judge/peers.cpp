#include "judge/peers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "program/json_text.hpp"

namespace headroom::judge {
namespace {

using record::CellResult;

// Before the comparisons refer to the cells by their place.
void sort_by_time(std::vector<PeerCell>& peers) {
  std::stable_sort(peers.begin(), peers.end(), [](const PeerCell& a, const PeerCell& b) {
    return std::pair(!a.cell->has_time(), a.cell->time.median) <
           std::pair(!b.cell->has_time(), b.cell->time.median);
  });
}

// Ids of our cells that were chosen for the comparison before the samples were taken.
std::set<std::string> chosen_ids(const record::ResultsFolder& folder) {
  std::set<std::string> ids;
  for (const auto& id : value_at(folder.environment, "/sweep/compared_with")) {
    if (id.is_string()) ids.insert(id.get<std::string>());
  }
  return ids;
}

}  // namespace

bool PeerBlock::any(Verdict verdict) const {
  return std::any_of(peers.begin(), peers.end(),
                     [&](const PeerCell& peer) { return peer.is(verdict); });
}

const PeerCell* PeerBlock::best_of(const std::string& name) const {
  // One that is shown to be faster goes first, however its ratio compares with an unclear one.
  const auto key = [](const PeerCell& peer) {
    const double ratio = peer.to_ours ? peer.to_ours->difference.ratio : peer.cell->time.median;
    return std::pair(!peer.is(Verdict::faster), ratio);
  };
  const PeerCell* best = nullptr;
  for (const PeerCell& peer : peers) {
    if (peer.cell->cell.backend != name || !peer.cell->has_time()) continue;
    if (best == nullptr || key(peer) < key(*best)) best = &peer;
  }
  return best;
}

std::vector<PeerBlock> peer_blocks(const record::ResultsFolder& folder) {
  const std::set<std::string> chosen = chosen_ids(folder);
  std::vector<PeerBlock> blocks;
  std::map<std::pair<std::string, int>, std::size_t> places;
  for (const CellResult* result : record::in_order(folder)) {
    if (result->cell.ranks > 1) continue;  // every peer is one process
    const auto [place, fresh] =
        places.try_emplace({result->contest(), result->threads}, blocks.size());
    if (fresh) blocks.emplace_back();
    PeerBlock& block = blocks[place->second];
    if (result->peer) {
      block.peers.push_back({result, {}});
    } else if (result->has_time() && chosen.contains(result->cell.id)) {
      block.ours = result;
    }
  }
  std::erase_if(blocks, [](const PeerBlock& block) { return block.peers.empty(); });
  for (PeerBlock& block : blocks) sort_by_time(block.peers);
  return blocks;
}

void compare_peers(std::vector<PeerBlock>& blocks, Comparisons& comparisons) {
  for (PeerBlock& block : blocks) {
    for (PeerCell& peer : block.peers) {
      comparisons.add(block.ours, *peer.cell,
                      [&peer](const CellDifference& found) { peer.to_ours = found; });
    }
  }
}

std::vector<std::string> peer_names(const record::ResultsFolder& folder) {
  std::set<std::string> measured;
  for (const CellResult& result : folder.results) {
    if (result.peer) measured.insert(result.cell.backend);
  }
  std::vector<std::string> names;
  const nlohmann::ordered_json& peers = value_at(folder.environment, "/peers");
  if (!peers.is_object()) return names;
  for (const auto& [name, _] : peers.items()) {
    if (measured.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace headroom::judge

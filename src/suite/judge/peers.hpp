// Other libraries beside the best of ours, in a folder of scripts/peers. A peer is only ever
// compared with ours: it is no baseline, it wins no shape, and nothing recommends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/ranking.hpp"
#include "record/results_folder.hpp"

namespace headroom::judge {

/// A cell of a peer. Without a time on both sides there is no comparison.
struct PeerCell {
  const record::CellResult* cell = nullptr;
  std::optional<CellDifference> to_ours;  ///< its time over that of the best of ours

  bool is(Verdict verdict) const { return to_ours && to_ours->difference.verdict == verdict; }
};

/// The peers of one contest on one number of threads: f32 beside f32, bf16 beside bf16.
struct PeerBlock {
  /// Our cell that was chosen for the comparison before its samples were taken
  /// (`sweep.compared_with`); null: none, or it has no time. The fastest of several by the compared
  /// samples would look faster than it is.
  const record::CellResult* ours = nullptr;
  std::vector<PeerCell> peers;  ///< the fastest first, those without a time last

  const Case& shape() const { return peers.front().cell->shape; }
  int threads() const { return peers.front().cell->threads; }
  bool any(Verdict verdict) const;
  /// The peer's cell that comes closest to ours or passes it; null if none has a time.
  const PeerCell* best_of(const std::string& name) const;
};

/// In the order of the shapes; a shape on some number of threads without peers has no block. Only
/// cells of one process. Refers to the folder.
std::vector<PeerBlock> peer_blocks(const record::ResultsFolder& folder);

/// Requests the comparison of every peer with the best of ours. The blocks must stay where they are
/// until `comparisons` has run.
void compare_peers(std::vector<PeerBlock>& blocks, Comparisons& comparisons);

/// The peers that were measured, in the order in which the environment names them.
std::vector<std::string> peer_names(const record::ResultsFolder& folder);

}  // namespace headroom::judge

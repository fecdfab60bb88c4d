// What a folder of scripts/peers says before anything else: where another library is faster.
#pragma once

#include <optional>
#include <vector>

#include "report/findings/findings.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

struct PeerWords {
  Prose headline;                ///< whether a peer is faster than the best of ours anywhere
  std::vector<Prose> faster;     ///< every cell of a peer that is, with ratio and interval
  std::vector<Prose> sentences;  ///< what else cannot be said of ours
  Table by_threads;  ///< shape x threads: each peer's time over that of the best of ours
  Table cells;       ///< every cell of a peer
};

/// What the entries of `by_threads` are.
inline constexpr const char* kPeerNote =
    "Each entry is the time of another library over that of the best of ours for the same shape on "
    "as many threads, with its 95 % confidence interval: above 1 × the other library is slower. "
    "Where a control ran beside both, it has steadied the samples. A library is shown with the "
    "formulation that comes closest to ours or passes it. n.d.: not distinguishable.";

/// Nothing for a folder without peers.
std::optional<PeerWords> peer_words(const Findings& findings);

}  // namespace headroom::report

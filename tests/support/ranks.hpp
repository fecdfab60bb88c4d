// What tests over ranks share.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text/fingerprint.hpp"
#include "headroom/distributed.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// As rank 0 deals them out.
inline SplitWeights own_weights(const Layer& layer) {
  return scatter_weights(MPI_COMM_WORLD, layer.shape, world_rank() == 0 ? &layer.weights : nullptr);
}

/// Whether all ranks hold the same bits.
inline bool same_on_all_ranks(const Matrix& y) {
  Fingerprint print;
  print.add({reinterpret_cast<const char*>(y.values.data()), y.values.size() * sizeof(float)});
  std::vector<std::uint64_t> all(static_cast<std::size_t>(world_size()));
  const std::uint64_t own = print.value();
  MPI_Allgather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  return std::all_of(all.begin(), all.end(), [&](std::uint64_t other) { return other == own; });
}

/// One level of each backend is enough: the levels differ in no call.
inline std::vector<LayerCase> best_level_cases() {
  std::vector<LayerCase> best;
  for (const LayerCase& each : layer_cases()) {
    if (!each.skip_reason.empty() || each.precision != Precision::f32) continue;
    const auto same = std::find_if(best.begin(), best.end(), [&](const LayerCase& other) {
      return other.backend == each.backend && other.formulation == each.formulation;
    });
    if (same == best.end()) {
      best.push_back(each);
    } else {
      *same = each;
    }
  }
  return best;
}

}  // namespace headroom::test

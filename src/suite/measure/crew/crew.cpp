#include "measure/crew/crew.hpp"

#include <fmt/format.h>

#include "headroom/error.hpp"
#include "measure/group/given_heads.hpp"
#include "program/numbers.hpp"

namespace headroom::measure {

std::unique_ptr<CellLayer> make_layer(const Problem& problem, const plan::Cell& cell, Crew* crew,
                                      std::int64_t fill_tokens) {
  if (!problem.shape.has_projections()) {
    return std::make_unique<GivenHeads>(problem, cell.options());
  }
  if (cell.ranks == 1) return std::make_unique<LocalLayer>(problem, cell.options(), fill_tokens);
  if (crew == nullptr) {
    throw InvalidArgument(
        fmt::format("{}: there is one process for {} ranks", cell.id, cell.ranks));
  }
  return crew->make_layer(problem, cell.options(), cell.ranks, fill_tokens);
}

void require_cores(const Crew& crew, const plan::Plan& plan) {
  for (const plan::Group& group : plan.groups) {
    for (const plan::Cell& cell : group.cells) {
      for (int rank = 0; rank < cell.ranks; ++rank) {
        const RankPlace& place = crew.places()[static_cast<std::size_t>(rank)];
        if (place.cores >= cell.threads || place.cores >= place.processors) continue;
        throw InvalidArgument(
            fmt::format("--threads: {} of rank {}, which was bound to {} of the {} of {}; start "
                        "with mpirun --bind-to none, or with srun --cpu-bind=none",
                        counted(cell.threads, "thread"), rank, counted(place.cores, "core"),
                        place.processors, place.machine));
      }
    }
  }
}

}  // namespace headroom::measure

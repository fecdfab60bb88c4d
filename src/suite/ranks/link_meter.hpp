// What it takes to send something from one rank to another.
#pragma once

#include <mpi.h>

#include "record/peaks.hpp"

namespace headroom::ranks {

/// Collective. From the sums that layers end with, a short one and a long one, by the model that
/// `judge::sum_seconds` predicts with: so the link is what the ranks make of it, wherever they run.
/// Takes about a second.
record::Link measure_link(MPI_Comm ranks);

}  // namespace headroom::ranks

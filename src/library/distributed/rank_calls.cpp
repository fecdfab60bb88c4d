// One call of a distributed layer: each rank's part, what all say to it, and the sum.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "attention/mask_views.hpp"
#include "attention/views.hpp"
#include "distributed/rank_plan.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;
using distributed::check_mpi;
using distributed::Place;
using distributed::Said;
using distributed::said_by;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void DistributedAttention::Plan::check(ConstMatrixView x, const MatrixView* y, const Call& call,
                                       const DistributedCache* cache) const {
  if (call.cache != nullptr || call.memory.dtype != Dtype::f32) {
    throw InvalidArgument(
        "forward: a distributed layer takes its own cache, a DistributedCache, and floats; leave "
        "Call::cache out, and give memory as floats");
  }
  if (cache != nullptr && cache->state_->layer != id) {
    throw InvalidArgument("forward: the cache belongs to another layer; make one for each layer");
  }
  if (x.rows > shape.rows()) {
    throw InvalidArgument(
        fmt::format("forward: x is {} x {}; this layer takes up to {} x {}, padding included",
                    x.rows, x.cols, shape.rows(), shape.d_in));
  }
  // All but the heads is for the rank's own layer to judge.
  const MaskMemory mask = check_mask(
      "forward", call.mask, {call.mask.batch, shape.heads, call.mask.queries, call.mask.keys});
  if (y != nullptr) check_views(x, *y, {x.rows, shape.d_in, shape.output_width()});
  if (y != nullptr) check_apart("the mask", mask.data, mask.bytes, *y);
  if (y != nullptr && call.memory.rows > 0) check_apart("memory", call.memory, *y);
}

// The call as this rank's own layer takes it.
Call DistributedAttention::Plan::own_call(const Call& call, PhaseTimes& times,
                                          DistributedCache* cache) const {
  Call own = call;
  own.times = &times;
  if (cache != nullptr) own.cache = &*cache->state_->own;
  if (call.mask.heads > 1) own.mask = mask_of_heads(call.mask, share.first_head, share.heads);
  return own;
}

// Straight into memory that the others see.
void DistributedAttention::Plan::run_own(ConstMatrixView x, const Call& call, PhaseTimes& times,
                                         DistributedCache* cache) {
  if (!own_) return;
  const Call own = own_call(call, times, cache);
  const std::int64_t width = shape.output_width();
  if (shape.d_proj > 0) {
    own_->forward(x, {partial(machine_->rank()), x.rows, width, width}, own);
    return;
  }
  float* first = partial(0) + share.first_head * shape.head_value_dim();
  own_->forward(x, {first, x.rows, share.heads * shape.head_value_dim(), width}, own);
}

void DistributedAttention::Plan::forward(ConstMatrixView x, MatrixView y, const Call& call,
                                         DistributedCache* cache) {
  ++calls_;
  PhaseTimes times;
  const Said said = said_by(all.rank(), [&] {
    check(x, &y, call, cache);
    run_own(x, call, times, cache);
  });
  const Clock::time_point computed = Clock::now();
  try {
    conclude(said, identify(Kind::forward, x, call, cache));
    put_together(y, call);
  } catch (...) {
    if (cache != nullptr) cache->state_->roll_back();
    throw;
  }
  if (cache != nullptr) cache->state_->grow(shape, x.rows, call);
  times.sum = seconds_since(computed);
  if (call.times != nullptr) *call.times = times;
}

void DistributedAttention::Plan::append(ConstMatrixView x, const Call& call,
                                        DistributedCache& cache) {
  ++calls_;
  PhaseTimes times;
  const Said said = said_by(all.rank(), [&] {
    check(x, nullptr, call, &cache);
    if (own_) own_->append(x, own_call(call, times, &cache));
  });
  try {
    conclude(said, identify(Kind::append, x, call, &cache));
  } catch (...) {
    cache.state_->roll_back();
    throw;
  }
  cache.state_->grow(shape, x.rows, call);
  if (call.times != nullptr) *call.times = times;
}

// Meets the ranks of this machine once, and once more if there are others, so that what all have
// computed may be read. Throws on all ranks what the first one that refuses has said.
void DistributedAttention::Plan::conclude(const Said& own, std::uint64_t call) {
  Place& place = meeting_->own();
  place.call[calls_ % 2] = call;
  Said& shown = place.said[calls_ % 2];
  shown.fault = own.fault;
  shown.rank = own.rank;
  if (own.refuses()) shown.text = own.text;
  meeting_->meet();
  if (machines == 1) {
    const Said verdict = verdict_of_machine();
    if (verdict.refuses()) raise(verdict);
    return;
  }
  if (machine_->rank() == 0) meeting_->own().verdict = verdict_of_all(verdict_of_machine());
  meeting_->meet();
  if (meeting_->of(0).verdict.refuses()) raise(meeting_->of(0).verdict);
}

Said DistributedAttention::Plan::verdict_of_machine() const {
  const std::size_t now = calls_ % 2;
  Said none;
  for (int rank = 0; rank < meeting_->ranks(); ++rank) {
    const Place& place = meeting_->of(rank);
    if (place.said[now].refuses()) return place.said[now];
    if (place.call[now] == meeting_->of(0).call[now]) continue;
    const int other = place.said[now].rank;
    return said_by(other, [&] {
      throw InvalidArgument(fmt::format(
          "forward: its call has other rows, lengths, positions, a mask of other sizes or a cache "
          "of other lengths than that of rank {}; all ranks have to make the same call",
          meeting_->of(0).said[now].rank));
    });
  }
  return none;
}

// Collective among the first ranks of all machines.
Said DistributedAttention::Plan::verdict_of_all(const Said& machine) {
  const Heard own{machine, meeting_->own().call[calls_ % 2]};
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, heard_.data(), sizeof own, MPI_BYTE,
                          between_->get()),
            "MPI_Allgather");
  for (const Heard& heard : heard_) {
    if (heard.said.refuses()) return heard.said;
    if (heard.call == own.call) continue;
    return said_by(all.rank(), [&] {
      throw InvalidArgument(
          "forward: the machines' calls have other rows, lengths, masks or caches; all ranks have "
          "to make the same call");
    });
  }
  return machine;
}

// What this machine's ranks have computed.
void DistributedAttention::Plan::collect() {
  sum_.clear();
  const std::int64_t width = shape.output_width();
  for (std::size_t rank = 0; rank < shares_.size(); ++rank) {
    const HeadShare& of_rank = shares_[rank];
    if (of_rank.heads == 0) continue;
    if (shape.d_proj > 0) {
      sum_.add({partial(static_cast<int>(rank)), width, 0, width});
    } else {
      const std::int64_t first = of_rank.first_head * shape.head_value_dim();
      sum_.add({partial(0) + first, width, first, of_rank.heads * shape.head_value_dim()});
    }
  }
}

template <class Work>
void DistributedAttention::Plan::for_each_row(std::int64_t rows, const Call& call,
                                              const Work& work) const {
  if (call.padded_tokens == 0 || call.lengths.empty()) {
    for (std::int64_t row = 0; row < rows; ++row) work(row);
    return;
  }
  for (std::size_t i = 0; i < call.lengths.size(); ++i) {
    const std::int64_t first = call.padded_row(static_cast<std::int64_t>(i), call.lengths[i]);
    for (std::int64_t row = first; row < first + call.lengths[i]; ++row) work(row);
  }
}

// Of a few parts or small ones every rank adds up all rows. Else each adds up some rows, which the
// others copy, so that each partial result is read once and not once by every rank. The sums are
// the same.
void DistributedAttention::Plan::put_together(MatrixView y, const Call& call) {
  constexpr std::int64_t kFewFloats = 32'768;
  collect();
  const std::int64_t width = shape.output_width();
  const auto parts = static_cast<std::int64_t>(sum_.parts());
  const bool directly = shape.d_proj == 0 || parts <= 2 || parts * y.rows * width <= kFewFloats;
  if (machines == 1 && directly) {
    for_each_row(y.rows, call, [&](std::int64_t row) { sum_.write(row, y.row(row)); });
    return;
  }
  const auto first_of = [&](int rank) { return y.rows * rank / machine_->size(); };
  // Between machines the first rank sends all rows, so it has them together.
  const auto holder = [&](int rank) { return result(machines > 1 ? 0 : rank); };
  const int rank = machine_->rank();
  for (std::int64_t row = first_of(rank); row < first_of(rank + 1); ++row) {
    sum_.write(row, holder(rank) + row * width);
  }
  meeting_->meet();
  if (machines > 1) {
    if (rank == 0) machine_sum_->add_up(result(0), y.rows * width);
    meeting_->meet();
  }
  int owner = 0;
  for_each_row(y.rows, call, [&](std::int64_t row) {
    while (row >= first_of(owner + 1)) ++owner;
    std::copy_n(holder(owner) + row * width, width, y.row(row));
  });
}

}  // namespace headroom

#include "distributed/rank_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "core/element/numbers_of.hpp"
#include "core/text/fingerprint.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

using distributed::agree;
using distributed::check_mpi;
using distributed::Place;
using distributed::said_by;
using distributed::same_everywhere;

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::string_view bytes_of(const std::int64_t& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::uint64_t fingerprint_of(const Case& shape, const AttentionOptions& options) {
  Fingerprint text;
  text.add(shape.id());
  text.add(fmt::format(" {} {} {} {}{}", shape.dropout_seed, shape.memory_tokens, shape.batch,
                       to_string(numbers_of(options)), options.precision ? "" : " or as exact"));
  return text.value();
}

}  // namespace

// What is last takes the communicator, so that it is lost with nothing.
DistributedAttention::Plan::Plan(distributed::Communicator& communicator, const Case& whole,
                                 const AttentionOptions& wanted)
    : shape(whole),
      id(next_id()),
      options(wanted),
      all(std::move(communicator)),
      sum_(0),
      room_(0) {}

template <class Part>
void DistributedAttention::Plan::together(const Part& part) const {
  agree(all.get(), said_by(all.rank(), part));
}

void DistributedAttention::Plan::make(const SplitWeights& own,
                                      const DistributedOptions& distributed) {
  std::uint64_t print = 0;
  together([&] {
    if (numbers_of(options).cache == Storage::q8) {
      throw Unsupported(
          "cache_dtype: a layer over ranks takes a refused call back, and a cache of q8 cannot be "
          "cut to any length; leave cache_dtype out");
    }
    shape.validate();
    print = fingerprint_of(shape, options);
  });
  if (!same_everywhere(all.get(), print)) {
    throw InvalidArgument(
        "distributed: the ranks ask for different layers; shape, precision and dtype have to be "
        "the same on all of them");
  }
  together([&] { make_own(own); });
  make_machine(distributed);
  make_shared(distributed);
  make_sum_of_machines();
  add_up_costs();
}

DistributedAttention::Plan::~Plan() {
  if (!meeting_ || !meeting_->lost()) return;
  parts_->abandon();
  all.abandon();
  machine_->abandon();
  if (between_) between_->abandon();
}

void DistributedAttention::Plan::make_own(const SplitWeights& own) {
  share = share_of(shape, all.size(), all.rank());
  if (share.heads == 0) return;
  AttentionOptions wanted = options;
  wanted.heads_of = {share.first_head, shape.heads};
  own_.emplace(share_config(shape, share), shape, own, wanted);
  options = own_->options();
  choice = own_->choice();
  costs = own_->costs();
}

void DistributedAttention::Plan::make_machine(const DistributedOptions& distributed) {
  together([&] { machine_ = all.on_this_machine(); });
  if (const int most = distributed.ranks_per_machine; most > 0) {
    together([&] { machine_ = machine_->of_colour(machine_->rank() / most); });
  }
  together([&] { between_ = all.of_colour(machine_->rank() == 0 ? 0 : 1); });
  // Each machine has a rank that is the first one there.
  machines = machine_->rank() == 0 ? between_->size() : 0;
  together([&] {
    check_mpi(MPI_Bcast(&machines, 1, MPI_INT, 0, machine_->get()), "MPI_Bcast");
    heard_.resize(static_cast<std::size_t>(machines));
  });
}

// Each rank's part: its place, two partial results, because a rank may be one call ahead, and its
// share of the sum.
void DistributedAttention::Plan::make_shared(const DistributedOptions& distributed) {
  room_ = shape.rows() * shape.output_width();
  constexpr std::int64_t kLine = distributed::SharedParts::kAlignment / sizeof(float);
  room_ = (room_ + kLine - 1) / kLine * kLine;
  const std::int64_t bytes =
      (place_floats() + 3 * room_) * static_cast<std::int64_t>(sizeof(float));
  std::vector<int> numbers;
  together([&] {
    parts_ = std::make_unique<distributed::SharedParts>(*machine_, bytes);
    numbers.resize(static_cast<std::size_t>(machine_->size()));
  });
  together([&] { parts_->allocate(); });
  int cores = 0;
  together([&] { cores = distributed::shared_cores(*machine_); });
  together([&] {
    const int rank = all.rank();
    check_mpi(MPI_Allgather(&rank, 1, MPI_INT, numbers.data(), 1, MPI_INT, machine_->get()),
              "MPI_Allgather");
    std::vector<Place*> places;
    for (int i = 0; i < machine_->size(); ++i) {
      places.push_back(reinterpret_cast<Place*>(parts_->part(i)));
      shares_.push_back(share_of(shape, all.size(), numbers[static_cast<std::size_t>(i)]));
    }
    meeting_ = std::make_unique<distributed::Meeting>(machine_->rank(), cores, std::move(places),
                                                      std::move(numbers), distributed.patience);
  });
  costs.workspace_bytes += bytes;
}

void DistributedAttention::Plan::make_sum_of_machines() {
  together([&] {
    if (machines > 1 && machine_->rank() == 0) {
      machine_sum_ = std::make_unique<distributed::MachineSum>(*between_, room_);
    }
    sum_ = distributed::RowSum(shape.output_width());
    sum_.reserve(shares_.size());
  });
  costs.workspace_bytes += (machine_sum_ ? room_ : 0) * 4;
}

void DistributedAttention::Plan::add_up_costs() {
  std::array<std::int64_t, 2> bytes{costs.packed_bytes, costs.workspace_bytes};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, bytes.data(), 2, MPI_INT64_T, MPI_SUM, all.get()),
            "MPI_Allreduce");
  costs.packed_bytes = bytes[0];
  costs.workspace_bytes = bytes[1];
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &costs.setup_seconds, 1, MPI_DOUBLE, MPI_MAX, all.get()),
            "MPI_Allreduce");
}

std::int64_t DistributedAttention::Plan::place_floats() const {
  static_assert(sizeof(Place) % distributed::SharedParts::kAlignment == 0);
  return sizeof(Place) / sizeof(float);
}

// Of the call that is at work.
float* DistributedAttention::Plan::partial(int machine_rank) const {
  auto* floats = reinterpret_cast<float*>(parts_->part(machine_rank));
  return floats + place_floats() + static_cast<std::int64_t>(calls_ % 2) * room_;
}

float* DistributedAttention::Plan::result(int machine_rank) const {
  auto* floats = reinterpret_cast<float*>(parts_->part(machine_rank));
  return floats + place_floats() + 2 * room_;
}

std::uint64_t DistributedAttention::Plan::identify(Kind kind, ConstMatrixView x, const Call& call,
                                                   const DistributedCache* cache) const {
  Fingerprint print;
  print.add(bytes_of(static_cast<std::int64_t>(kind)));
  const std::int64_t before = call.padded_before ? 1 : 0;
  const MaskView& mask = call.mask;
  for (const std::int64_t number :
       {x.rows, call.padded_tokens, before, call.memory.rows, call.context,
        std::int64_t{mask.any()}, mask.batch, mask.heads, mask.queries, mask.keys}) {
    print.add(bytes_of(number));
  }
  // With its count, so that no list can pass for another.
  const auto add = [&](std::span<const std::int64_t> lengths) {
    print.add(bytes_of(static_cast<std::int64_t>(lengths.size())));
    for (const std::int64_t length : lengths) print.add(bytes_of(length));
  };
  add(call.lengths);
  add(call.memory_lengths);
  add(call.places_before);
  add(call.positions);
  if (cache != nullptr) add(cache->state_->lengths);
  return print.value();
}

std::unique_ptr<DistributedCache::State> DistributedAttention::Plan::make_cache(
    const CacheSize& size) {
  std::unique_ptr<DistributedCache::State> state;
  together([&] {
    state = std::make_unique<DistributedCache::State>();
    state->layer = id;
    state->capacity = size.capacity;
    if (own_) state->own.emplace(*own_, size);
    state->lengths.resize(static_cast<std::size_t>(size.sequences));
  });
  return state;
}

}  // namespace headroom

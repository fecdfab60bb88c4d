// What a distributed layer is made of. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/case.hpp"
#include "distributed/agreement.hpp"
#include "distributed/communicator.hpp"
#include "distributed/machine_sum.hpp"
#include "distributed/meeting.hpp"
#include "distributed/row_sum.hpp"
#include "distributed/shared_parts.hpp"
#include "headroom/distributed.hpp"

namespace headroom {

struct [[gnu::visibility("hidden")]] DistributedCache::State {
  std::uint64_t layer = 0;  ///< `Plan::id` of the layer that it belongs to
  std::int64_t capacity = 0;
  std::vector<std::int64_t> lengths;  ///< also of a rank without heads
  std::optional<KeyValueCache> own;

  /// @throws InvalidArgument if there is no such sequence.
  std::int64_t& length(std::int64_t sequence);
  /// Counts what a call has appended that succeeded everywhere.
  void grow(const Case& shape, std::int64_t rows, const Call& call);
  /// Forgets what a call has appended that did not succeed everywhere.
  void roll_back();
};

class [[gnu::visibility("hidden")]] DistributedAttention::Plan {
 public:
  /// Of this rank alone. @param communicator is taken over, unless this throws
  Plan(distributed::Communicator & communicator, const Case& whole, const AttentionOptions& wanted);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// Collective, once.
  void make(const SplitWeights& own, const DistributedOptions& distributed);

  void forward(ConstMatrixView x, MatrixView y, const Call& call, DistributedCache* cache);
  void append(ConstMatrixView x, const Call& call, DistributedCache& cache);
  void meet() { meeting_->meet(); }
  std::unique_ptr<DistributedCache::State> make_cache(const CacheSize& size);

  const Case shape;
  std::uint64_t id;
  HeadShare share;
  AttentionOptions options;
  distributed::Communicator all;
  Choice choice;
  AttentionCosts costs;
  int machines = 1;

 private:
  using Said = distributed::Said;
  enum class Kind : std::int64_t { forward, append };
  // What the first rank of a machine tells those of the others.
  struct Heard {
    Said said;
    std::uint64_t call = 0;
  };

  void make_own(const SplitWeights& own);
  // Collective: what one rank's part throws, all throw. A part has one call that waits for others,
  // and has it first, so that no rank waits for one that has thrown.
  template <class Part>
  void together(const Part& part) const;
  void make_machine(const DistributedOptions& distributed);
  void make_shared(const DistributedOptions& distributed);
  void make_sum_of_machines();
  void add_up_costs();
  std::int64_t place_floats() const;
  float* partial(int machine_rank) const;
  float* result(int machine_rank) const;
  void check(ConstMatrixView x, const MatrixView* y, const Call& call,
             const DistributedCache* cache) const;
  Call own_call(const Call& call, PhaseTimes& times, DistributedCache* cache) const;
  void run_own(ConstMatrixView x, const Call& call, PhaseTimes& times, DistributedCache* cache);
  std::uint64_t identify(Kind kind, ConstMatrixView x, const Call& call,
                         const DistributedCache* cache) const;
  void conclude(const Said& own, std::uint64_t call);
  Said verdict_of_machine() const;
  Said verdict_of_all(const Said& machine);
  void collect();
  void put_together(MatrixView y, const Call& call);
  template <class Work>
  void for_each_row(std::int64_t rows, const Call& call, const Work& work) const;

  std::optional<Attention> own_;
  std::optional<distributed::Communicator> machine_, between_;
  std::unique_ptr<distributed::SharedParts> parts_;
  std::unique_ptr<distributed::Meeting> meeting_;
  std::unique_ptr<distributed::MachineSum> machine_sum_;
  std::vector<Heard> heard_;  ///< room for one of each machine
  distributed::RowSum sum_;
  std::vector<HeadShare> shares_;  ///< of this machine's ranks
  std::int64_t room_;              ///< floats of y
  std::uint64_t calls_ = 0;
};

}  // namespace headroom

#include "ranks/leader.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "distributed/communicator.hpp"
#include "headroom/error.hpp"
#include "ranks/link_meter.hpp"
#include "ranks/rank_layer.hpp"

namespace headroom::ranks {
namespace {

using distributed::check_mpi;

void tell(int ranks, const Order& order) {
  const std::string text = to_text(order);
  for (int rank = 1; rank < ranks; ++rank) {
    check_mpi(MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, rank, kOrderTag,
                       MPI_COMM_WORLD),
              "MPI_Send");
  }
}

// A backend by name for all ranks; chosen for the largest share, so that no rank gets another.
Choice choose(const Case& shape, int ranks, AttentionOptions& options) {
  Choice choice = choose_backend(share_config(shape, share_of(shape, ranks, 0)), shape, options);
  options.backend = choice.backend;
  options.formulation = choice.formulation;
  if (!options.precision) options.precision = choice.precision;
  return choice;
}

class LeadingLayer final : public measure::CellLayer {
 public:
  LeadingLayer(Session& session, StopWords& stops, Order make, const measure::Problem& problem)
      : session_(session),
        stops_(stops),
        make_(std::move(make)),
        choice_(choose(make_.shape, make_.ranks, make_.options)) {
    tell(make_.ranks, make_);
    guarded([&] { layer_.emplace(session_.first(make_.ranks), make_, &problem); });
    options_ = layer_->attention().options();
    const Choice& made = layer_->attention().choice();
    choice_.precision = made.precision;
    if (!made.precision_reason.empty()) choice_.precision_reason = made.precision_reason;
    choice_.kernels = made.kernels;
    choice_.kernels_reason = made.kernels_reason;
    choice_.few_rows = made.few_rows;
  }

  // Freeing it is collective: the others have to know before.
  ~LeadingLayer() override {
    if (!layer_ || lost_) return;
    try {
      tell(make_.ranks, order(Order::Kind::drop));
    } catch (const std::exception&) {
      session_.lose();
    }
  }
  LeadingLayer(const LeadingLayer&) = delete;
  LeadingLayer& operator=(const LeadingLayer&) = delete;

  void announce(std::int64_t passes) override { announce(passes, false); }

  const AttentionOptions& options() const override { return options_; }
  const AttentionCosts& costs() const override { return layer_->attention().costs(); }
  const Choice& choice() const override { return choice_; }
  std::int64_t cache_bytes() const override { return layer_->cache_bytes(); }
  double fill_seconds() const override { return layer_->fill_seconds(); }

 private:
  Order order(Order::Kind kind) const {
    Order order;
    order.kind = kind;
    order.layer = make_.layer;
    return order;
  }

  // Everybody is awake and about to begin when it returns.
  void announce(std::int64_t passes, bool compare) {
    stops_.hear();
    Order pass = order(Order::Kind::pass);
    pass.passes = passes;
    pass.compare = compare;
    tell(make_.ranks, pass);
    guarded([&] { layer_->meet(); });
    announced_ = passes;
  }

  // Nobody begins before the leader, whose time counts.
  void call(ConstMatrixView x, MatrixView y, PhaseTimes* times) override {
    const bool compare = announced_ == 0;
    if (compare) announce(1, true);
    guarded([&] {
      layer_->meet();
      layer_->pass(x, y, times);
    });
    --announced_;
    if (!compare) return;
    if (const std::optional<int> other = layer_->other_bits(y)) {
      throw std::runtime_error(fmt::format("rank {} has other bits than rank 0", *other));
    }
  }

  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (const RankLost& error) {
      lost_ = true;
      session_.lose();
      throw ResourceError(error.what());
    } catch (...) {
      announced_ = 0;
      throw;
    }
  }

  Session& session_;
  StopWords& stops_;
  Order make_;
  Choice choice_;
  AttentionOptions options_;
  std::optional<RankLayer> layer_;
  std::int64_t announced_ = 0;
  bool lost_ = false;
};

}  // namespace

Leader::~Leader() {
  try {
    if (session_.lost()) return;
    tell(session_.size(), Order{});
    stops_.hear_all(session_.size() - 1);
  } catch (const std::exception&) {
    session_.lose();
  }
}

std::unique_ptr<measure::CellLayer> Leader::make_layer(const measure::Problem& problem,
                                                       const AttentionOptions& options, int ranks,
                                                       std::int64_t fill_tokens) {
  stops_.hear();
  Order make;
  make.kind = Order::Kind::make;
  make.layer = ++layers_;
  make.shape = problem.shape;
  make.options = options;
  make.ranks = ranks;
  make.fill_tokens = fill_tokens;
  make.patience = patience_;
  return std::make_unique<LeadingLayer>(session_, stops_, std::move(make), problem);
}

record::Link Leader::measure_link() {
  stops_.hear();
  Order order;
  order.kind = Order::Kind::measure_link;
  tell(session_.size(), order);
  return ranks::measure_link(session_.first(session_.size()));
}

}  // namespace headroom::ranks

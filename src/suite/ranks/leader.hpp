// The crew as the first rank leads it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "measure/crew/crew.hpp"
#include "ranks/order.hpp"
#include "ranks/session.hpp"
#include "ranks/stop_word.hpp"

namespace headroom::ranks {

/// Tells the others what to do, and is told when one of them has to stop. A rank that was lost is a
/// ResourceError, which ends every command.
class Leader final : public measure::Crew {
 public:
  explicit Leader(Session& session) : session_(session) {}
  /// Lets the others go.
  ~Leader() override;
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  const std::vector<measure::RankPlace>& places() const override { return session_.places(); }
  void set_patience(double seconds) override { patience_ = seconds; }
  std::unique_ptr<measure::CellLayer> make_layer(const measure::Problem& problem,
                                                 const AttentionOptions& options, int ranks,
                                                 std::int64_t fill_tokens) override;
  record::Link measure_link() override;

 private:
  Session& session_;
  StopWords stops_;
  std::int64_t layers_ = 0;
  double patience_ = 0;
};

}  // namespace headroom::ranks

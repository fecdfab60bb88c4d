#include "blas_rival.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "blas_layer.hpp"
#include "rival.hpp"

namespace headroom::peers {
namespace {

using nlohmann::ordered_json;

ordered_json about(const Blas& blas) {
  ordered_json settings = blas.settings();
  settings["kernels"] = blas.kernels();
  settings["threads_of_library"] = blas.threads_of_library();
  settings["softmax"] = "loops, " HEADROOM_SOFTMAX_FLAGS;
  return {{"version", blas.version()}, {"settings", settings}};
}

// One without threads of its own may give wrong results when threads of ours call it at once.
void limit_threads(const Blas& blas, int threads) {
  blas.set_threads(threads);
  if (const int taken = blas.threads(); taken != threads) {
    throw std::runtime_error(fmt::format("this {} takes {}, not {}; its threads: {}",
                                         blas.version(), taken, threads,
                                         blas.threads_of_library()));
  }
}

// How many rows of scores at a time: what fits the L2, and more for fewer calls.
std::vector<std::int64_t> score_rows(std::int64_t tokens) {
  std::vector<std::int64_t> all;
  for (const std::int64_t rows : {64, 256}) {
    if (rows < tokens) all.push_back(rows);
  }
  if (all.size() < 2) all.push_back(tokens);
  return all;
}

/// The weights of one formulation, made when a variant first asks for them and kept for the others.
class Store {
 public:
  Store(const Blas& blas, const Case& shape, Formulation formulation,
        std::shared_ptr<const SplitWeights> weights)
      : blas_(blas), shape_(shape), formulation_(formulation), weights_(std::move(weights)) {}

  std::shared_ptr<const PreparedWeights> prepared(const Composition& how) {
    if (!plain_) {
      plain_ =
          std::make_shared<const PreparedWeights>(prepare_weights(shape_, formulation_, *weights_));
    }
    if (!how.packed) return plain_;
    std::shared_ptr<const PreparedWeights>& packed = packed_[how.team() > 1 ? 1 : 0];
    if (!packed) {
      blas_.set_threads(how.blas_threads());
      packed = std::make_shared<const PreparedWeights>(
          pack_weights(blas_, *plain_, formulation_, shape_.rows(), how.team()));
    }
    return packed;
  }

 private:
  const Blas& blas_;
  Case shape_;
  Formulation formulation_;
  std::shared_ptr<const SplitWeights> weights_;
  std::shared_ptr<const PreparedWeights> plain_;
  std::array<std::shared_ptr<const PreparedWeights>, 2> packed_;  ///< for the BLAS, and for a team
};

Layer ready(const Blas& blas, const Case& shape, const Composition& how, Store& store) {
  const auto layer = std::make_shared<BlasLayer>(blas, shape, shape, how, store.prepared(how));
  return {[layer](ConstMatrixView x, MatrixView y) { layer->pass(x, y); },
          {{"note", name_of(how)}, {"isa", blas.kernels()}}};
}

std::vector<Composition> compositions(const Blas& blas, Formulation formulation,
                                      const Problem& problem) {
  std::vector<Sharing> sharings{Sharing::products};
  if (problem.threads > 1) sharings = {Sharing::products, Sharing::heads, Sharing::all};
  std::vector<Composition> all;
  for (const Sharing sharing : sharings) {
    for (const std::int64_t rows : score_rows(problem.shape.tokens)) {
      all.push_back({formulation, sharing, rows, problem.threads, false});
      if (blas.packs()) all.push_back({formulation, sharing, rows, problem.threads, true});
    }
  }
  return all;
}

std::vector<Variant> variants(const Blas& blas, const Problem& problem) {
  limit_threads(blas, problem.threads);
  const auto weights = std::make_shared<const SplitWeights>(problem.weights());
  std::vector<Variant> all;
  for (const Formulation formulation :
       {Formulation::fused, Formulation::split, Formulation::wrapper}) {
    const auto store = std::make_shared<Store>(blas, problem.shape, formulation, weights);
    for (const Composition& how : compositions(blas, formulation, problem)) {
      all.push_back({name_of(how), formulation, [&blas, shape = problem.shape, how, store] {
                       return ready(blas, shape, how, *store);
                     }});
    }
  }
  return all;
}

}  // namespace

void serve_blas(const Blas& blas) {
  serve_rival({[&] { return about(blas); },
               [&](const Problem& problem) { return variants(blas, problem); }});
}

}  // namespace headroom::peers

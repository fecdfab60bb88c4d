// OpenBLAS as a peer: the layer composed of its products in C++.
#include <cblas.h>
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "openblas_layer.hpp"
#include "rival.hpp"

namespace {

using namespace headroom;
using namespace headroom::peers;

const char* threads_of_library() {
  switch (openblas_get_parallel()) {
    case OPENBLAS_OPENMP:
      return "OpenMP";
    case OPENBLAS_THREAD:
      return "its own";
    default:
      return "none";
  }
}

nlohmann::ordered_json about() {
  const std::string config = openblas_get_config();
  return {{"version", config.substr(0, config.find(' ', config.find(' ') + 1))},
          {"settings",
           {{"config", config},
            {"kernels", openblas_get_corename()},
            {"threads_of_library", threads_of_library()},
            {"softmax", "loops, " HEADROOM_SOFTMAX_FLAGS}}}};
}

Layer ready(const Shape& shape, const Composition& how,
            const std::shared_ptr<const PreparedWeights>& weights) {
  const auto layer = std::make_shared<OpenBlasLayer>(shape, how, weights);
  return {[layer](ConstMatrixView x, MatrixView y) { layer->pass(x, y); },
          {{"note", name_of(how)}, {"isa", openblas_get_corename()}}};
}

// The flavour without threads gives wrong results when threads of ours call it at once.
void limit_threads(int threads) {
  openblas_set_num_threads(threads);
  if (const int taken = openblas_get_num_threads(); taken != threads) {
    throw std::runtime_error(fmt::format("this OpenBLAS takes {}, not {}; its threads: {}", taken,
                                         threads, threads_of_library()));
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

std::vector<Variant> variants(const Problem& problem) {
  limit_threads(problem.threads);
  const auto weights = std::make_shared<const SplitWeights>(problem.weights());
  std::vector<Sharing> sharings{Sharing::products};
  if (problem.threads > 1) sharings = {Sharing::products, Sharing::heads, Sharing::all};
  std::vector<Variant> all;
  for (const Formulation formulation :
       {Formulation::fused, Formulation::split, Formulation::wrapper}) {
    const auto prepared = std::make_shared<std::shared_ptr<const PreparedWeights>>();
    for (const Sharing sharing : sharings) {
      for (const std::int64_t rows : score_rows(problem.shape.tokens)) {
        const Composition how{formulation, sharing, rows, problem.threads};
        all.push_back({name_of(how), formulation, [=] {
                         if (!*prepared) {
                           *prepared = std::make_shared<const PreparedWeights>(
                               prepare_weights(problem.shape, formulation, *weights));
                         }
                         return ready(problem.shape, how, *prepared);
                       }});
      }
    }
  }
  return all;
}

}  // namespace

int main() { serve_rival({about, variants}); }

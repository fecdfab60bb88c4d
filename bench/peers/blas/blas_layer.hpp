// The layer composed of calls of a BLAS, with the softmax between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "blas.hpp"
#include "blas_weights.hpp"
#include "headroom/call_sizes.hpp"
#include "headroom/formulation.hpp"
#include "headroom/layer_config.hpp"
#include "headroom/view.hpp"

namespace headroom::peers {

/// Who shares out the work among the threads.
enum class Sharing {
  products,  ///< the BLAS within every product; heads and softmax one after the other
  heads,     ///< the BLAS within the projections; the heads go to threads of ours
  all,       ///< threads of ours, for the projections as well; the BLAS runs on the calling thread
};

struct Composition {
  Formulation formulation = Formulation::fused;
  Sharing sharing = Sharing::products;
  std::int64_t score_rows = 64;  ///< rows of scores that are computed at a time
  int threads = 1;
  bool packed = false;  ///< the weights, once; keys and values are new in each call

  int blas_threads() const { return sharing == Sharing::all ? 1 : threads; }
  int team() const { return sharing == Sharing::all ? threads : 1; }
};

/// Such as `fused-heads-64` and `fused-heads-64-packed`.
std::string name_of(const Composition& how);

/// Its own buffers; the weights may be shared by several.
class BlasLayer {
 public:
  BlasLayer(const Blas& blas, const LayerConfig& config, const CallSizes& call,
            const Composition& how, std::shared_ptr<const PreparedWeights> weights);

  void pass(ConstMatrixView x, MatrixView y);

 private:
  struct Heads {
    const float* query;
    const float* key;
    const float* value;
    std::int64_t stride;
  };

  void project_inward(ConstMatrixView x);
  void project(ConstMatrixView x, const Weight& weight, MatrixView y, float beta) const;
  void project_heads(ConstMatrixView x);
  void attend();
  void attend_head(const Heads& heads, float* scores, float* context) const;
  Heads heads() const;
  std::int64_t all_rows() const { return call_.batch * call_.tokens; }

  const Blas& blas_;
  LayerConfig config_;
  CallSizes call_;
  Composition how_;
  std::shared_ptr<const PreparedWeights> weights_;
  std::vector<float> projected_;  ///< query, key and value
  std::vector<float> context_;
  std::vector<float> scores_;  ///< for each thread of ours
};

}  // namespace headroom::peers

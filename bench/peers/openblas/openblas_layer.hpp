// The layer composed of calls of OpenBLAS, with the softmax between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headroom/formulation.hpp"
#include "headroom/shape.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom::peers {

/// Who shares out the work among the threads.
enum class Sharing {
  products,  ///< OpenBLAS within every product; heads and softmax one after the other
  heads,     ///< OpenBLAS within the projections; the heads go to threads of ours
  all,       ///< threads of ours, for the projections as well; OpenBLAS runs on the calling thread
};

struct Composition {
  Formulation formulation = Formulation::fused;
  Sharing sharing = Sharing::products;
  std::int64_t score_rows = 64;  ///< rows of scores that are computed at a time
  int threads = 1;
};

/// Such as `fused-heads-64`.
std::string name_of(const Composition& how);

/// The matrices of one formulation as OpenBLAS gets them: it packs none ahead.
struct PreparedWeights {
  std::vector<Matrix> inward;  ///< fused: one; split: three; wrapper: three for each head
  Matrix output;
  std::vector<float> output_bias;
};

PreparedWeights prepare_weights(const Shape& shape, Formulation formulation,
                                const SplitWeights& weights);

/// Its own buffers; the weights may be shared by several.
class OpenBlasLayer {
 public:
  OpenBlasLayer(const Shape& shape, const Composition& how,
                std::shared_ptr<const PreparedWeights> weights);

  void pass(ConstMatrixView x, MatrixView y);

 private:
  struct Heads {
    const float* query;
    const float* key;
    const float* value;
    std::int64_t stride;
  };

  void project_inward(ConstMatrixView x);
  void project(ConstMatrixView x, const Matrix& weight, float* to, std::int64_t stride,
               float beta) const;
  void attend();
  void attend_head(const Heads& heads, float* scores, float* context) const;
  Heads heads() const;

  Shape shape_;
  Composition how_;
  std::shared_ptr<const PreparedWeights> weights_;
  std::vector<float> projected_;  ///< query, key and value
  std::vector<float> context_;
  std::vector<float> scores_;  ///< for each thread of ours
};

}  // namespace headroom::peers

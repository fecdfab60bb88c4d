// The matrices of a layer as a BLAS gets them: as they are, or packed once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "blas.hpp"
#include "headroom/formulation.hpp"
#include "headroom/layer_config.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom::peers {

/// What one thread computes of a product: some rows of x with some columns of the weight.
struct Part {
  std::int64_t first_row = 0, rows = 0, first_col = 0, cols = 0;

  bool empty() const { return rows == 0 || cols == 0; }
};

/// The part of thread `own` of `team`: the longer side is cut, by whole cache lines of the output.
Part part_of(std::int64_t rows, std::int64_t cols, std::int64_t team, std::int64_t own);

/// A weight that x, of a number of rows known ahead, is multiplied by.
struct Weight {
  std::int64_t depth = 0, cols = 0;
  std::vector<float> plain;                    ///< empty if it is packed
  std::vector<std::shared_ptr<float>> packed;  ///< for each thread's part, or one as a whole
};

struct PreparedWeights {
  std::vector<Weight> inward;  ///< fused: one; split: three; wrapper: three for each head
  Weight output;
  std::vector<float> output_bias;
};

PreparedWeights prepare_weights(const LayerConfig& config, Formulation formulation,
                                const SplitWeights& weights);

/// The same packed, each cut for a team, except the wrapper's small ones, which threads take whole.
/// To be called with as many threads of the BLAS as will multiply.
/// @throws std::runtime_error if that takes out of all proportion more memory.
PreparedWeights pack_weights(const Blas& blas, const PreparedWeights& plain,
                             Formulation formulation, std::int64_t rows, int team);

/// A part of y = x W + beta y, which is part `own` of those that it was packed for.
void multiply_part(const Blas& blas, ConstMatrixView x, const Weight& weight, const Part& part,
                   std::int64_t own, MatrixView y, float beta);

}  // namespace headroom::peers

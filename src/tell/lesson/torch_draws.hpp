// Draws of PyTorch on a CPU that `headroom/initialise.hpp` does not have: one stream for several
// kinds of draws, as notebooks take them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "headroom/weights.hpp"

namespace headroom::lesson {

/// What follows `torch.manual_seed(seed)`.
class TorchDraws {
 public:
  explicit TorchDraws(std::uint32_t seed) : engine_(seed) {}

  /// `torch.randn(rows, cols)`.
  /// @pre at least 16 values: PyTorch draws fewer in another way
  Matrix normal(std::int64_t rows, std::int64_t cols);

  /// What `nn.Dropout(probability)` multiplies `count` values with, in a PyTorch that draws without
  /// Intel's MKL: 0 where dropped, `1 / (1 - probability)` where kept.
  std::vector<float> dropout_factors(std::int64_t count, double probability);

 private:
  float uniform();
  void box_muller(float* sixteen);

  std::mt19937 engine_;
};

}  // namespace headroom::lesson

// `Y = X W (+ b)` as one oneDNN matmul over weights in the layout that the library chooses.
#pragma once

#include <memory>
#include <string>

#include "backends/backend.hpp"
#include "backends/onednn/runtime.hpp"

namespace headroom::onednn {

class OnednnProduct {
 public:
  OnednnProduct(int threads, std::shared_ptr<SharedScratch> scratch, std::int64_t rows,
                const ProductSpec& spec);
  void run(ConstMatrixView x, const BlockedView& y);
  OperationCosts costs() const;

 private:
  void pack_weights(const ProductSpec& spec, const dnnl::memory::desc& packed);
  void multiply(const float* x, float* y);

  int threads_;
  std::shared_ptr<SharedScratch> scratch_;
  Device device_;
  std::int64_t rows_;
  std::int64_t depth_;
  std::int64_t cols_;
  AlignedBuffer packed_;
  AlignedBuffer bias_;
  std::int64_t workspace_bytes_ = 0;
  std::string provenance_;
  dnnl::matmul matmul_;
  dnnl::memory x_, weights_, bias_memory_, y_, scratchpad_;
};

}  // namespace headroom::onednn

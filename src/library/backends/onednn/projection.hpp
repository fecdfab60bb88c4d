// `Y = X W (+ b)` as oneDNN matmuls over weights in the layout that the library chooses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/one_by_one.hpp"
#include "backends/onednn/runtime.hpp"

namespace headroom::onednn {

class OnednnProduct {
 public:
  OnednnProduct(int threads, Operand operand, std::shared_ptr<SharedScratch> scratch,
                std::int64_t rows, const ProductSpec& spec);
  /// @param x dense rows of operands
  void run(const void* x, std::int64_t rows, const AnyBlockedView& y);
  OperationCosts costs() const;
  double flops(std::int64_t rows) const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(depth_) *
           static_cast<double>(cols_);
  }

 private:
  /// The product for one number of rows, made ready.
  struct Ready {
    std::int64_t rows = 0;
    int threads = 1;
    std::string provenance;
    dnnl::matmul matmul;
    dnnl::memory x, y, scratchpad;
    std::uint64_t last_run = 0;
  };
  static constexpr std::size_t kMostSizes = 32;

  dnnl::matmul::primitive_desc describe(std::int64_t rows, const dnnl::memory::desc& weights) const;
  Ready make_ready(std::int64_t rows, const dnnl::matmul::primitive_desc& plan);
  Ready& ready_for(std::int64_t rows);
  void pack_weights(const ProductSpec& spec, const dnnl::memory::desc& packed);
  void multiply(Ready& ready, const void* x, float* y);

  int threads_;  ///< allowed
  Operand operand_;
  std::shared_ptr<SharedScratch> scratch_;
  Device device_;
  std::int64_t most_rows_;
  std::int64_t depth_;
  std::int64_t cols_;
  AlignedBuffer packed_;
  AlignedBuffer bias_;
  std::int64_t workspace_bytes_ = 0;
  dnnl::memory weights_, bias_memory_;
  std::uint64_t runs_ = 0;
  std::vector<Ready> sizes_;  ///< the first for the most rows
};

/// Products of one x, which is made dense, and rounded to operands, once for all of them.
class OnednnProjection final : public Projection {
 public:
  OnednnProjection(int threads, Operand operand, std::shared_ptr<SharedScratch> scratch,
                   const ProjectionSpec& spec);
  using Projection::run;
  void run(const ConstAnyMatrix& x, std::span<const AnyBlockedView> y) override;
  OperationCosts costs() const override;

 private:
  const void* take(const ConstAnyMatrix& x);

  int threads_;
  Operand operand_;
  std::shared_ptr<SharedScratch> scratch_;
  std::vector<OnednnProduct> products_;
  std::vector<Destination> to_;  ///< of each
};

}  // namespace headroom::onednn

#include "backends/simd_backend.hpp"

#include <string>
#include <utility>

#include "simd/attend.hpp"
#include "simd/kernel_table.hpp"
#include "simd/packed_matrix.hpp"
#include "simd/project.hpp"

namespace headroom::simd {
namespace {

std::string provenance(const KernelTable& kernels) {
  return "simd:" + std::string(to_string(kernels.isa));
}

class SimdProjection final : public Projection {
 public:
  SimdProjection(const KernelTable& kernels, const Executor& executor, const ProjectionSpec& spec)
      : executor_(&executor),
        product_(kernels, PackedMatrix(spec.weights, spec.biases, kernels.lanes, executor),
                 spec.rows, executor.slots()),
        costs_{product_.packed_bytes(), product_.workspace_bytes(), provenance(kernels)} {}

  void run(ConstMatrixView x, const BlockedView& y) override { product_.run(*executor_, x, y); }
  OperationCosts costs() const override { return costs_; }

 private:
  const Executor* executor_;
  BlockedProduct product_;
  OperationCosts costs_;
};

class SimdAttention final : public HeadAttention {
 public:
  SimdAttention(const KernelTable& kernels, const Executor& executor, const Shape& shape)
      : executor_(&executor),
        attention_(kernels, shape, executor.slots()),
        costs_{0, attention_.workspace_bytes(), provenance(kernels)} {}

  void run(const ConstBlockedView& q, const ConstBlockedView& k, const ConstBlockedView& v,
           const BlockedView& out) override {
    attention_.run(*executor_, q, k, v, out);
  }
  OperationCosts costs() const override { return costs_; }

 private:
  const Executor* executor_;
  StreamingAttention attention_;
  OperationCosts costs_;
};

class SimdBackend final : public Backend {
 public:
  SimdBackend(const KernelTable& kernels, std::unique_ptr<Executor> executor)
      : kernels_(&kernels), executor_(std::move(executor)) {}

  HeadLayout head_layout() const override { return HeadLayout::head_major; }
  std::unique_ptr<Projection> make_projection(const ProjectionSpec& spec) override {
    return std::make_unique<SimdProjection>(*kernels_, *executor_, spec);
  }
  std::unique_ptr<HeadAttention> make_attention(const Shape& shape) override {
    return std::make_unique<SimdAttention>(*kernels_, *executor_, shape);
  }

 private:
  const KernelTable* kernels_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace

std::unique_ptr<Backend> make_simd_backend(Isa isa, std::unique_ptr<Executor> executor) {
  return std::make_unique<SimdBackend>(kernel_table(isa), std::move(executor));
}

double attend_bytes(const Shape& shape) {
  return 2 * static_cast<double>(shape.rows()) * static_cast<double>(shape.d_out) * sizeof(float);
}

}  // namespace headroom::simd

// The vendor library: oneDNN's matmul over packed weights, its matmul and softmax for attention.
#include <fmt/format.h>

#include <dnnl.hpp>

#include "backends/backend.hpp"
#include "backends/onednn/head_attention.hpp"
#include "backends/onednn/projection.hpp"

namespace {

namespace onednn = headroom::onednn;

/// Made for one layer: its operations share scratch memory, so they must not run at the same time.
class OnednnBackend final : public headroom::Backend {
 public:
  OnednnBackend(int threads, onednn::Operand operand) : threads_(threads), operand_(operand) {}

  // A plain product writes token-major rows; attention copies its heads together anyway.
  headroom::HeadLayout head_layout() const override { return headroom::HeadLayout::token_major; }
  std::unique_ptr<headroom::Projection> make_projection(
      const headroom::ProjectionSpec& spec) override {
    std::unique_ptr<headroom::Projection> made;
    onednn::with_live_threads(threads_, [&] {
      made = onednn::with_bad_alloc([&] {
        return std::make_unique<onednn::OnednnProjection>(threads_, operand_, scratch_, spec);
      });
    });
    return made;
  }
  std::unique_ptr<headroom::HeadAttention> make_attention(const headroom::Case& shape) override {
    std::unique_ptr<headroom::HeadAttention> made;
    onednn::with_live_threads(threads_, [&] {
      made = onednn::with_bad_alloc(
          [&] { return std::make_unique<onednn::OnednnAttention>(threads_, operand_, shape); });
    });
    return made;
  }

 private:
  int threads_;
  onednn::Operand operand_;
  std::shared_ptr<onednn::SharedScratch> scratch_ = std::make_shared<onednn::SharedScratch>();
};

headroom::BackendInfo describe() {
  const dnnl_version_t* version = dnnl_version();
  headroom::BackendInfo info;
  info.name = "onednn";
  info.description = "oneDNN's matmul and softmax, weights packed by the library";
  info.available = true;
  info.library = fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
#ifdef HEADROOM_ONEDNN_OPENMP
  info.threaded = true;
#endif
  info.uses_isa = true;
  return info;
}

std::optional<std::string> declines(const headroom::Case&) { return std::nullopt; }

// More parts than one would take as many products of this library, which are slower than one of
// float32.
headroom::Arithmetic computes(const headroom::Numbers& numbers, const headroom::Target& target) {
  using headroom::Precision;
  if (numbers.weights) {
    return {std::nullopt, "the library's products read weights of the dtype of x"};
  }
  if (numbers.cache) {
    return {std::nullopt, "the library's products read keys and values of the dtype of x"};
  }
  const Precision precision = numbers.precision;
  if (precision == Precision::bf16) {
    const headroom::Unit unit = onednn::bf16_unit(target);
    if (unit != headroom::Unit::none && unit != headroom::Unit::emulated) {
      return {Precision::bf16, "", unit};
    }
    return {std::nullopt,
            fmt::format("oneDNN multiplies bf16 with a unit beside avx512, and there is none with "
                        "level {} here",
                        headroom::to_string(target.isa))};
  }
  if (numbers.dtype == headroom::Dtype::bf16) {
    return {std::nullopt, "it stores bf16 only where it computes in bf16"};
  }
  if (precision == Precision::f32) return {Precision::f32, ""};
  return {Precision::f32, precision == Precision::int8
                              ? "int8 multiplies weights of q8 or q4, and these are f32"
                              : "oneDNN has no products of bf16 parts"};
}

// Keys and values are packed again for the library's products.
double repacked_bytes(const headroom::Case& shape) {
  const std::int64_t keys = shape.d_memory > 0 ? shape.memory_rows() : shape.rows();
  return static_cast<double>(keys) * static_cast<double>(shape.kv_width() + shape.value_width()) *
         sizeof(float);
}

const headroom::BackendFacts& facts() {
  static const headroom::BackendFacts facts = [] {
    headroom::BackendFacts vendor;
    vendor.gflops = 100;
    vendor.narrow_share = 0.6;
    vendor.call_seconds = 5e-6;
    vendor.attend_bytes = repacked_bytes;
    vendor.preference = 30;
    vendor.computes = computes;
    vendor.one_isa_per_process = true;
    vendor.library = "libdnnl.so";
    vendor.build_packages = {"libdnnl-dev", "ocl-icd-opencl-dev"};
    vendor.packages = {"libdnnl2", "libgomp1", "ocl-icd-libopencl1"};
    return vendor;
  }();
  return facts;
}

std::unique_ptr<headroom::Backend> make(const headroom::BackendConfig& config) {
  const bool rounds = config.precision == headroom::Precision::bf16;
  onednn::with_live_threads(config.threads, [&] {
    // First, because it also finds out whether there is memory for what follows.
    onednn::start_threads(config.threads);
    onednn::limit_library(config.target);
    if (rounds) onednn::refuse_tile_fault();
    onednn::prepare_general_product();
  });
  return std::make_unique<OnednnBackend>(config.threads,
                                         rounds ? onednn::Operand::bf16 : onednn::Operand::f32);
}

}  // namespace

HEADROOM_DEFINE_BACKEND(onednn) = {describe, facts, declines, make};

// The vendor's library: oneDNN's matmul over packed weights, its matmul and softmax for attention.
#include <fmt/format.h>

#include <dnnl.hpp>

#include "backends/backend.hpp"
#include "backends/onednn/attention.hpp"
#include "backends/onednn/projection.hpp"

namespace {

namespace onednn = headroom::onednn;

/// Made for one layer: its operations share scratch memory, so they must not run at the same time.
class OnednnBackend final : public headroom::Backend {
 public:
  explicit OnednnBackend(int threads) : threads_(threads) {}

  // A plain product writes token-major rows; attention copies its heads together anyway.
  headroom::HeadLayout head_layout() const override { return headroom::HeadLayout::token_major; }
  std::unique_ptr<headroom::Projection> make_projection(
      const headroom::ProjectionSpec& spec) override {
    return onednn::with_bad_alloc(
        [&] { return std::make_unique<onednn::OnednnProjection>(threads_, scratch_, spec); });
  }
  std::unique_ptr<headroom::HeadAttention> make_attention(const headroom::Shape& shape) override {
    return onednn::with_bad_alloc(
        [&] { return std::make_unique<onednn::OnednnAttention>(threads_, shape); });
  }

 private:
  int threads_;
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

std::optional<std::string> declines(const headroom::Shape&) { return std::nullopt; }

std::unique_ptr<headroom::Backend> make(const headroom::BackendConfig& config) {
  onednn::limit_isa(config.isa);
  onednn::start_threads(config.threads);
  return std::make_unique<OnednnBackend>(config.threads);
}

}  // namespace

HEADROOM_DEFINE_BACKEND(onednn) = {describe, declines, make};

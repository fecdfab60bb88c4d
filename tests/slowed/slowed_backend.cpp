// The xsimd backend in the place of `naive`, made slower on purpose by HEADROOM_TEST_SLOWDOWN
// percent. Linked into headroom-slowed, whose slowdown `headroom compare` must find. Its kernels
// have eleven variants, all the same, between which `headroom tune` must find no difference, but
// for the last: that is slower by HEADROOM_TEST_VARIANT percent.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): HEADROOM_DEFINE_BACKEND names it so
extern "C" const headroom::BackendEntry headroom_backend_xsimd;

namespace {

using namespace headroom;

constexpr int kVariants = 11;

std::string variant_name(int number) { return "twin" + std::to_string(number); }

double percent_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atof(text) / 100;
}

double slowdown(const BackendConfig& config) {
  const bool last = config.kernels == variant_name(kVariants - 1);
  return percent_of("HEADROOM_TEST_SLOWDOWN") + (last ? percent_of("HEADROOM_TEST_VARIANT") : 0);
}

// Spins for a share of the time that the work took.
template <class Work>
void slowed(double share, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  const auto until = Clock::now() + (Clock::now() - start) * share;
  while (Clock::now() < until) {
  }
}

class SlowedProjection final : public Projection {
 public:
  SlowedProjection(std::unique_ptr<Projection> real, double share)
      : real_(std::move(real)), share_(share) {}
  using Projection::run;
  void run(const ConstAnyMatrix& x, std::span<const AnyBlockedView> y) override {
    slowed(share_, [&] { real_->run(x, y); });
  }
  OperationCosts costs() const override { return real_->costs(); }

 private:
  std::unique_ptr<Projection> real_;
  double share_;
};

class SlowedAttention final : public HeadAttention {
 public:
  SlowedAttention(std::unique_ptr<HeadAttention> real, double share)
      : real_(std::move(real)), share_(share) {}
  std::unique_ptr<KeyValueStore> make_store(std::int64_t sequences,
                                            std::int64_t capacity) override {
    return real_->make_store(sequences, capacity);
  }
  void run(const AttendCall& call) override {
    slowed(share_, [&] { real_->run(call); });
  }
  OperationCosts costs() const override { return real_->costs(); }

 private:
  std::unique_ptr<HeadAttention> real_;
  double share_;
};

class Slowed final : public Backend {
 public:
  explicit Slowed(const BackendConfig& config)
      : real_(headroom_backend_xsimd.make(real_config(config))),
        variant_(config.kernels.empty() ? variant_name(0) : config.kernels),
        share_(slowdown(config)) {}
  HeadLayout head_layout() const override { return real_->head_layout(); }
  std::unique_ptr<Projection> make_projection(const ProjectionSpec& spec) override {
    return std::make_unique<SlowedProjection>(real_->make_projection(spec), share_);
  }
  std::unique_ptr<HeadAttention> make_attention(const Case& shape) override {
    return std::make_unique<SlowedAttention>(real_->make_attention(shape), share_);
  }
  KernelChoice kernels() const override { return {variant_, "one of equals"}; }

 private:
  static BackendConfig real_config(BackendConfig config) {
    config.kernels.clear();
    return config;
  }

  std::unique_ptr<Backend> real_;
  std::string variant_;
  double share_;
};

std::vector<std::string> variants(Isa) {
  std::vector<std::string> all;
  for (int i = 0; i < kVariants; ++i) all.push_back(variant_name(i));
  return all;
}

BackendInfo describe() {
  BackendInfo info = headroom_backend_xsimd.describe();
  info.name = "naive";
  info.description = "xsimd, slowed on purpose";
  return info;
}

const BackendFacts& facts() {
  static const BackendFacts facts = [] {
    BackendFacts slowed;
    slowed.preference = 0;
    slowed.kernel_variants = variants;
    return slowed;
  }();
  return facts;
}

std::optional<std::string> declines(const Case& shape) {
  return headroom_backend_xsimd.declines(shape);
}

std::unique_ptr<Backend> make(const BackendConfig& config) {
  return std::make_unique<Slowed>(config);
}

}  // namespace

HEADROOM_DEFINE_BACKEND(naive) = {describe, facts, declines, make};

// The xsimd backend in the place of `naive`, made slower on purpose by HEADROOM_TEST_SLOWDOWN
// percent. Linked into headroom-slowed, whose slowdown `headroom compare` must find.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "backends/backend.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): HEADROOM_DEFINE_BACKEND names it so
extern "C" const headroom::BackendEntry headroom_backend_xsimd;

namespace {

using namespace headroom;

double slowdown() {
  const char* text = std::getenv("HEADROOM_TEST_SLOWDOWN");
  return text == nullptr ? 0 : std::atof(text) / 100;
}

// Spins for a share of the time that the work took.
template <class Work>
void slowed(const Work& work) {
  using Clock = std::chrono::steady_clock;
  static const double share = slowdown();
  const auto start = Clock::now();
  work();
  const auto until = Clock::now() + (Clock::now() - start) * share;
  while (Clock::now() < until) {
  }
}

class SlowedProjection final : public Projection {
 public:
  explicit SlowedProjection(std::unique_ptr<Projection> real) : real_(std::move(real)) {}
  void run(ConstMatrixView x, std::span<const BlockedView> y) override {
    slowed([&] { real_->run(x, y); });
  }
  OperationCosts costs() const override { return real_->costs(); }

 private:
  std::unique_ptr<Projection> real_;
};

class SlowedAttention final : public HeadAttention {
 public:
  explicit SlowedAttention(std::unique_ptr<HeadAttention> real) : real_(std::move(real)) {}
  std::unique_ptr<KeyValueStore> make_store(std::int64_t sequences,
                                            std::int64_t capacity) override {
    return real_->make_store(sequences, capacity);
  }
  void run(const AttendCall& call) override {
    slowed([&] { real_->run(call); });
  }
  OperationCosts costs() const override { return real_->costs(); }

 private:
  std::unique_ptr<HeadAttention> real_;
};

class Slowed final : public Backend {
 public:
  explicit Slowed(std::unique_ptr<Backend> real) : real_(std::move(real)) {}
  HeadLayout head_layout() const override { return real_->head_layout(); }
  std::unique_ptr<Projection> make_projection(const ProjectionSpec& spec) override {
    return std::make_unique<SlowedProjection>(real_->make_projection(spec));
  }
  std::unique_ptr<HeadAttention> make_attention(const Shape& shape) override {
    return std::make_unique<SlowedAttention>(real_->make_attention(shape));
  }

 private:
  std::unique_ptr<Backend> real_;
};

BackendInfo describe() {
  BackendInfo info = headroom_backend_xsimd.describe();
  info.name = "naive";
  info.description = "xsimd, slowed on purpose";
  return info;
}

const BackendFacts& facts() {
  static const BackendFacts facts;
  return facts;
}

std::optional<std::string> declines(const Shape& shape) {
  return headroom_backend_xsimd.declines(shape);
}

std::unique_ptr<Backend> make(const BackendConfig& config) {
  return std::make_unique<Slowed>(headroom_backend_xsimd.make(config));
}

}  // namespace

HEADROOM_DEFINE_BACKEND(naive) = {describe, facts, declines, make};

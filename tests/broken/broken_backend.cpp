// A backend that is wrong on purpose, in the place of `naive`.
// Linked into headroom-broken, which must notice.
#include <algorithm>
#include <memory>
#include <string>

#include "backends/backend.hpp"

namespace {

using namespace headroom;

class WrongProjection final : public Projection {
 public:
  using Projection::run;
  void run(const ConstAnyMatrix& x, std::span<const AnyBlockedView> all) override {
    for (const AnyBlockedView& each : all) {
      const BlockedView y = each.floats();
      for (std::int64_t row = 0; row < y.rows; ++row) {
        for (std::int64_t block = 0; block < y.blocks; ++block) {
          std::fill_n(y.at(row, block), y.block_cols, floats(x).row(row)[0]);
        }
      }
    }
  }
  OperationCosts costs() const override { return {0, 0, "broken"}; }
};

class WrongAttention final : public HeadAttention {
 public:
  std::unique_ptr<KeyValueStore> make_store(std::int64_t, std::int64_t) override { return nullptr; }
  void run(const AttendCall& call) override {
    const BlockedView out = call.out.floats();
    for (std::int64_t row = 0; row < out.rows; ++row) {
      for (std::int64_t block = 0; block < out.blocks; ++block) {
        std::copy_n(call.v.floats().at(row, block), out.block_cols, out.at(row, block));
      }
    }
  }
  OperationCosts costs() const override { return {0, 0, "broken"}; }
};

class Broken final : public Backend {
 public:
  HeadLayout head_layout() const override { return HeadLayout::token_major; }
  std::unique_ptr<Projection> make_projection(const ProjectionSpec&) override {
    return std::make_unique<WrongProjection>();
  }
  std::unique_ptr<HeadAttention> make_attention(const Case&) override {
    return std::make_unique<WrongAttention>();
  }
};

BackendInfo describe() {
  BackendInfo info;
  info.name = "naive";
  info.description = "wrong on purpose";
  info.available = true;
  return info;
}

const BackendFacts& facts() {
  static const BackendFacts facts;
  return facts;
}

std::optional<std::string> declines(const Case& shape) {
  if (shape.heads == 13) return "13 heads are declined on purpose";
  return std::nullopt;
}

std::unique_ptr<Backend> make(const BackendConfig&) { return std::make_unique<Broken>(); }

}  // namespace

HEADROOM_DEFINE_BACKEND(naive) = {describe, facts, declines, make};

// Tasks of one call share nothing that any of them writes. The thread sanitizer does not see the
// locks of oneTBB, so here the same kernels run as tasks on threads of our own.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/backend.hpp"
#include "backends/simd_backend.hpp"
#include "core/case_layer.hpp"
#include "support/call_shapes.hpp"
#include "support/layer_cases.hpp"

namespace headroom {
namespace {

/// A thread per slot, and tasks dealt out in turn, so that neighbours are always in two threads.
class DealtTasks final : public Executor {
 public:
  explicit DealtTasks(int slots) : slots_(slots) {}
  int slots() const override { return slots_; }
  using Executor::run;
  void run(std::int64_t count, TaskRef task, double) const override {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(slots_));
    for (int slot = 0; slot < slots_; ++slot) {
      threads.emplace_back([=, this] {
        for (std::int64_t i = slot; i < count; i += slots_) task(i, slot);
      });
    }
  }

 private:
  int slots_;
};

constexpr const char* kSerial = "xsimd";

BackendInfo describe() {
  BackendInfo info = backend_entry(kSerial).describe();
  info.name = "dealt";
  info.threaded = true;
  return info;
}

const BackendFacts& facts() { return backend_entry(kSerial).facts(); }

std::optional<std::string> declines(const Case& shape) {
  return backend_entry(kSerial).declines(shape);
}

std::unique_ptr<Backend> make(const BackendConfig& config) {
  return simd::make_simd_backend(config, std::make_unique<DealtTasks>(config.threads));
}

}  // namespace
}  // namespace headroom

HEADROOM_DEFINE_BACKEND(dealt) = {headroom::describe, headroom::facts, headroom::declines,
                                  headroom::make};

namespace headroom::test {
namespace {

std::vector<LayerCase> dealt(std::vector<LayerCase> cases) {
  std::erase_if(cases, [](const LayerCase& one) { return one.backend != "dealt"; });
  return cases;
}

std::vector<Case> shapes() {
  Case plain = plain_shape(130, 96, 6, 24);
  plain.qkv_bias = true;
  plain.d_proj = 80;
  Case grouped = plain_shape(70, 33, 8, 21);
  grouped.kv_heads = 1;
  // Fewer heads than slots, and several segments of keys.
  Case shared = plain_shape(1100, 24, 1, 16);
  return {plain, grouped, shared, with_everything()};
}

// One key head, whose queries are several tiles, or more than a task takes. Steps see two segments
// of keys through a window that makes the prompt short work.
std::vector<Case> shapes_of_many_queries() {
  Case tiles = plain_shape(1030, 24, 17, 8);
  Case tasks = plain_shape(1030, 24, 120, 4);
  Case latent = plain_shape(1030, 24, 17, 16);
  latent.value_dim = 8;
  latent.latent = {.rank = 20, .shared = 4};
  latent.rotary.pairs = Rotary::Pairs::halves;
  std::vector<Case> all{tiles, tasks, latent};
  for (Case& shape : all) {
    shape.window = 12;
    if (shape.latent.rank == 0) shape.kv_heads = 1;
  }
  return all;
}

class LayerRaces : public LayerTest {};

TEST_P(LayerRaces, AWholePassHasTheBitsOfOneThread) {
  LayerCase alone = GetParam();
  alone.backend = kSerial;
  for (const Case& shape : shapes()) {
    const Layer layer = gaussian_layer(shape);
    EXPECT_TRUE(same_bits(run(GetParam(), layer, 3), run(alone, layer, 1))) << shape.id();
  }
}

// A prompt, and then single tokens, which several tasks read and one has appended.
TEST_P(LayerRaces, StepsHaveTheBitsOfOneThread) {
  LayerCase alone = GetParam();
  alone.backend = kSerial;
  std::vector<Case> all = shapes();
  // How heads are reached does not depend on the formulation, and the sanitizer takes its time.
  if (GetParam().formulation == Formulation::fused) {
    for (const Case& shape : shapes_of_many_queries()) all.push_back(shape);
  }
  for (Case shape : all) {
    shape.batch = 1;
    const Layer layer = gaussian_layer(shape);
    const auto walk = [&](const LayerCase& who, int threads) {
      Attention attention = layer_for(layer.shape, layer.weights, who.options(threads));
      KeyValueCache cache(attention, {1, shape.tokens});
      Matrix y(shape.rows(), shape.output_width());
      for (std::int64_t done = 0; done < shape.tokens;) {
        const std::int64_t count = done == 0 ? shape.tokens - 5 : 1;
        attention.forward(rows(layer.x, done, count), rows_of(y, done, count), {.cache = &cache});
        done += count;
      }
      return y;
    };
    EXPECT_TRUE(same_bits(walk(GetParam(), 3), walk(alone, 1))) << shape.id();
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerRaces, testing::ValuesIn(dealt(layer_cases())), case_name);
INSTANTIATE_TEST_SUITE_P(Precisions, LayerRaces, testing::ValuesIn(dealt(precision_cases())),
                         case_name);

}  // namespace
}  // namespace headroom::test

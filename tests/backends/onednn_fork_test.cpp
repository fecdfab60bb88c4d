// A process that forked after it had used oneDNN's threads, as Python's multiprocessing does: the
// child has none of them, and OpenMP would wait for them for ever. The watchdog is `in_child`'s.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/case_layer.hpp"
#include "support/child.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::onednn_fork_test {
namespace {

class OnednnAfterFork : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer allows no new thread in the child of a process that had some";
#endif
  }

  AttentionOptions options() const {
    AttentionOptions options;
    options.backend = "onednn";
    options.threads = GetParam();
    return options;
  }

  static Matrix forward(Attention& attention, const Layer& layer) {
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    attention.forward(layer.x.view(), y.view());
    return y;
  }

  /// Work enough for two threads, in products and in attention.
  const Layer layer_ = gaussian_layer(plain_shape(256, 256, 4, 64));
};

TEST_P(OnednnAfterFork, ALayerOfTheParentGivesTheSame) {
  Attention attention = layer_for(layer_.shape, layer_.weights, options());
  const Matrix y = forward(attention, layer_);
  const auto again = [&] {
    return std::string(same_bits(forward(attention, layer_), y) ? "same" : "other");
  };
  EXPECT_EQ(in_child(again), "same");
  EXPECT_EQ(in_child([&] { return again() + ", " + again() + ", " + in_child(again); }),
            "same, same, same");
  EXPECT_EQ(again(), "same") << "in the parent";
}

TEST_P(OnednnAfterFork, ALayerCanBeMadeInTheChild) {
  const auto made = [&] {
    Attention attention = layer_for(layer_.shape, layer_.weights, options());
    return forward(attention, layer_);
  };
  const Matrix y = made();
  const auto again = [&] { return std::string(same_bits(made(), y) ? "same" : "other"); };
  EXPECT_EQ(in_child(again), "same");
  EXPECT_EQ(in_child([&] {
              std::string found;
              std::thread([&] { found = again(); }).join();
              return found;
            }),
            "same")
      << "on another thread of the child";
}

TEST_P(OnednnAfterFork, ACacheOfTheParentGoesOn) {
  Attention attention = layer_for(layer_.shape, layer_.weights, options());
  Attention other = layer_for(layer_.shape, layer_.weights, options());
  KeyValueCache cache(attention, {1, 256});
  KeyValueCache other_cache(other, {1, 256});
  Matrix y(256, layer_.shape.output_width());
  Matrix expected = y;
  for (const std::int64_t first : {0, 128}) {
    other.forward(layer_.x.view().slice(first, 128), expected.view().slice(first, 128),
                  {.cache = &other_cache});
  }
  attention.forward(layer_.x.view().slice(0, 128), y.view().slice(0, 128), {.cache = &cache});
  const auto go_on = [&] {
    attention.forward(layer_.x.view().slice(128, 128), y.view().slice(128, 128), {.cache = &cache});
    return std::string(same_bits(y, expected) ? "same" : "other");
  };
  EXPECT_EQ(in_child(go_on), "same");
}

INSTANTIATE_TEST_SUITE_P(Threads, OnednnAfterFork, testing::Values(1, 2),
                         [](const auto& param) { return std::to_string(param.param); });

}  // namespace
}  // namespace headroom::test::onednn_fork_test

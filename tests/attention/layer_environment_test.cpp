// A forward pass must not allocate or change floating-point behaviour.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>

#include "core/case_layer.hpp"
#include "support/layer_cases.hpp"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace {
// Counted in the calling thread only: other threads belong to the libraries that own them.
thread_local std::int64_t allocations = 0;

void* counted_allocation(std::size_t size, std::size_t alignment) {
  ++allocations;
  const std::size_t rounded = (size + alignment) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Inlined where `new` is not, gcc 12 takes it for a mismatch.
[[gnu::noinline]] void release(void* memory) { std::free(memory); }
}  // namespace

// All other allocation functions of the standard library call one of these.
void* operator new(std::size_t size) { return counted_allocation(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_allocation(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace headroom::test {
namespace {

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

Case small_shape() {
  Case shape = plain_shape(45, 40, 3, 20);
  shape.qkv_bias = true;
  shape.d_proj = 32;
  return shape;
}

class LayerEnvironment : public LayerTest {
 protected:
  /// Of a value that only passes through.
  static float rounding() {
    if (GetParam().precision == Precision::bf16) return 0x1p-7F;
    return GetParam().precision == Precision::bf16x3 ? 0x1p-15F : 2 * kEpsilon;
  }
};

class LayerAllocations : public LayerTest {};

/// Without those whose libraries may allocate for their own bookkeeping.
std::vector<LayerCase> cases_that_may_not_allocate() {
  std::vector<LayerCase> cases = layer_cases();
  const std::vector<LayerCase> by_precision = precision_cases();
  cases.insert(cases.end(), by_precision.begin(), by_precision.end());
  std::erase_if(cases, [](const LayerCase& layer_case) {
    return layer_case.backend == "onednn" || layer_case.backend == "tbb";
  });
  return cases;
}

TEST_P(LayerAllocations, ForwardAllocatesNothing) {
  for (const double dropout : {0.0, 0.1}) {
    Case shape = small_shape();
    shape.dropout = dropout;
    const Layer layer = gaussian_layer(shape);
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    const std::int64_t before = allocations;
    attention.forward(layer.x.view(), y.view());
    const std::int64_t of_the_first = allocations - before;
    attention.forward(layer.x.view(), y.view());
    EXPECT_EQ(of_the_first, 0);
    EXPECT_EQ(allocations - before, 0);
  }
}

TEST_P(LayerAllocations, CallsOfAnySizeAllocateNothing) {
  Case shape = plain_shape(60, 33, 6, 20);
  shape.batch = 2;
  shape.kv_heads = 2;
  shape.d_proj = 33;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  KeyValueCache cache(attention, {2, 100});
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  const std::vector<std::vector<std::int64_t>> calls{{60, 3}, {1, 1}, {0, 17}, {2, 2}};
  const std::int64_t before = allocations;
  for (const bool cached : {true, false}) {
    for (const std::vector<std::int64_t>& lengths : calls) {
      Call call;
      call.lengths = lengths;
      if (cached) call.cache = &cache;
      const std::int64_t count = lengths[0] + lengths[1];
      attention.forward(rows(layer.x, 0, count), {y.values.data(), count, y.cols, y.cols}, call);
    }
    cache.truncate({0, 5});
  }
  EXPECT_EQ(allocations - before, 0);
}

TEST(AutoEnvironment, ForwardAllocatesNothing) {
  const Layer layer = gaussian_layer(small_shape());
  AttentionOptions options;
  options.threads = 1;
  Attention attention = make_attention("auto", layer.shape, layer.shape, layer.weights, options);
  ASSERT_EQ(attention.options().backend, "xsimd");
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  const std::int64_t before = allocations;
  attention.forward(layer.x.view(), y.view());
  EXPECT_EQ(allocations - before, 0);
}

TEST(AllocationCounter, Counts) {
  const std::int64_t before = allocations;
  const std::vector<float> some(10);
  EXPECT_EQ(allocations - before, 1);
}

TEST_P(LayerEnvironment, PhaseTimesAreFilledAndTheResultIsTheSame) {
  const Layer layer = gaussian_layer(small_shape());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  PhaseTimes times;
  attention.forward(layer.x.view(), y.view(), {.times = &times});
  EXPECT_GT(times.qkv, 0);
  EXPECT_GT(times.attend, 0);
  EXPECT_GT(times.output, 0);
  EXPECT_TRUE(same_bits(y, run(GetParam(), layer)));
}

/// Everything but the sticky exception flags, which any arithmetic may raise.
unsigned float_controls() {
#if defined(__SSE__)
  return _mm_getcsr() & ~0x3FU;
#else
  return static_cast<unsigned>(std::fegetround());
#endif
}

TEST_P(LayerEnvironment, TheFloatingPointEnvironmentIsLeftAsFound) {
  std::fesetenv(FE_DFL_ENV);  // an earlier test of this process may have left something behind
  const Layer layer = gaussian_layer(small_shape());
  const unsigned before = float_controls();
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  EXPECT_EQ(float_controls(), before) << "set-up changed it";
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  EXPECT_EQ(float_controls(), before) << "forward changed it";
}

TEST_P(LayerEnvironment, ACallersOwnRoundingModeSurvives) {
  const Layer layer = gaussian_layer(small_shape());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  std::fesetround(FE_UPWARD);
  const unsigned before = float_controls();
  attention.forward(layer.x.view(), y.view());
  const unsigned after = float_controls();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(after, before);
}

/// Token j is the unit vector j, and scores are 200 on the diagonal and 0 elsewhere, so that the
/// other weights of a row are exp(-200): far below the smallest float.
Layer far_apart_scores(std::int64_t tokens, bool causal) {
  Case shape = plain_shape(tokens, tokens, 1, tokens);
  shape.causal = causal;
  Layer layer{shape, gaussian_weights(shape, 7), Matrix(tokens, tokens)};
  layer.weights.query = Matrix(tokens, tokens);
  layer.weights.key = Matrix(tokens, tokens);
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(tokens)));
  for (std::int64_t j = 0; j < tokens; ++j) {
    layer.x.view().row(j)[j] = 1.0F;
    layer.weights.query.view().row(j)[j] = 200.0F * scale;
    layer.weights.key.view().row(j)[j] = 1.0F;
  }
  return layer;
}

// A weight clamped to the smallest normal number, 1.2e-38, would let 1e38 of token 0 through, and
// even the smallest subnormal one would show beside values of 1e-6.
TEST_P(LayerEnvironment, SoftmaxFarBelowTheMaximumIsExactlyZero) {
  for (const std::int64_t tokens : {2, 17, 35}) {
    for (const bool causal : {true, false}) {
      Layer layer = far_apart_scores(tokens, causal);
      // The value of token j is row j of the value matrix, and so must the output be.
      for (float& w : layer.weights.value.values) w *= 1e-6F;
      std::fill_n(layer.weights.value.view().row(0), tokens, 1e38F);
      const Matrix y = run(GetParam(), layer);
      for (std::size_t i = 0; i < y.values.size(); ++i) {
        const float expected = layer.weights.value.values[i];
        ASSERT_LE(std::abs(y.values[i] - expected), rounding() * std::abs(expected))
            << tokens << " tokens, causal " << causal << ", element " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerAllocations, testing::ValuesIn(cases_that_may_not_allocate()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Layers, LayerEnvironment, testing::ValuesIn(layer_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Precisions, LayerEnvironment, testing::ValuesIn(precision_cases()),
                         case_name);

}  // namespace
}  // namespace headroom::test

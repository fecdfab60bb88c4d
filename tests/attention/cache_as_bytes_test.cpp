// Attention that multiplies the bytes of its cache: against the oracle, which bounds what rounding
// of queries and weights adds, and with the same bits however a row is reached, at every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/case_layer.hpp"
#include "headroom/dot_product.hpp"
#include "headroom/initialise.hpp"
#include "reference/comparator.hpp"
#include "reference/limits.hpp"
#include "support/layer_cases.hpp"
#include "support/layer_data.hpp"

namespace headroom::test::cache_as_bytes_test {
namespace {

constexpr Numbers kBytes{Precision::int8, Dtype::f32, std::nullopt, Storage::q8};

AttentionOptions options_of(const LayerCase& layer_case, int threads = 0) {
  AttentionOptions options = layer_case.options(threads);
  options.precision = Precision::int8;
  options.cache_dtype = Storage::q8;
  return options;
}

Case heads_of(std::int64_t tokens, std::int64_t past, std::int64_t heads, std::int64_t kv_heads,
              std::int64_t head_dim) {
  Case shape;
  shape.tokens = tokens;
  shape.past = past;
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.d_out = heads * head_dim;
  return shape;
}

// Heads of whole groups of channels and of others, groups of rows, tiles that stand across blocks,
// windows that begin within a group of keys, and more keys than a block of a kernel has.
std::vector<Case> shapes() {
  std::vector<Case> all{heads_of(1, 128, 4, 2, 40),   heads_of(5, 1213, 4, 1, 64),
                        heads_of(90, 130, 2, 2, 24),  heads_of(3, 62, 6, 2, 16),
                        heads_of(1, 2100, 1, 1, 128), heads_of(200, 0, 5, 1, 111),
                        heads_of(70, 70, 3, 3, 3)};
  all.push_back(heads_of(150, 90, 4, 2, 96));
  all.back().window = 77;
  return all;
}

struct Tensors {
  Matrix q, k, v;

  explicit Tensors(const Case& shape, std::uint64_t seed = 1)
      : q(gaussian(shape.tokens, shape.d_out, seed)),
        k(gaussian(shape.context(), shape.kv_width(), seed + 1)),
        v(gaussian(shape.context(), shape.kv_width(), seed + 2)) {}

 private:
  static Matrix gaussian(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    Case wide;
    wide.d_in = cols;
    return gaussian_input(rows, wide, seed);
  }
};

ScoreRule rule_of(const Case& shape) {
  ScoreRule rule;
  rule.causal = true;
  rule.window = shape.window;
  return rule;
}

ConstHeadsView heads_view(const Matrix& of, std::int64_t first, std::int64_t count,
                          std::int64_t heads) {
  return token_major(of.view().row(first), 1, count, heads, of.cols / heads);
}

reference::Expected expected_of(const Case& shape, const Tensors& tensors) {
  reference::Inputs inputs{
      .x = tensors.q.view(), .key = tensors.k.view(), .value = tensors.v.view()};
  inputs.rounds_cache = true;
  reference::Expected expected =
      reference::attention(shape, {}, inputs, reference::all_rows(shape), 2);
  reference::add_coarse_bound(shape, {}, inputs, Precision::int8, 2, expected);
  return expected;
}

// The rows of a call over keys that came before in pieces, and then its own rows in pieces.
class Call {
 public:
  Call(const Case& shape, const Tensors& tensors, const AttentionOptions& options)
      : shape_(shape),
        tensors_(tensors),
        attention_(
            {1, shape.tokens, shape.context(), shape.heads, shape.key_heads(), shape.head_dim()},
            rule_of(shape), options),
        y_(shape.tokens, shape.d_out) {}

  Matrix whole() {
    run(0, shape_.context(), 0, shape_.tokens, {});
    return y_;
  }
  Matrix in_pieces(std::int64_t of_past, std::int64_t of_rows) {
    KeyValueCache cache(attention_, {1, shape_.context()});
    for (std::int64_t key = 0; key < shape_.past; key += of_past) {
      run(key, std::min(of_past, shape_.past - key), 0, 0, {.cache = &cache});
    }
    for (std::int64_t row = 0; row < shape_.tokens; row += of_rows) {
      const std::int64_t rows = std::min(of_rows, shape_.tokens - row);
      run(shape_.past + row, rows, row, rows, {.cache = &cache});
    }
    return y_;
  }

 private:
  void run(std::int64_t key, std::int64_t keys, std::int64_t row, std::int64_t rows,
           const DotProductCall& call) {
    auto out = token_major(y_.view().row(std::min(row, shape_.tokens - 1)), 1, rows, shape_.heads,
                           shape_.head_dim());
    auto q = heads_view(tensors_.q, std::min(row, shape_.tokens - 1), rows, shape_.heads);
    attention_.run(q, heads_view(tensors_.k, key, keys, shape_.key_heads()),
                   heads_view(tensors_.v, key, keys, shape_.key_heads()), out, call);
  }

  const Case& shape_;
  const Tensors& tensors_;
  DotProductAttention attention_;
  Matrix y_;
};

class CacheAsBytes : public LayerTest {};

TEST_P(CacheAsBytes, MatchesTheOracle) {
  for (const Case& shape : shapes()) {
    SCOPED_TRACE(shape.id());
    const Tensors tensors(shape);
    const Matrix y = Call(shape, tensors, options_of(GetParam())).whole();
    const auto found = reference::compare(expected_of(shape, tensors), y.view(),
                                          reference::Data::adversarial, kBytes);
    EXPECT_TRUE(found.passed) << found.reason;
    EXPECT_LT(found.nrmse, reference::limits_of(kBytes).nrmse);
    if (shape.context() >= 2 * 64) {
      EXPECT_GT(found.nrmse, 1e-4) << "nothing was rounded";
    }
  }
}

TEST_P(CacheAsBytes, GivesEachRowTheSameBits) {
  for (const Case& shape : shapes()) {
    SCOPED_TRACE(shape.id());
    const Tensors tensors(shape);
    const Matrix whole = Call(shape, tensors, options_of(GetParam(), 1)).whole();
    for (const int threads : {1, 3}) {
      Call call(shape, tensors, options_of(GetParam(), threads));
      EXPECT_TRUE(same_bits(call.whole(), whole)) << threads;
      for (const auto& [past, rows] : {std::pair{1000, 1}, {37, 3}, {64, 40}}) {
        EXPECT_TRUE(same_bits(call.in_pieces(past, rows), whole)) << threads << " " << rows;
      }
    }
  }
}

// A value that is no number reaches the rows that see its key, and no others.
TEST_P(CacheAsBytes, KeepsNanFromRowsThatDoNotSeeIt) {
  const Case shape = heads_of(30, 110, 2, 1, 32);
  Tensors tensors(shape);
  const Matrix clean = Call(shape, tensors, options_of(GetParam())).whole();
  tensors.v.view().row(120)[5] = std::numeric_limits<float>::quiet_NaN();
  const Matrix y = Call(shape, tensors, options_of(GetParam())).whole();
  EXPECT_TRUE(same_bits(rows(y, 0, 10), rows(clean, 0, 10)));
  for (std::int64_t r = 10; r < 30; ++r) EXPECT_TRUE(std::isnan(y.view().row(r)[0])) << r;
  tensors.v.view().row(120)[5] = 0;
  tensors.q.view().row(3)[40] = std::numeric_limits<float>::infinity();
  const Matrix of_query = Call(shape, tensors, options_of(GetParam())).whole();
  EXPECT_TRUE(std::isnan(of_query.view().row(3)[32]));
  EXPECT_FALSE(std::isnan(of_query.view().row(3)[0])) << "another head";
}

// The smallest and the largest numbers: nothing becomes what it is not by a scale of 0.
TEST_P(CacheAsBytes, TakesNumbersOfAnySize) {
  const Case shape = heads_of(4, 140, 2, 1, 40);
  for (const float size : {0.0F, 1e-30F, 1e-5F, 1e4F}) {
    Tensors tensors(shape);
    for (float& value : tensors.q.values) value *= size;
    const Matrix y = Call(shape, tensors, options_of(GetParam())).whole();
    const auto found = reference::compare(expected_of(shape, tensors), y.view(),
                                          reference::Data::adversarial, kBytes);
    EXPECT_TRUE(found.passed) << size << ": " << found.reason;
  }
}

// As the processor's own registers say it.
bool multiplies_four_bytes() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c >> 11 & 1) != 0;
#else
  std::uint64_t features = 0;
  asm("mrs %0, ID_AA64ISAR0_EL1" : "=r"(features));
  return (features >> 44 & 15) != 0;
#endif
}

std::string who_multiplies_bytes(Isa isa) {
  if (isa == Isa::avx512 && multiplies_four_bytes()) return "avx512_vnni";
  if (isa == Isa::neon && multiplies_four_bytes()) return "neon_dotprod";
  return std::string(to_string(isa));
}

// Layers with weights in few bits have the same attention.
TEST_P(CacheAsBytes, IsThatOfLayers) {
  Case shape = plain_shape(150, 96, 4, 32);
  shape.kv_heads = 2;
  shape.d_proj = 64;
  Layer layer = gaussian_layer(shape);
  layer.weights = stored(std::move(layer.weights), Storage::q8);
  reference::Inputs inputs = layer.inputs();
  inputs.rounds_cache = true;
  reference::Expected expected =
      reference::attention(shape, layer.weights, inputs, reference::all_rows(shape), 2);
  reference::add_coarse_bound(shape, layer.weights, inputs, Precision::int8, 2, expected);
  AttentionOptions options = options_of(GetParam());
  options.weights_dtype = Storage::q8;
  Attention attention(shape, shape, layer.weights, options);
  Matrix whole(shape.tokens, shape.d_proj), steps(shape.tokens, shape.d_proj);
  attention.forward(layer.x.view(), whole.view());
  const auto found = reference::compare(expected, whole.view(), reference::Data::adversarial,
                                        {Precision::int8, Dtype::f32, Storage::q8, Storage::q8});
  EXPECT_TRUE(found.passed) << found.reason;
  EXPECT_LT(found.nrmse, reference::limits_of(kBytes).nrmse);
  KeyValueCache cache(attention, {1, shape.tokens});
  for (std::int64_t first = 0; first < shape.tokens; first += 7) {
    const std::int64_t count = std::min<std::int64_t>(7, shape.tokens - first);
    attention.forward(layer.x.view().slice(first, count), steps.view().slice(first, count),
                      {.cache = &cache});
  }
  EXPECT_TRUE(same_bits(steps, whole));
  const std::string by = "simd:" + who_multiplies_bytes(*options.isa) + ":int8";
  EXPECT_EQ(attention.costs().project_provenance, by);
  EXPECT_EQ(attention.costs().attend_provenance, by);
}

std::vector<LayerCase> cases() {
  std::vector<LayerCase> all = backend_cases();
  std::erase_if(
      all, [](const LayerCase& one) { return one.backend != "xsimd" && one.backend != "tbb"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CacheAsBytes, testing::ValuesIn(cases()), case_name);

TEST(CacheAsBytes, IsWhatACallSays) {
  const DotProductSizes sizes{1, 2, 70, 2, 2, 32};
  AttentionOptions options;
  options.backend = "xsimd";
  options.precision = Precision::int8;
  const DotProductAttention floats(sizes, {.causal = true}, options);
  EXPECT_EQ(floats.choice().precision, Precision::f32);
  EXPECT_EQ(floats.choice().precision_reason,
            "int8 multiplies keys and values of q8, and these are f32");
  options.cache_dtype = Storage::q8;
  const DotProductAttention bytes(sizes, {.causal = true}, options);
  EXPECT_EQ(bytes.choice().precision, Precision::int8);
  EXPECT_EQ(bytes.choice().precision_reason, "");
}

}  // namespace
}  // namespace headroom::test::cache_as_bytes_test

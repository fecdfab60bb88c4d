// Attention without weights over keys and values in eight bits: what is rounded is given, so the
// oracle rounds it the same way and limits are those of float32.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headroom/dot_product.hpp"
#include "headroom/error.hpp"
#include "headroom/initialise.hpp"
#include "reference/comparator.hpp"
#include "support/layer_cases.hpp"
#include "support/refusals.hpp"

namespace headroom::test::dot_product_cache_bytes_test {
namespace {

struct Heads {
  Case shape;
  Matrix q, k, v;

  Heads(std::int64_t tokens, std::int64_t past, std::int64_t heads, std::int64_t kv_heads,
        std::int64_t head_dim) {
    shape.batch = 1;
    shape.tokens = tokens;
    shape.past = past;
    shape.heads = heads;
    shape.kv_heads = kv_heads;
    shape.d_out = heads * head_dim;
    q = uniform_matrices(tokens, shape.d_out, 2, 1).front();
    k = uniform_matrices(shape.context(), shape.kv_width(), 2, 2).front();
    v = uniform_matrices(shape.context(), shape.kv_width(), 2, 3).front();
    // Outliers live in channels.
    for (std::int64_t row = 0; row < k.rows; ++row) k.view().row(row)[1] *= 300;
    for (std::int64_t row = 0; row < q.rows; ++row) {
      for (std::int64_t head = 0; head < heads; ++head) {
        q.view().row(row)[head * head_dim + 1] /= 300;
      }
    }
  }

  ConstHeadsView keys(const Matrix& of, std::int64_t first, std::int64_t count) const {
    return token_major(of.view().row(first), 1, count, shape.key_heads(), shape.head_dim());
  }
};

AttentionOptions options_of(const LayerCase& layer_case, int threads = 0) {
  AttentionOptions options = layer_case.options(threads);
  options.cache_dtype = Storage::q8;
  return options;
}

class DotProductCacheBytes : public LayerTest {};

// In one call, and after a past that a cache has.
TEST_P(DotProductCacheBytes, MatchTheOracleThatIsFedThem) {
  for (const Heads& heads :
       {Heads(1, 128, 4, 2, 40), Heads(5, 1213, 4, 1, 64), Heads(90, 30, 2, 2, 24),
        Heads(3, 62, 6, 2, 16), Heads(1, 2100, 1, 1, 128)}) {
    const Case& shape = heads.shape;
    SCOPED_TRACE(shape.id());
    reference::Inputs inputs{.x = heads.q.view(), .key = heads.k.view(), .value = heads.v.view()};
    inputs.rounds_cache = true;
    const reference::Expected expected =
        reference::attention(shape, {}, inputs, reference::all_rows(shape), 1);
    const auto check = [&](const Matrix& y) {
      const auto found = compare(expected, y.view(), reference::Data::adversarial);
      EXPECT_TRUE(found.passed) << found.reason;
    };
    Matrix together(shape.tokens, shape.d_out), after(shape.tokens, shape.d_out);
    const auto out = [&](Matrix& y, std::int64_t tokens) {
      return token_major(y.view().data, 1, tokens, shape.heads, shape.head_dim());
    };
    const auto queries = [&](std::int64_t tokens) {
      return token_major(std::as_const(heads.q).view().data, 1, tokens, shape.heads,
                         shape.head_dim());
    };
    DotProductAttention attention(
        {1, shape.tokens, shape.context(), shape.heads, shape.key_heads(), shape.head_dim()},
        {.causal = true}, options_of(GetParam(), 3));
    attention.run(queries(shape.tokens), heads.keys(heads.k, 0, shape.context()),
                  heads.keys(heads.v, 0, shape.context()), out(together, shape.tokens));
    check(together);
    KeyValueCache cache(attention, {1, shape.context()});
    attention.run(queries(0), heads.keys(heads.k, 0, shape.past),
                  heads.keys(heads.v, 0, shape.past), out(after, 0), {.cache = &cache});
    attention.run(queries(shape.tokens), heads.keys(heads.k, shape.past, shape.tokens),
                  heads.keys(heads.v, shape.past, shape.tokens), out(after, shape.tokens),
                  {.cache = &cache});
    check(after);
    EXPECT_TRUE(same_bits(after, together));
  }
}

// A query of an earlier block would see its own block as it was.
TEST_P(DotProductCacheBytes, AreNotAskedForWhatWasRounded) {
  const Heads heads(2, 64, 2, 2, 16);
  DotProductAttention attention({1, 2, 70, 2, 2, 16}, {.causal = true}, options_of(GetParam()));
  KeyValueCache cache(attention, {1, 70});
  Matrix y(2, 32);
  const auto out = token_major(y.view().data, 1, 2, 2, 16);
  const auto q = token_major(std::as_const(heads.q).view().data, 1, 2, 2, 16);
  auto none = q;
  none.tokens = 0;
  auto no_out = out;
  no_out.tokens = 0;
  attention.run(none, heads.keys(heads.k, 0, 64), heads.keys(heads.v, 0, 64), no_out,
                {.cache = &cache});
  expect_refused("stands at position 63, in a block of 64 keys that was rounded", [&] {
    attention.run(q, heads.keys(heads.k, 64, 1), heads.keys(heads.v, 64, 1), out,
                  {.cache = &cache});
  });
  EXPECT_EQ(cache.length(), 64);
  attention.run(q, heads.keys(heads.k, 64, 2), heads.keys(heads.v, 64, 2), out, {.cache = &cache});
}

std::vector<LayerCase> cases() {
  std::vector<LayerCase> all = backend_cases();
  std::erase_if(all, [](const LayerCase& one) { return one.backend == "onednn"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, DotProductCacheBytes, testing::ValuesIn(cases()), case_name);

TEST(DotProductCacheBytes, MustBeCausal) {
  AttentionOptions options;
  options.backend = "xsimd";
  options.cache_dtype = Storage::q8;
  expect_refused<Unsupported>("it must be causal", [&] {
    DotProductAttention({1, 1, 1, 1, 1, 8}, {}, options);
  });
}

}  // namespace
}  // namespace headroom::test::dot_product_cache_bytes_test

// Attention without weights over keys and values of earlier calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "headroom/dot_product.hpp"
#include "headroom/error.hpp"
#include "support/dot_product_calls.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::dot_product_cache_test {
namespace {

class DotProductCache : public LayerTest {};

// A part of a tensor's tokens.
ConstHeadsView tokens_of(Tensor& of, std::int64_t first, std::int64_t count) {
  HeadsView view = of.view();
  view.data += first * view.token_stride;
  view.tokens = count;
  return view;
}

HeadsView none_of(Tensor& of) {
  HeadsView view = of.view();
  view.tokens = 0;
  return view;
}

// Some keys come without queries, and the others with them; the cache may be larger than needed,
// and may have held others.
TEST_P(DotProductCache, MatchesDoublePrecision) {
  constexpr std::uint32_t kCalls = 60;
  for (std::uint32_t seed = 1; seed <= kCalls; ++seed) {
    std::mt19937 random(seed);
    const RandomCall c = random_case(random);
    SCOPED_TRACE(describe(c));
    Tensors tensors(c, seed);
    DotProductAttention attention(c.sizes, c.rule, GetParam().options());
    const std::int64_t before = static_cast<std::int64_t>(random()) % (c.sizes.keys + 1);
    std::vector<std::int64_t> earlier, later;
    std::int64_t longest = 0;
    for (std::int64_t b = 0; b < c.sizes.batch; ++b) {
      earlier.push_back(std::min(c.keys_of(b), before));
      later.push_back(c.keys_of(b) - earlier.back());
      longest = std::max(longest, c.keys_of(b));
    }
    KeyValueCache cache(attention,
                        {c.sizes.batch + 1, longest + static_cast<std::int64_t>(random() % 40)});
    DotProductCall call{.keys = earlier, .cache = &cache};
    if (random() % 2 == 0) {  // forgotten again
      attention.run(none_of(tensors.q), tokens_of(tensors.v, 0, before),
                    tokens_of(tensors.k, 0, before), none_of(tensors.out), call);
      cache.clear();
    }
    attention.run(none_of(tensors.q), tokens_of(tensors.k, 0, before),
                  tokens_of(tensors.v, 0, before), none_of(tensors.out), call);
    call.queries = c.queries;
    call.keys = later;
    call.mask = tensors.mask.view();
    if (call.mask.keys > 1) call.mask.keys = longest;
    attention.run(tensors.q.view(), tokens_of(tensors.k, before, c.sizes.keys - before),
                  tokens_of(tensors.v, before, c.sizes.keys - before), tensors.out.view(), call);
    ASSERT_TRUE(matches(tensors, c, GetParam().precision)) << "after " << before;
    for (std::int64_t b = 0; b < c.sizes.batch; ++b) ASSERT_EQ(cache.length(b), c.keys_of(b));
    ASSERT_EQ(cache.length(c.sizes.batch), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, DotProductCache, testing::ValuesIn(backend_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Precisions, DotProductCache, testing::ValuesIn(precision_cases()),
                         case_name);

class DotProductCacheFaults : public testing::Test {
 protected:
  // What a call of `sequences` says, which changes nothing then.
  std::string said(const DotProductCall& call, std::int64_t sequences = 2) {
    HeadsView q = tensors_.q.view(), k = tensors_.k.view(), v = tensors_.v.view(),
              out = tensors_.out.view();
    for (HeadsView* view : {&q, &k, &v, &out}) view->batch = sequences;
    const std::int64_t before = tensors_.out.untouched();
    try {
      attention_.run(q, k, v, out, call);
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(tensors_.out.untouched(), before);
      EXPECT_EQ(cache_.length(0), present_);
      return error.what();
    }
    return "it was taken";
  }

  Tensors tensors_{kPlain, 1};
  DotProductAttention attention_{kPlain.sizes, kPlain.rule, {.backend = "naive"}};
  KeyValueCache cache_{attention_, {2, 12}};
  std::int64_t present_ = 0;
};

TEST_F(DotProductCacheFaults, OfRoomNameTheSequence) {
  EXPECT_EQ(said({.cache = &cache_}), "it was taken");
  present_ = 9;
  EXPECT_EQ(said({.cache = &cache_}),
            "attention: sequence 0 has 9 tokens in the cache and 9 new ones; there is room for 12");
  cache_.truncate({0, 3});
  cache_.truncate({1, 3});
  present_ = 12;
  EXPECT_EQ(said({.cache = &cache_}), "it was taken");
}

TEST_F(DotProductCacheFaults, OfAnotherOwnerAreRefused) {
  DotProductAttention twin(kPlain.sizes, kPlain.rule, {.backend = "naive"});
  KeyValueCache other(twin, {2, 12});
  EXPECT_NE(said({.cache = &other}).find("the cache belongs to another object"), std::string::npos);
  KeyValueCache narrow(attention_, {1, 12});
  EXPECT_EQ(said({.cache = &narrow}), "attention: 2 sequences, and the cache has 1");
  EXPECT_EQ(said({.cache = &narrow}, 1), "it was taken");
  EXPECT_THROW(
      attention(tensors_.q.view(), tensors_.k.view(), tensors_.v.view(), tensors_.out.view(),
                kPlain.rule, {.backend = "naive"}, {.cache = &cache_}),
      InvalidArgument);
  EXPECT_THROW(KeyValueCache(attention_, {0, 12}), InvalidArgument);
  EXPECT_THROW(KeyValueCache(attention_, {2, std::int64_t{1} << 62}), InvalidArgument);
}

// A mask has the keys of the longest sequence, what is in the cache included.
TEST_F(DotProductCacheFaults, OfMasksCountTheKeysInTheCache) {
  const std::vector<std::int64_t> two{2, 1};
  EXPECT_EQ(said({.queries = two, .keys = two, .cache = &cache_}), "it was taken");
  present_ = 2;
  const std::vector<std::uint8_t> seen(12, 1);
  DotProductCall call{.cache = &cache_};
  call.mask.seen = seen.data();
  call.mask.keys = 9;
  EXPECT_NE(said(call).find("allowed for keys are 1 and 11"), std::string::npos);
  call.mask.keys = 11;
  present_ = 11;
  EXPECT_EQ(said(call), "it was taken");
  EXPECT_EQ(cache_.length(0), 11);
  EXPECT_EQ(cache_.length(1), 10);
}

}  // namespace
}  // namespace headroom::test::dot_product_cache_test

// Attention over queries, keys and values of the caller's own, beside a loop in double precision.
#include "headroom/dot_product.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "support/dot_product_calls.hpp"
#include "support/layer_cases.hpp"
#include "support/refusals.hpp"

namespace headroom::test::dot_product_test {
namespace {

class DotProduct : public LayerTest {};

TEST_P(DotProduct, MatchesDoublePrecision) {
  constexpr std::uint32_t kCalls = 150;
  for (std::uint32_t seed = 1; seed <= kCalls; ++seed) {
    std::mt19937 random(seed);
    const RandomCall c = random_case(random);
    SCOPED_TRACE(describe(c));
    Tensors tensors(c, seed);
    DotProductAttention attention(c.sizes, c.rule, GetParam().options());
    attention.run(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view(),
                  {c.queries, c.keys, tensors.mask.view()});
    ASSERT_TRUE(matches(tensors, c, GetParam().precision));
  }
}

TEST_P(DotProduct, TakesSmallerCallsThanItWasMadeFor) {
  DotProductAttention attention({3, 70, 300, 4, 2, 32}, {.causal = true}, GetParam().options());
  for (const RandomCall& c : {RandomCall{{1, 1, 300, 4, 2, 32}, {.causal = true}},
                              RandomCall{{3, 70, 70, 4, 2, 32}, {.causal = true}},
                              RandomCall{{2, 9, 33, 4, 2, 32}, {.causal = true}}}) {
    Tensors tensors(c, 7);
    attention.run(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view());
    EXPECT_TRUE(matches(tensors, c, GetParam().precision)) << describe(c);
  }
}

// Of many keys where they lie: heads side by side are cut into segments, heads apart are not.
TEST_P(DotProduct, HasTheBitsOfOneLayoutInEveryOther) {
  for (const std::int64_t window : {0, 1200}) {
    RandomCall c{{2, 2, 2300, 8, 2, 32}, {.causal = true, .window = window}};
    c.queries = {2, 1};
    c.keys = {2300, 1025};
    c.by_heads = true;
    Tensors apart(c, 7);
    c.by_heads = false;
    Tensors side(c, 7);
    for (Tensors* tensors : {&apart, &side}) {
      DotProductAttention attention(c.sizes, c.rule, GetParam().options());
      attention.run(tensors->q.view(), tensors->k.view(), tensors->v.view(), tensors->out.view(),
                    {c.queries, c.keys});
    }
    ASSERT_TRUE(matches(side, c, GetParam().precision));
    if (!GetParam().same_bits_everywhere()) continue;
    std::vector<float> of_apart, of_side;
    apart.out.each([&](const float& value) { of_apart.push_back(value); });
    side.out.each([&](const float& value) { of_side.push_back(value); });
    EXPECT_EQ(of_side, of_apart);
  }
}

// Exponentials of the last head's scores are infinite but for its own maximum.
TEST_P(DotProduct, GivesEachRowItsOwnMaximum) {
  const RandomCall c{{1, 1, 50, 4, 1, 64}, {}};
  Tensors tensors(c, 3);
  const HeadsView q = tensors.q.view();
  for (std::int64_t i = 0; i < q.head_dim; ++i) q.data[3 * q.head_stride + i] *= 100;
  DotProductAttention attention(c.sizes, c.rule, GetParam().options());
  attention.run(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view());
  EXPECT_TRUE(matches(tensors, c, GetParam().precision));
}

TEST_P(DotProduct, SaysOfItsKernelsWhatALayerSays) {
  const Layer layer = gaussian_layer(plain_shape(70, 32, 4, 8));
  const Attention of_layer = layer_for(layer.shape, layer.weights, GetParam().options());
  const DotProductAttention attention({1, 70, 70, 4, 4, 8}, {.causal = true}, GetParam().options());
  EXPECT_EQ(attention.choice().backend, of_layer.choice().backend);
  EXPECT_EQ(attention.choice().kernels, of_layer.choice().kernels);
  EXPECT_EQ(attention.choice().kernels_reason, of_layer.choice().kernels_reason);
  EXPECT_EQ(attention.choice().few_rows, of_layer.choice().few_rows);
  EXPECT_EQ(attention.choice().few_rows_reason, of_layer.choice().few_rows_reason);
}

INSTANTIATE_TEST_SUITE_P(Backends, DotProduct, testing::ValuesIn(backend_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Precisions, DotProduct, testing::ValuesIn(precision_cases()), case_name);

/// The same tensor as bf16.
class Narrow {
 public:
  explicit Narrow(Tensor& of) {
    for (const float value : of.values()) values_.push_back(round_to_bf16(value));
    const HeadsView like = of.view();
    view_ = {values_.data(), like.batch,        like.tokens,       like.heads,
             like.head_dim,  like.batch_stride, like.token_stride, like.head_stride};
  }
  BasicHeadsView<Bf16> view() const { return view_; }
  const std::vector<Bf16>& values() const { return values_; }

 private:
  std::vector<Bf16> values_;
  BasicHeadsView<Bf16> view_;
};

class DotProductOfBf16 : public LayerTest {};

// Each view by itself: what is read has the same values, and what is written is rounded once.
TEST_P(DotProductOfBf16, HasTheBitsOfFloatsRounded) {
  AttentionOptions options = GetParam().options();
  options.dtype = Dtype::bf16;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const RandomCall c = random_case(random);
    SCOPED_TRACE(describe(c));
    Tensors tensors(c, seed);
    for (Tensor* each : {&tensors.q, &tensors.k, &tensors.v, &tensors.out}) each->round();
    const Narrow q(tensors.q), k(tensors.k), v(tensors.v), out(tensors.out);
    const auto pick = [&](Tensor& wide, const Narrow& narrow) {
      return random() % 4 == 0 ? AnyHeads(wide.view()) : AnyHeads(narrow.view());
    };
    DotProductAttention attention(c.sizes, c.rule, options);
    const DotProductCall call{c.queries, c.keys, tensors.mask.view()};
    attention.run(pick(tensors.q, q), pick(tensors.k, k), pick(tensors.v, v), out.view(), call);
    attention.run(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view(), call);
    ASSERT_EQ(out.values(), Narrow(tensors.out).values());
  }
}

std::vector<LayerCase> bf16_cases() {
  std::vector<LayerCase> cases = backend_cases();
  const std::vector<LayerCase> precise = precision_cases();
  cases.insert(cases.end(), precise.begin(), precise.end());
  std::erase_if(cases, [](const LayerCase& one) {
    const AttentionOptions options = one.options();
    const Isa isa = options.isa ? *options.isa : available_isas().back();
    const Unit unit = options.unit ? *options.unit : available_units(isa).back();
    return !arithmetic_of(one.backend, {one.precision, Dtype::bf16}, {isa, unit}).precision;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Backends, DotProductOfBf16, testing::ValuesIn(bf16_cases()), case_name);

TEST(DotProductDtypes, OfAnotherLayerAreRefused) {
  Tensors tensors({{2, 5, 9, 4, 2, 8}, {}}, 1);
  const Narrow k(tensors.k);
  DotProductAttention attention({2, 5, 9, 4, 2, 8}, {}, {.backend = "xsimd"});
  try {
    attention.run(tensors.q.view(), k.view(), tensors.v.view(), tensors.out.view());
    FAIL() << "it was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("k is of bf16, and this was made for f32"),
              std::string::npos);
  }
}

TEST(DotProductDtypes, ThereAreNoWeightsToStore) {
  AttentionOptions options;
  options.weights_dtype = Storage::q8;
  expect_refused("weights_dtype is of layers", [&] {
    DotProductAttention({2, 5, 9, 4, 2, 8}, {}, options);
  });
}

class DotProductFaults : public testing::Test {
 protected:
  // What `run` says of views that `change` has spoilt; nothing was written then.
  template <class Change>
  std::string said(Change change, const DotProductCall& lengths = {}) {
    HeadsView q = tensors_.q.view(), k = tensors_.k.view(), v = tensors_.v.view(),
              out = tensors_.out.view();
    change(q, k, v, out);
    const std::int64_t before = tensors_.out.untouched();
    try {
      attention_.run(q, k, v, out, lengths);
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(tensors_.out.untouched(), before);
      return error.what();
    }
    return "it was taken";
  }

  Tensors tensors_{kPlain, 1};
  DotProductAttention attention_{kPlain.sizes, kPlain.rule, {.backend = "naive"}};
};

using View = HeadsView&;

testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' has no '" << part << "'";
}

TEST_F(DotProductFaults, OfSizesNameBothViews) {
  EXPECT_EQ(
      said([](View, View, View v, View) { v.tokens = 8; }),
      "attention: v is 2 x 8 x 2 x 8 (batch, tokens, heads, head_dim), and k is 2 x 9 x 2 x 8 "
      "(batch, tokens, heads, head_dim)");
  EXPECT_TRUE(has(said([](View, View, View, View out) { out.heads = 2; }), "out is 2 x 5 x 2 x 8"));
  EXPECT_TRUE(has(said([](View, View k, View v, View) { k.batch = v.batch = 1; }), "k is 1 x"));
  EXPECT_TRUE(has(said([](View, View k, View v, View) { k.heads = v.heads = 1; }),
                  "this was made for up to 2, 5 and 9, and for 4 and 2 heads of 8"));
}

TEST_F(DotProductFaults, OfStridesAndPointersNameTheView) {
  EXPECT_TRUE(has(said([](View, View k, View, View) { k.data = nullptr; }), "k is a null pointer"));
  EXPECT_TRUE(has(said([](View q, View, View, View) { q.token_stride = -32; }),
                  "q has the negative stride -32"));
  EXPECT_TRUE(has(said([](View, View, View v, View) {
                    v.batch_stride = std::numeric_limits<std::int64_t>::max() / 2;
                  }),
                  "v would span more than"));
  EXPECT_TRUE(has(said([](View, View, View, View out) { out.token_stride = 31; }),
                  "out overlaps itself: a stride of 31 where 32"));
  EXPECT_TRUE(
      has(said([](View q, View, View, View out) { q.data = out.data + 100; }), "out overlaps q"));
}

TEST_F(DotProductFaults, OfLengthsNameTheSequence) {
  const auto as_is = [](View, View, View, View) {};
  const std::vector<std::int64_t> one{1}, beyond{5, 6}, none{0, 9}, few{9, 4};
  EXPECT_TRUE(has(said(as_is, {one, {}}), "1 query lengths for 2 sequences"));
  EXPECT_TRUE(has(said(as_is, {beyond, {}}), "query length 1 is 6"));
  EXPECT_TRUE(has(said(as_is, {{}, none}), "sequence 0 has queries and no key"));
  EXPECT_TRUE(has(said(as_is, {{}, few}), "sequence 1 has 5 queries and 4 keys"));
}

TEST_F(DotProductFaults, OfMasksNameThem) {
  const auto as_is = [](View, View, View, View) {};
  const std::vector<float> added(400);
  const std::vector<std::uint8_t> seen(400);
  const auto with = [&](auto change) {
    DotProductCall call;
    call.mask.added = added.data();
    call.mask.keys = 9;
    change(call.mask);
    return said(as_is, call);
  };
  EXPECT_EQ(with([](MaskView&) {}), "it was taken");
  EXPECT_TRUE(has(with([&](MaskView& mask) { mask.seen = seen.data(); }), "give one of them"));
  EXPECT_TRUE(has(with([](MaskView& mask) { mask.keys = 8; }),
                  "the mask is 1 x 1 x 1 x 8 (batch, heads, queries, keys); allowed for keys are 1 "
                  "and 9"));
  EXPECT_TRUE(has(with([](MaskView& mask) { mask.heads = 2; }), "allowed for heads are 1 and 4"));
  EXPECT_TRUE(has(with([](MaskView& mask) { mask.key_stride = -1; }),
                  "the mask has the negative stride -1 of keys"));
  EXPECT_TRUE(has(with([](MaskView& mask) {
                    mask.batch = 2;
                    mask.batch_stride = std::numeric_limits<std::int64_t>::max() / 2;
                  }),
                  "the mask would span more than"));
  EXPECT_TRUE(has(with([&](MaskView& mask) { mask.added = tensors_.out.at(0, 1, 0); }),
                  "overlaps the mask"));
}

TEST(DotProductOptions, ThatMeanNothingAreRefused) {
  const DotProductSizes sizes = kPlain.sizes;
  EXPECT_THROW(DotProductAttention(sizes, {.window = -3}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {.softcap = -1}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {.scale = -1}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {.scale = std::nan("")}), InvalidArgument);
  EXPECT_THROW(DotProductAttention({2, 5, 9, 4, 3, 8}), InvalidArgument);
  EXPECT_THROW(DotProductAttention({2, 5, 0, 4, 2, 8}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {}, {.threads = -1}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {}, {.backend = "none"}), InvalidArgument);
}

// What streams keys needs no memory for queries before they are there.
TEST(DotProductSizes, OfManyQueriesTakeNoMemory) {
  constexpr std::int64_t kMany = std::int64_t{1} << 28;
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  for (const BackendInfo& backend : backends()) {
    if (!backend.available || backend.name == "naive" || backend.name == "autovec") continue;
    AttentionOptions options;
    options.backend = backend.name;
    options.threads = 1;
    const auto before = peak();
    const DotProductAttention attention({1, kMany, 4, 1, 1, 8}, {}, options);
    EXPECT_LT(peak() - before, 128) << backend.name << ", MiB";
  }
}

TEST(DotProductOnce, IsTheSameAsAnObject) {
  Tensors tensors(kPlain, 3);
  attention(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view(), kPlain.rule,
            {.backend = "auto"});
  EXPECT_TRUE(matches(tensors, kPlain, Precision::f32));
}

}  // namespace
}  // namespace headroom::test::dot_product_test

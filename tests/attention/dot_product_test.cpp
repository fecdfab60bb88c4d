// Attention over queries, keys and values of the caller's own, beside a loop in double precision.
#include "headroom/dot_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "attention/case_layer.hpp"
#include "backends/backend.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test {
namespace {

constexpr float kUntouched = 4321.0F;

/// Views over one block of memory, with gaps where `spread` asks for them.
class Tensor {
 public:
  Tensor(std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t head_dim,
         bool by_heads, std::int64_t gap, std::int64_t sequence_gap = 0) {
    const std::int64_t row = (by_heads ? 1 : heads) * head_dim + gap;
    view_.batch = batch;
    view_.tokens = tokens;
    view_.heads = heads;
    view_.head_dim = head_dim;
    view_.token_stride = row;
    view_.head_stride = by_heads ? tokens * row : head_dim;
    view_.batch_stride = (by_heads ? heads : 1) * tokens * row + sequence_gap;
    values_.assign(static_cast<std::size_t>(batch * view_.batch_stride + 1), kUntouched);
    view_.data = values_.data();
  }

  void fill(std::mt19937& random, float size = 1) {
    std::normal_distribution<float> normal(0, size);
    each([&](float& value) { value = normal(random); });
  }

  template <class Change>
  void each(Change change) {
    for (std::int64_t b = 0; b < view_.batch; ++b) {
      for (std::int64_t t = 0; t < view_.tokens; ++t) {
        for (std::int64_t h = 0; h < view_.heads; ++h) {
          for (std::int64_t c = 0; c < view_.head_dim; ++c) change(*at(b, t, h, c));
        }
      }
    }
  }

  float* at(std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t c = 0) {
    return values_.data() + b * view_.batch_stride + t * view_.token_stride +
           h * view_.head_stride + c;
  }
  HeadsView view() { return view_; }
  const std::vector<float>& values() const { return values_; }
  /// Every value becomes one that bf16 has.
  void round() {
    for (float& value : values_) value = round_to_bf16(value).value();
  }
  std::int64_t untouched() const { return std::count(values_.begin(), values_.end(), kUntouched); }

 private:
  HeadsView view_;
  std::vector<float> values_;
};

enum class MaskKind { none, added, added_bf16, seen };

struct RandomCall {
  DotProductSizes sizes;
  ScoreRule rule;
  bool by_heads = false;
  std::int64_t gap = 0;
  std::int64_t sequence_gap = 0;
  std::vector<std::int64_t> queries = {}, keys = {};  // lengths
  MaskKind mask = MaskKind::none;
  bool mask_batch = false, mask_heads = false, mask_queries = false, mask_keys = true;
  std::int64_t mask_gap = 0;  // values between those of keys

  std::int64_t kv_heads() const { return sizes.kv_heads > 0 ? sizes.kv_heads : sizes.heads; }
  std::int64_t rows(std::int64_t b) const {
    return queries.empty() ? sizes.queries : queries[static_cast<std::size_t>(b)];
  }
  std::int64_t keys_of(std::int64_t b) const {
    return keys.empty() ? sizes.keys : keys[static_cast<std::size_t>(b)];
  }
};

/// A mask of the case's sizes: many keys are hidden, of some rows all.
class Mask {
 public:
  Mask() = default;
  Mask(const RandomCall& of, std::mt19937& random) : kind_(of.mask) {
    if (kind_ == MaskKind::none) return;
    view_.batch = of.mask_batch ? of.sizes.batch : 1;
    view_.heads = of.mask_heads ? of.sizes.heads : 1;
    view_.queries = of.mask_queries ? of.sizes.queries : 1;
    view_.keys = of.mask_keys ? of.sizes.keys : 1;
    view_.key_stride = 1 + of.mask_gap;
    view_.query_stride = view_.keys * view_.key_stride + of.gap;
    view_.head_stride = view_.queries * view_.query_stride;
    view_.batch_stride = view_.heads * view_.head_stride;
    const auto count = static_cast<std::size_t>(view_.batch * view_.batch_stride);
    std::normal_distribution<float> normal(0, 2);
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    const bool lowest = random() % 3 == 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool hidden = random() % 3 == 0;
      seen_.push_back(hidden ? 0 : static_cast<std::uint8_t>(1 + random() % 255));
      added_.push_back(!hidden  ? normal(random)
                       : lowest ? std::numeric_limits<float>::lowest()
                                : kHidden);
    }
    for (std::int64_t row = 0; row < view_.batch * view_.heads * view_.queries; row += 5) {
      const auto first = static_cast<std::ptrdiff_t>(row * view_.query_stride);
      std::fill_n(seen_.begin() + first, view_.query_stride, 0);
      std::fill_n(added_.begin() + first, view_.query_stride,
                  lowest ? std::numeric_limits<float>::lowest() : kHidden);
    }
    if (kind_ == MaskKind::added) view_.added = added_.data();
    if (kind_ == MaskKind::added_bf16) {
      for (float& value : added_) {
        narrow_.push_back(round_to_bf16(value));
        value = narrow_.back().value();
      }
      view_.added_bf16 = narrow_.data();
    }
    if (kind_ == MaskKind::seen) view_.seen = seen_.data();
  }

  double at(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t j) const {
    if (kind_ == MaskKind::none) return 0;
    const auto i = static_cast<std::size_t>((view_.batch > 1 ? b : 0) * view_.batch_stride +
                                            (view_.heads > 1 ? h : 0) * view_.head_stride +
                                            (view_.queries > 1 ? t : 0) * view_.query_stride +
                                            (view_.keys > 1 ? j : 0) * view_.key_stride);
    if (kind_ != MaskKind::seen) return static_cast<double>(added_[i]);
    return seen_[i] != 0 ? 0 : -std::numeric_limits<double>::infinity();
  }
  const MaskView& view() const { return view_; }

 private:
  MaskKind kind_ = MaskKind::none;
  MaskView view_;
  std::vector<float> added_;
  std::vector<Bf16> narrow_;
  std::vector<std::uint8_t> seen_;
};

struct Tensors {
  Tensors(const RandomCall& of, std::uint32_t seed)
      : q(make(of, of.sizes.queries, of.sizes.heads)),
        k(make(of, of.sizes.keys, of.kv_heads())),
        v(make(of, of.sizes.keys, of.kv_heads())),
        out(make(of, of.sizes.queries, of.sizes.heads)) {
    std::mt19937 random(seed);
    q.fill(random);
    k.fill(random);
    v.fill(random);
    mask = Mask(of, random);
  }

  static Tensor make(const RandomCall& of, std::int64_t tokens, std::int64_t heads) {
    return {of.sizes.batch, tokens, heads, of.sizes.head_dim, of.by_heads, of.gap, of.sequence_gap};
  }

  Tensor q, k, v, out;
  Mask mask;
};

// One row, in the order of the definition.
std::vector<double> expected_row(Tensors& of, const RandomCall& c, std::int64_t b, std::int64_t t,
                                 std::int64_t h) {
  const std::int64_t keys = c.keys_of(b);
  const std::int64_t group = c.sizes.heads / c.kv_heads();
  const std::int64_t last = c.rule.causal ? keys - c.rows(b) + t : keys - 1;
  const std::int64_t first =
      c.rule.window > 0 ? std::max<std::int64_t>(last + 1 - c.rule.window, 0) : 0;
  const double scale =
      c.rule.scale > 0 ? c.rule.scale : 1 / std::sqrt(static_cast<double>(c.sizes.head_dim));
  std::vector<double> scores;
  for (std::int64_t j = first; j <= last; ++j) {
    double sum = 0;
    for (std::int64_t d = 0; d < c.sizes.head_dim; ++d) {
      sum += static_cast<double>(*of.q.at(b, t, h, d)) * *of.k.at(b, j, h / group, d);
    }
    scores.push_back(sum * scale + of.mask.at(b, h, t, j));
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  std::vector<double> row(static_cast<std::size_t>(c.sizes.head_dim));
  if (std::isinf(most)) return row;  // it sees no key
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - most);
  for (std::int64_t j = first; j <= last; ++j) {
    const double weight = scores[static_cast<std::size_t>(j - first)] / total;
    for (std::int64_t d = 0; d < c.sizes.head_dim; ++d) {
      row[static_cast<std::size_t>(d)] += weight * *of.v.at(b, j, h / group, d);
    }
  }
  return row;
}

testing::AssertionResult matches(Tensors& of, const RandomCall& c, Precision precision) {
  std::vector<float> found, expected;
  for (std::int64_t b = 0; b < c.sizes.batch; ++b) {
    for (std::int64_t t = 0; t < c.sizes.queries; ++t) {
      for (std::int64_t h = 0; h < c.sizes.heads; ++h) {
        if (t >= c.rows(b)) {
          if (*of.out.at(b, t, h) == kUntouched) continue;
          return testing::AssertionFailure() << "row " << t << " of " << b << " was written";
        }
        for (const double value : expected_row(of, c, b, t, h)) {
          expected.push_back(static_cast<float>(value));
        }
        const float* row = of.out.at(b, t, h);
        found.insert(found.end(), row, row + c.sizes.head_dim);
      }
    }
  }
  const auto rows = static_cast<std::int64_t>(found.size()) / c.sizes.head_dim;
  const auto view = [&](const std::vector<float>& values) {
    return ConstMatrixView{values.data(), rows, c.sizes.head_dim, c.sizes.head_dim};
  };
  return agree(view(found), view(expected), precision);
}

std::string describe(const RandomCall& c) {
  return "B" + std::to_string(c.sizes.batch) + " Q" + std::to_string(c.sizes.queries) + " K" +
         std::to_string(c.sizes.keys) + " H" + std::to_string(c.sizes.heads) + " of " +
         std::to_string(c.kv_heads()) + " D" + std::to_string(c.sizes.head_dim) +
         (c.rule.causal ? " causal" : "") + " window " + std::to_string(c.rule.window) + " scale " +
         std::to_string(c.rule.scale) + (c.by_heads ? " by heads" : "") + " gaps " +
         std::to_string(c.gap) + ", " + std::to_string(c.sequence_gap) +
         std::array{"", " mask added", " mask added as bf16",
                    " mask seen"}[static_cast<std::size_t>(c.mask)] +
         (c.mask_batch ? " B" : "") + (c.mask_heads ? " H" : "") + (c.mask_queries ? " Q" : "") +
         (c.mask_keys ? " K" : "");
}

// Sizes around those of tiles and panels; rows and keys of every relation.
RandomCall random_case(std::mt19937& random) {
  const auto one_of = [&](std::initializer_list<std::int64_t> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  };
  RandomCall c;
  c.sizes.batch = one_of({1, 1, 2, 3});
  c.sizes.queries = one_of({1, 2, 5, 14, 17, 33, 64, 70});
  c.sizes.keys = one_of({1, 7, 16, 32, 33, 65, 130, 300});
  c.sizes.kv_heads = one_of({0, 1, 2});
  c.sizes.heads = std::max<std::int64_t>(c.sizes.kv_heads, 1) * one_of({1, 2, 3});
  c.sizes.head_dim = one_of({1, 8, 20, 32, 64, 96});
  c.rule.causal = random() % 2 == 0;
  if (c.rule.causal) {
    c.sizes.keys = std::max(c.sizes.keys, c.sizes.queries);
    c.rule.window = one_of({0, 0, 1, 9, 100});
  }
  c.rule.scale = random() % 3 == 0 ? 0.05 * static_cast<double>(1 + random() % 20) : 0;
  c.by_heads = random() % 2 == 0;
  c.gap = one_of({0, 0, 3, 16});
  c.sequence_gap = one_of({0, 0, 5, 1 << 10});
  c.mask = static_cast<MaskKind>(random() % 4);
  c.mask_batch = random() % 2 == 0;
  c.mask_heads = random() % 2 == 0;
  c.mask_queries = random() % 2 == 0;
  c.mask_keys = random() % 8 != 0;
  c.mask_gap = one_of({0, 0, 2});
  if (random() % 3 == 0) {
    for (std::int64_t b = 0; b < c.sizes.batch; ++b) {
      const auto rows = static_cast<std::int64_t>(random()) % (c.sizes.queries + 1);
      const std::int64_t least = c.rule.causal ? std::max<std::int64_t>(rows, 1) : 1;
      c.queries.push_back(rows);
      c.keys.push_back(least + static_cast<std::int64_t>(random()) % (c.sizes.keys - least + 1));
    }
  }
  return c;
}

class DotProduct : public LayerTest {
 protected:
  static AttentionOptions options() { return GetParam().options(); }
};

TEST_P(DotProduct, MatchesDoublePrecision) {
  constexpr std::uint32_t kCalls = 150;
  for (std::uint32_t seed = 1; seed <= kCalls; ++seed) {
    std::mt19937 random(seed);
    const RandomCall c = random_case(random);
    SCOPED_TRACE(describe(c));
    Tensors tensors(c, seed);
    DotProductAttention attention(c.sizes, c.rule, options());
    attention.run(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view(),
                  {c.queries, c.keys, tensors.mask.view()});
    ASSERT_TRUE(matches(tensors, c, GetParam().precision));
  }
}

TEST_P(DotProduct, TakesSmallerCallsThanItWasMadeFor) {
  DotProductAttention attention({3, 70, 300, 4, 2, 32}, {.causal = true}, options());
  for (const RandomCall& c : {RandomCall{{1, 1, 300, 4, 2, 32}, {.causal = true}},
                              RandomCall{{3, 70, 70, 4, 2, 32}, {.causal = true}},
                              RandomCall{{2, 9, 33, 4, 2, 32}, {.causal = true}}}) {
    Tensors tensors(c, 7);
    attention.run(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view());
    EXPECT_TRUE(matches(tensors, c, GetParam().precision)) << describe(c);
  }
}

TEST_P(DotProduct, SaysOfItsKernelsWhatALayerSays) {
  const Layer layer = gaussian_layer(plain_shape(70, 32, 4, 8));
  const Attention of_layer = layer_for(layer.shape, layer.weights, options());
  const DotProductAttention attention({1, 70, 70, 4, 4, 8}, {.causal = true}, options());
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
    return !arithmetic_of(one.backend, one.precision, Dtype::bf16, {isa, unit}).precision;
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

const RandomCall kPlain{{2, 5, 9, 4, 2, 8}, {.causal = true}};

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
  EXPECT_THROW(DotProductAttention(sizes, {.window = 3}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {.scale = -1}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {.scale = std::nan("")}), InvalidArgument);
  EXPECT_THROW(DotProductAttention({2, 5, 9, 4, 3, 8}), InvalidArgument);
  EXPECT_THROW(DotProductAttention({2, 5, 0, 4, 2, 8}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {}, {.threads = -1}), InvalidArgument);
  EXPECT_THROW(DotProductAttention(sizes, {}, {.backend = "none"}), InvalidArgument);
}

TEST(DotProductOnce, IsTheSameAsAnObject) {
  Tensors tensors(kPlain, 3);
  attention(tensors.q.view(), tensors.k.view(), tensors.v.view(), tensors.out.view(), kPlain.rule,
            {.backend = "auto"});
  EXPECT_TRUE(matches(tensors, kPlain, Precision::f32));
}

}  // namespace
}  // namespace headroom::test

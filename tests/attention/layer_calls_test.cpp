// One layer, many calls: a row's bits do not depend on how it is reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/case_layer.hpp"
#include "support/call_shapes.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_calls_test {
namespace {

// Long enough for several segments of keys.
Case long_shape() {
  Case shape = plain_shape(1300, 24, 3, 8);
  shape.d_proj = 20;
  return shape;
}

std::vector<Case> call_shapes() {
  Case plain = plain_shape(150, 40, 3, 20);
  plain.d_proj = 24;
  Case grouped = plain_shape(70, 33, 8, 21);
  grouped.kv_heads = 1;
  Case dropped = plain;
  dropped.dropout = 0.25;
  Case neighbours = plain;
  neighbours.rotary.pairs = Rotary::Pairs::neighbours;
  Case narrow = plain;
  narrow.window = 3;
  return {plain, grouped, dropped, neighbours, narrow, with_everything(), long_shape()};
}

Matrix whole_pass(const LayerCase& who, const Layer& layer, Attention& attention) {
  static_cast<void>(who);
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  return y;
}

class LayerCalls : public LayerTest {};

TEST_P(LayerCalls, OneLayerIsEveryLengthsOwn) {
  const Layer layer = gaussian_layer(long_shape());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  for (const std::int64_t tokens : {1, 1024, 3, 17, 128, 1300, 1}) {
    Layer shorter = layer;
    shorter.shape.tokens = tokens;
    shorter.x = Matrix(tokens, layer.shape.d_in);
    std::copy_n(layer.x.values.begin(), shorter.x.values.size(), shorter.x.values.begin());
    Matrix y(tokens, layer.shape.output_width());
    attention.forward(shorter.x.view(), y.view());
    EXPECT_TRUE(equal_for(GetParam(), y.view(), run(GetParam(), shorter).view()))
        << tokens << " tokens";
  }
}

// In chunks of these sizes, and then single tokens.
TEST_P(LayerCalls, ChunksAndStepsGiveTheBitsOfOnePass) {
  for (const Case& shape : call_shapes()) {
    const Layer layer = gaussian_layer(shape);
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
    const Matrix expected = whole_pass(GetParam(), layer, attention);
    KeyValueCache cache(attention, {1, shape.tokens});
    for (const Lengths& chunks : {Lengths{1, 2, 30}, Lengths{shape.tokens}, Lengths{64, 5}}) {
      Matrix y(shape.rows(), shape.output_width());
      std::int64_t done = 0;
      for (std::size_t i = 0; done < shape.tokens; ++i) {
        const std::int64_t left = shape.tokens - done;
        // Steps of one token at the end, and chunks as long as it would take many.
        const std::int64_t wanted = i < chunks.size() ? chunks[i] : (left > 40 ? left - 40 : 1);
        const std::int64_t count = std::min(wanted, left);
        attention.forward(rows(layer.x, done, count), rows_of(y, done, count), {.cache = &cache});
        done += count;
        ASSERT_EQ(cache.length(), done);
      }
      EXPECT_TRUE(equal_for(GetParam(), y.view(), expected.view()))
          << shape.id() << " in chunks from " << chunks.front();
      cache.clear();
    }
  }
}

// Two sequences in padded chunks, of which only the last tokens are asked about.
TEST_P(LayerCalls, AppendedTokensAreSeenLikeThoseOfForward) {
  for (Case shape : call_shapes()) {
    shape.dropout = 0;  // its pattern knows the sequence's place
    const Layer layer = gaussian_layer(shape);
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
    const Matrix expected = whole_pass(GetParam(), layer, attention);
    KeyValueCache cache(attention, {2, shape.tokens});
    const std::int64_t end = shape.tokens - 3;
    for (std::int64_t done = 0; done < end;) {
      const std::int64_t count = std::min<std::int64_t>(done % 2 == 0 ? 33 : 8, end - done);
      Matrix padded(2 * 40, shape.d_in);
      std::copy_n(layer.x.view().row(done), count * shape.d_in, padded.view().row(40));
      Call call;
      const Lengths lengths{0, count};
      call.lengths = lengths;
      call.padded_tokens = 40;
      call.cache = &cache;
      attention.append(padded.view(), call);
      done += count;
      ASSERT_EQ(cache.length(0), 0);
      ASSERT_EQ(cache.length(1), done);
    }
    Call call;
    const Lengths lengths{0, 3};
    call.lengths = lengths;
    call.cache = &cache;
    Matrix y(3, shape.output_width());
    attention.forward(rows(layer.x, end, 3), y.view(), call);
    EXPECT_TRUE(equal_for(GetParam(), y.view(), rows(expected, end, 3))) << shape.id();
  }
}

TEST_P(LayerCalls, ThreadsThatShareASequenceGiveTheSameBits) {
  Case shape = long_shape();
  shape.heads = 1;
  const Layer layer = gaussian_layer(shape);
  Attention one = layer_for(layer.shape, layer.weights, GetParam().options(1));
  const Matrix expected = whole_pass(GetParam(), layer, one);
  for (const int threads : {2, 3, 7}) {
    if (GetParam().backend != "tbb" && threads > 2) continue;
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options(threads));
    KeyValueCache cache(attention, {1, shape.tokens});
    Matrix y(shape.rows(), shape.output_width());
    const std::int64_t prompt = shape.tokens - 20;
    attention.forward(rows(layer.x, 0, prompt), rows_of(y, 0, prompt), {.cache = &cache});
    for (std::int64_t t = prompt; t < shape.tokens; ++t) {
      attention.forward(rows(layer.x, t, 1), rows_of(y, t, 1), {.cache = &cache});
    }
    EXPECT_TRUE(equal_for(GetParam(), y.view(), expected.view())) << threads << " threads";
  }
}

TEST_P(LayerCalls, TruncatingForgets) {
  const Layer layer = gaussian_layer(with_everything());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  const Matrix expected = whole_pass(GetParam(), layer, attention);
  KeyValueCache cache(attention, {1, layer.shape.tokens});
  Matrix other = gaussian_input(layer.shape.rows(), layer.shape, 99);
  // NaN in what is forgotten must not be remembered.
  std::fill_n(other.values.begin() + 70 * other.cols, other.cols,
              std::numeric_limits<float>::quiet_NaN());
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(rows(layer.x, 0, 60), rows_of(y, 0, 60), {.cache = &cache});
  attention.forward(rows(other, 60, 50), rows_of(y, 60, 50), {.cache = &cache});
  cache.truncate({0, 60});
  EXPECT_EQ(cache.length(0), 60);
  attention.forward(rows(layer.x, 60, 90), rows_of(y, 60, 90), {.cache = &cache});
  EXPECT_TRUE(equal_for(GetParam(), y.view(), expected.view()));
}

// Another cache, with more room and the sequences in another order, goes on with the same bits.
TEST_P(LayerCalls, ATakenCacheGoesOn) {
  for (const Case& each : call_shapes()) {
    Layer layer = gaussian_layer(each);
    layer.shape.dropout = 0;  // its pattern depends on the sequence's place
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
    const Matrix expected = whole_pass(GetParam(), layer, attention);
    const std::int64_t tokens = layer.shape.tokens, past = tokens - 20;
    KeyValueCache first(attention, {3, past + 7});
    Matrix y(tokens, layer.shape.output_width());
    const Lengths lengths{0, 7, past};
    Matrix x(7 + past, layer.shape.d_in);
    std::copy_n(layer.x.values.begin(), 7 * x.cols, x.values.begin());
    std::copy_n(layer.x.values.begin(), past * x.cols, x.values.begin() + 7 * x.cols);
    // NaN after what is there must not come along.
    std::vector<float> nans(static_cast<std::size_t>(7 * x.cols),
                            std::numeric_limits<float>::quiet_NaN());
    Matrix out(7 + past, layer.shape.output_width());
    attention.forward(x.view(), out.view(), {.lengths = lengths, .cache = &first});
    const Lengths only_last{0, 0, 7};
    attention.forward({nans.data(), Dtype::f32, 7, x.cols, x.cols}, rows_of(out, 0, 7),
                      {.lengths = only_last, .cache = &first});
    first.truncate({2, past});

    KeyValueCache second(attention, {2, tokens});
    second.take(first, Lengths{2, 1});
    EXPECT_EQ(second.length(0), past);
    EXPECT_EQ(second.length(1), 7);
    const Lengths rest{20, 0};
    attention.forward(rows(layer.x, past, 20), rows_of(y, past, 20),
                      {.lengths = rest, .cache = &second});
    EXPECT_TRUE(equal_for(GetParam(), rows_of(y, past, 20), rows(expected, past, 20)))
        << layer.shape.id();
    EXPECT_EQ(first.length(2), past);
  }
}

/// Each sequence by itself, one after the other.
Matrix one_by_one(const Layer& layer, Attention& attention, const Lengths& lengths) {
  Matrix y(layer.x.rows, layer.shape.output_width());
  std::int64_t first = 0;
  for (const std::int64_t length : lengths) {
    Call call;
    const Lengths alone{length};
    call.lengths = alone;
    attention.forward(rows(layer.x, first, length), rows_of(y, first, length), call);
    first += length;
  }
  return y;
}

TEST_P(LayerCalls, ATakenCacheOfLatentsGoesOn) {
  Case shape = plain_shape(30, 24, 3, 16);
  shape.value_dim = 8;
  shape.latent = {.rank = 20, .shared = 4};
  shape.rotary.pairs = Rotary::Pairs::halves;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(shape, layer.weights, GetParam().options());
  Matrix y(30, shape.output_width()), again(30, shape.output_width());
  KeyValueCache first(attention, {1, 30});
  attention.forward(rows(layer.x, 0, 21), rows_of(y, 0, 21), {.cache = &first});
  KeyValueCache second(attention, {2, 40});
  second.take(first, Lengths{0, 0});
  second.truncate({0, 0});
  attention.forward(rows(layer.x, 21, 9), rows_of(y, 21, 9), {.cache = &first});
  const Lengths lengths{0, 9};
  attention.forward(rows(layer.x, 21, 9), rows_of(again, 21, 9),
                    {.lengths = lengths, .cache = &second});
  EXPECT_TRUE(equal_for(GetParam(), rows_of(again, 21, 9), rows(y, 21, 9)));
}

// One and two tokens of 16 heads are scored against latents as they lie, three against packed ones;
// over more than a block of keys, of which the first are out of sight.
TEST_P(LayerCalls, StepsOfManyHeadsOverLatentsHaveTheBitsOfLongerOnes) {
  Case shape = plain_shape(300, 24, 16, 12);
  shape.value_dim = 8;
  shape.latent = {.rank = 64, .shared = 4};
  shape.rotary.pairs = Rotary::Pairs::halves;
  shape.window = 280;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(shape, layer.weights, GetParam().options());
  Matrix expected(300, shape.output_width()), y(300, shape.output_width());
  KeyValueCache cache(attention, {1, 300});
  attention.forward(rows(layer.x, 0, 294), rows_of(expected, 0, 294), {.cache = &cache});
  for (std::int64_t at = 294; at < 300; at += 3)
    attention.forward(rows(layer.x, at, 3), rows_of(expected, at, 3), {.cache = &cache});
  for (const std::int64_t tokens : {1, 2}) {
    cache.truncate({0, 294});
    for (std::int64_t at = 294; at < 300; at += tokens) {
      attention.forward(rows(layer.x, at, tokens), rows_of(y, at, tokens), {.cache = &cache});
    }
    EXPECT_TRUE(equal_for(GetParam(), rows_of(y, 294, 6), rows(expected, 294, 6)))
        << tokens << " tokens a call";
  }
}

TEST_P(LayerCalls, RaggedBatchesAreTheirSequences) {
  for (Case shape : call_shapes()) {
    if (shape.dropout > 0) continue;  // its pattern goes by the place in the call
    for (const Lengths& lengths :
         {Lengths{1, 17, 0, 64}, Lengths{0, 0, 5}, Lengths{33, 32, 1, 1, 2}, Lengths{70}}) {
      shape.batch = 1;
      Layer layer = gaussian_layer(shape);
      layer.x.rows = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
      layer.x.values.resize(static_cast<std::size_t>(layer.x.rows * layer.x.cols));
      Case wider = shape;
      wider.batch = 2;
      Attention attention = layer_for(wider, layer.weights, GetParam().options());
      Matrix y(layer.x.rows, shape.output_width());
      Call call;
      call.lengths = lengths;
      attention.forward(layer.x.view(), y.view(), call);
      EXPECT_TRUE(equal_for(GetParam(), y.view(), one_by_one(layer, attention, lengths).view()))
          << shape.id() << " with " << lengths.size() << " sequences";
    }
  }
}

// Rows beside a sequence's own are neither read, as they are NaN, nor written.
class PaddedCall {
 public:
  PaddedCall(std::int64_t d_proj, bool before) {
    Case shape = with_everything();
    shape.tokens = 20;
    shape.batch = 3;
    shape.d_proj = d_proj;
    layer_ = gaussian_layer(shape);
    call_.lengths = lengths_;
    call_.padded_tokens = 20;
    call_.padded_before = before;
    for (std::int64_t r = 0; r < 60; ++r) {
      if (is_padding(r)) {
        std::fill_n(layer_.x.view().row(r), shape.d_in, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }

  void check(const LayerCase& who) const {
    constexpr float kUntouched = 4711;
    Matrix y(60, layer_.shape.output_width());
    std::fill(y.values.begin(), y.values.end(), kUntouched);
    layer_for(layer_.shape, layer_.weights, who.options())
        .forward(layer_.x.view(), y.view(), call_);
    for (std::int64_t s = 0; s < 3; ++s) {
      const std::int64_t length = lengths_[static_cast<std::size_t>(s)];
      const std::int64_t first = first_of(s);
      Layer alone = layer_;
      alone.shape.batch = 1;
      alone.shape.tokens = length;
      alone.x = Matrix(length, layer_.shape.d_in);
      std::copy_n(layer_.x.view().row(first), alone.x.values.size(), alone.x.values.begin());
      EXPECT_TRUE(equal_for(who, rows(y, first, length), run(who, alone).view()));
    }
    for (std::int64_t r = 0; r < 60; ++r) {
      if (!is_padding(r)) continue;
      EXPECT_EQ(std::count(y.view().row(r), y.view().row(r) + y.cols, kUntouched), y.cols) << r;
    }
  }

 private:
  std::int64_t first_of(std::int64_t sequence) const {
    const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
    return 20 * sequence + (call_.padded_before ? 20 - length : 0);
  }
  bool is_padding(std::int64_t row) const {
    const std::int64_t first = first_of(row / 20);
    return row < first || row >= first + lengths_[static_cast<std::size_t>(row / 20)];
  }

  Lengths lengths_{7, 0, 20};
  Layer layer_;
  Call call_;
};

TEST_P(LayerCalls, PaddedRowsAreNeitherReadNorWritten) {
  for (const std::int64_t d_proj : {24, 0}) {
    for (const bool before : {false, true}) PaddedCall(d_proj, before).check(GetParam());
  }
}

TEST_P(LayerCalls, CachesOfSeveralSequencesGrowApart) {
  const Layer layer = gaussian_layer(with_everything());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  const Matrix expected = whole_pass(GetParam(), layer, attention);
  KeyValueCache cache(attention, {3, layer.shape.tokens});
  // All three are the same sequence, at different places.
  Lengths done{0, 0, 0};
  for (const Lengths& lengths :
       {Lengths{5, 0, 1}, Lengths{1, 40, 1}, Lengths{0, 1, 60}, Lengths{30, 30, 30}}) {
    Matrix x(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}), layer.x.cols);
    Matrix y(x.rows, layer.shape.output_width());
    float* to = x.values.data();
    for (std::size_t s = 0; s < 3; ++s) {
      to = std::copy_n(layer.x.view().row(done[s]), lengths[s] * x.cols, to);
    }
    Call call;
    call.cache = &cache;
    call.lengths = lengths;
    attention.forward(x.view(), y.view(), call);
    std::int64_t first = 0;
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_TRUE(
          equal_for(GetParam(), rows(y, first, lengths[s]), rows(expected, done[s], lengths[s])));
      first += lengths[s];
      done[s] += lengths[s];
      EXPECT_EQ(cache.length(static_cast<std::int64_t>(s)), done[s]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerCalls, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::layer_calls_test

// Random calls of attention without weights, and what double precision makes of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "headroom/dot_product.hpp"

namespace headroom::test {

inline constexpr float kUntouchedOutput = 4321.0F;
/// What calls with large scores add; its sum with one is still a float.
inline constexpr float kLargestAdded = 0x1p127F;

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
    values_.assign(static_cast<std::size_t>(batch * view_.batch_stride + 1), kUntouchedOutput);
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
  std::int64_t untouched() const {
    return std::count(values_.begin(), values_.end(), kUntouchedOutput);
  }

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
  float largest = 0;          // not 0: of scores, and what masks add is up to `kLargestAdded`

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
    const float low = of.largest > 0 ? -kLargestAdded : std::numeric_limits<float>::lowest();
    std::uniform_real_distribution<float> share(0, 1);
    const auto drawn = [&] {
      if (of.largest == 0) return normal(random);
      return std::copysign(std::pow(kLargestAdded, share(random)), normal(random));
    };
    for (std::size_t i = 0; i < count; ++i) {
      const bool hidden = random() % 3 == 0;
      seen_.push_back(hidden ? 0 : static_cast<std::uint8_t>(1 + random() % 255));
      added_.push_back(!hidden ? drawn() : lowest ? low : kHidden);
    }
    for (std::int64_t row = 3; row < view_.batch * view_.heads * view_.queries; row += 5) {
      const auto first = static_cast<std::ptrdiff_t>(row * view_.query_stride);
      std::fill_n(seen_.begin() + first, view_.query_stride, 0);
      std::fill_n(added_.begin() + first, view_.query_stride, lowest ? low : kHidden);
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
    if (of.largest > 0) stretch(of, random);
    v.fill(random);
    mask = Mask(of, random);
  }

  /// Sizes of queries and keys of a head go from 1 to what gives the largest score.
  void stretch(const RandomCall& of, std::mt19937& random) {
    std::uniform_real_distribution<float> share(0, 0.5F), direction(-1, 1);
    for (Tensor* each : {&q, &k}) {
      const float size = std::pow(of.largest, share(random));
      const float most = size / std::sqrt(static_cast<float>(of.sizes.head_dim));
      each->each([&](float& value) { value = most * direction(random); });
    }
  }

  static Tensor make(const RandomCall& of, std::int64_t tokens, std::int64_t heads) {
    return {of.sizes.batch, tokens, heads, of.sizes.head_dim, of.by_heads, of.gap, of.sequence_gap};
  }

  Tensor q, k, v, out;
  Mask mask;
};

/// The rows that are there, within what the precision allows; the others as they were.
testing::AssertionResult matches(Tensors& of, const RandomCall& c, Precision precision);

std::string describe(const RandomCall& c);

/// A small call for tests of faults.
inline const RandomCall kPlain{{2, 5, 9, 4, 2, 8}, {.causal = true}};

/// Sizes around those of tiles and panels; rows and keys of every relation.
RandomCall random_case(std::mt19937& random);

}  // namespace headroom::test

#include "support/dot_product_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "support/layer_cases.hpp"

namespace headroom::test {
namespace {

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
    const double cap = c.rule.softcap;
    const double score = cap > 0 ? cap * std::tanh(sum * scale / cap) : sum * scale;
    scores.push_back(score + of.mask.at(b, h, t, j));
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

}  // namespace

testing::AssertionResult matches(Tensors& of, const RandomCall& c, Precision precision) {
  std::vector<float> found, expected;
  for (std::int64_t b = 0; b < c.sizes.batch; ++b) {
    for (std::int64_t t = 0; t < c.sizes.queries; ++t) {
      for (std::int64_t h = 0; h < c.sizes.heads; ++h) {
        if (t >= c.rows(b)) {
          if (*of.out.at(b, t, h) == kUntouchedOutput) continue;
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
  constexpr const char* kMasks[] = {"none", "added", "added as bf16", "seen"};
  return fmt::format(
      "B{} Q{} K{} H{} of {} D{}{} window {} scale {} cap {}{} gaps {}, {} mask {}{}{}{}{}",
      c.sizes.batch, c.sizes.queries, c.sizes.keys, c.sizes.heads, c.kv_heads(), c.sizes.head_dim,
      c.rule.causal ? " causal" : "", c.rule.window, c.rule.scale, c.rule.softcap,
      c.by_heads ? " by heads" : "", c.gap, c.sequence_gap,
      kMasks[static_cast<std::size_t>(c.mask)], c.mask_batch ? " B" : "", c.mask_heads ? " H" : "",
      c.mask_queries ? " Q" : "", c.mask_keys ? " K" : "");
}

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
  if (random() % 3 == 0) c.rule.softcap = random() % 2 == 0 ? 1.5 : 30;
  return c;
}

}  // namespace headroom::test

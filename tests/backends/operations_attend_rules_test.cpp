// The rules of softmax, masks and dropout of docs/numerics.md, checked for `attend` of every
// backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/attend_problem.hpp"

namespace headroom::test::operations_attend_rules_test {
namespace {

using OperationAttendRules = OperationAttend;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A NaN or Inf at a token of head 1: rows before it and other heads keep their bits, and every row
// that sees it is told. Neighbouring tokens, because the first row of a tile has no row before it
// that could be hurt.
TEST_P(OperationAttendRules, MaskedSpecialsDoNotLeak) {
  const Case shape = attention_shape(70, 24, 3);
  const AttendProblem clean = make_problem(shape);
  run(clean);
  const auto check = [&](std::int64_t token, float special, bool in_key) {
    const AttendProblem values = make_problem(shape);
    (in_key ? values.k() : values.v()).at(token, 1)[7] = special;
    run(values);
    for (std::int64_t r = 0; r < shape.tokens; ++r) {
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        const auto row = values.out_row(r, h);
        if (h != 1 || r < token) {
          ASSERT_TRUE(same_bits(row, clean.out_row(r, h)))
              << special << " at token " << token << ": row " << r << " head " << h;
          continue;
        }
        for (std::size_t d = 0; d < row.size(); ++d) {
          if (in_key && std::isinf(special)) continue;  // the sign of q decides: see below
          const bool reached = in_key || d == 7;
          ASSERT_EQ(!std::isfinite(row[d]), reached)
              << special << (in_key ? " key" : " value") << " row " << r << " column " << d;
        }
      }
    }
  };
  for (const std::int64_t token : {20, 21, 22}) {
    for (const float special : {kNan, kInf, -kInf}) {
      for (const bool in_key : {true, false}) check(token, special, in_key);
    }
  }
}

TEST_P(OperationAttendRules, ANanInAQueryStaysInItsRow) {
  const Case shape = attention_shape(70, 24, 3);
  const AttendProblem clean = make_problem(shape);
  run(clean);
  const AttendProblem values = make_problem(shape);
  values.q().at(33, 2)[5] = kNan;
  run(values);
  for (std::int64_t r = 0; r < shape.tokens; ++r) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const auto row = values.out_row(r, h);
      if (r == 33 && h == 2) {
        EXPECT_TRUE(std::all_of(row.begin(), row.end(), [](float x) { return std::isnan(x); }));
      } else {
        EXPECT_TRUE(same_bits(row, clean.out_row(r, h))) << "row " << r << " head " << h;
      }
    }
  }
}

// Without a mask every row sees a NaN in a key.
TEST_P(OperationAttendRules, AnUnmaskedNanReachesEveryRowOfItsHead) {
  const Case shape = attention_shape(70, 24, 2, 2, false);
  const AttendProblem values = make_problem(shape);
  values.k().at(shape.tokens + 69, 1)[0] = kNan;
  run(values);
  for (std::int64_t r = 0; r < shape.rows(); ++r) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const bool reached = r >= shape.tokens && h == 1;
      for (const float x : values.out_row(r, h)) ASSERT_EQ(std::isnan(x), reached) << r << ' ' << h;
    }
  }
}

// A score of -inf has weight 0, also where a whole block of keys scores -inf before any other.
TEST_P(OperationAttendRules, ScoresOfMinusInfinityWeighNothing) {
  const Case shape = attention_shape(300, 8, 2, 1, false);
  const AttendProblem values = make_problem(shape);
  for_each(values.q(), [](float& q) { q = std::fabs(q) + 0.5f; });
  for (std::int64_t j = 0; j + 1 < shape.tokens; ++j) values.k().at(j, 0)[3] = -kInf;
  run(values);
  const float* last = values.v().at(shape.tokens - 1, 0);
  for (std::int64_t r = 0; r < shape.tokens; ++r) {
    for (std::size_t d = 0; d < 8;
         ++d) {  // a weight of 1, but for the rounding of exp and division
      ASSERT_NEAR(values.out_row(r, 0)[d], last[d], std::fabs(last[d]) * 0x1p-21f) << "row " << r;
    }
    for (const float x : values.out_row(r, 1)) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST_P(OperationAttendRules, LargeLogitsMatchADoubleLoop) {
  for (const float factor : {4.0f, 30.0f, 1e4f}) {
    for (const bool causal : {true, false}) {
      const AttendProblem values = make_problem(attention_shape(130, 64, 2, 1, causal));
      for_each(values.q(), [factor](float& q) { q *= factor; });
      run(values);
      ASSERT_TRUE(matches(values)) << "queries times " << factor;
    }
  }
}

// Small scores are capped by a polynomial and larger ones by others, of whole rows or of single
// scores: a few large queries among the others give rows of every kind.
TEST_P(OperationAttendRules, CapsMatchADoubleLoop) {
  for (const double cap : {1e-30, 1e-3, 0.7, 5.0, 50.0, 1e30}) {
    for (const bool causal : {true, false}) {
      for (const std::int64_t tokens : {1, 40, 530}) {
        Case shape = attention_shape(tokens, 16, 2, 1, causal);
        shape.softcap = cap;
        const AttendProblem values = make_problem(shape);
        for (std::int64_t r = 0; r < tokens; r += 3) {
          const auto factor = static_cast<float>(1 + r % 7 * r % 29);
          std::for_each_n(values.q().at(r, 1), 16, [factor](float& q) { q *= factor; });
        }
        for (std::int64_t r = 2; r < tokens; r += 97) {
          std::for_each_n(values.k().at(r, 0), 16, [](float& k) { k *= 40; });
        }
        run(values);
        ASSERT_TRUE(matches(values)) << "cap " << cap;
      }
    }
  }
}

// Scores below those that are small are not looked at where the row's maximum is far above them,
// and are where it is one of them.
TEST_P(OperationAttendRules, CapsMatchFarBelowTheMaximumToo) {
  for (const double cap : {2.0, 5.0, 30.0, 50.0}) {
    const double small = 0.1875 * cap;
    for (const double most : {-4.0, -0.99, -0.4, 0.0, 0.9}) {
      Case shape = attention_shape(200, 16, 1, 1, false);
      shape.softcap = cap;
      const AttendProblem values = make_problem(shape);
      for (std::int64_t r = 0; r < shape.tokens; ++r) {
        std::fill_n(values.q().at(r, 0), 16, 0.0F);
        values.q().at(r, 0)[0] = 1;
        // From the largest score down to one of four caps, most of them near the largest.
        const double down = 4 * cap * std::pow(static_cast<double>(r) / 199.0, 3);
        values.k().at(r, 0)[0] = static_cast<float>((most * small - down) / shape.score_scale());
      }
      run(values);
      ASSERT_TRUE(matches(values)) << "cap " << cap << ", maximum at " << most;
    }
  }
}

// Whether a neighbour's score is small, or hidden, or in another tile, is nothing to a row's bits.
TEST_P(OperationAttendRules, CapsGiveARowTheSameBitsBesideAnyOthers) {
  Case shape = attention_shape(300, 16, 2);
  shape.softcap = 8;
  const AttendProblem all = make_problem(shape);
  const auto raise = [](const AttendProblem& of, std::int64_t row, std::int64_t head) {
    std::for_each_n(of.q().at(row, head), 16, [](float& q) { q *= 9; });
  };
  for (const std::int64_t row : {7, 8, 100, 290}) raise(all, row, 0);
  run(all);
  for (const std::int64_t tokens : {8, 9, 101, 263, 291}) {
    shape.tokens = tokens;
    const AttendProblem some = make_problem(shape);
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t r = 0; r < tokens; ++r) {
        std::copy_n(all.q().at(r, h), 16, some.q().at(r, h));
        std::copy_n(all.k().at(r, h), 16, some.k().at(r, h));
        std::copy_n(all.v().at(r, h), 16, some.v().at(r, h));
      }
    }
    if (tokens == 291) raise(some, 289, 0);
    run(some);
    ASSERT_TRUE(matches(some)) << tokens;
    if (GetParam().backend == "onednn") continue;  // whose rows are the same within rounding
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t r = 0; r < tokens; ++r) {
        if (tokens == 291 && r == 289) continue;
        ASSERT_TRUE(same_bits(some.out_row(r, h), all.out_row(r, h)))
            << "row " << r << " head " << h << " of " << tokens;
      }
    }
  }
}

// A weight far below the maximum is 0, not the smallest normal number; huge values would show that.
TEST_P(OperationAttendRules, WeightsFarBelowTheMaximumAreZero) {
  const Case shape = attention_shape(40, 16, 1, 1, false);
  const AttendProblem values = make_problem(shape);
  for_each(values.q(), [](float& q) { q = 10.0f; });
  for_each(values.k(), [](float& k) { k = -10.0f; });
  for_each(values.v(), [](float& v) { v = 1e38f; });
  std::fill_n(values.k().at(17, 0), shape.head_dim(), 10.0f);
  std::fill_n(values.v().at(17, 0), shape.head_dim(), 1.0f);
  run(values);
  for (const float x : values.out_values()) ASSERT_EQ(x, 1.0f);
}

TEST_P(OperationAttendRules, DropoutMatchesADoubleLoop) {
  for (const std::int64_t tokens : {1, 33, 130, 257}) {
    for (const bool causal : {true, false}) {
      Case shape = attention_shape(tokens, 40, 2, tokens > 200 ? 1 : 2, causal);
      shape.dropout = 0.3;
      shape.dropout_seed = 99;
      const AttendProblem values = make_problem(shape);
      run(values);
      ASSERT_TRUE(matches(values));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, OperationAttendRules, testing::ValuesIn(operation_cases()),
                         operation_case_name);

}  // namespace
}  // namespace headroom::test::operations_attend_rules_test

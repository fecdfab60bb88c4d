// How far a result may be from the oracle's beyond the bound of f32 (element_bound.hpp), where the
// operands of products hold fewer bits.
//
// An operand is off by at most u' of itself: u' = 2^-8 for one bf16 part (8 bits, rounded to
// nearest). Two parts hold 16 bits, so each operand is off by 2^-16, and the product of the smaller
// parts is left out, which is 2^-16 of the whole: 3 * 2^-16 of each product, so u' = 1.5 * 2^-16
// stands for one operand. All of these errors are independent. The standard deviation of a
// product's is at most sqrt(2/3) u' of it, and six of them add up to 5 u': a sum of products p is
// off by 5 u' sqrt(sum p^2), which is not the sum of |p| that roundings of sums go by, and for
// wide rows some tens of times smaller.
//
// 1. Projections: with Qz = sqrt(sum (x W_q)^2) + |q|, q is off by at most 5 u' Qz as an operand of
//    the next product, its own rounding included; k and v likewise. Rotary positions turn sizes as
//    they turn values: |c| Qz1 + |s| Qz2.
// 2. Score j is off by 10 u' L_j with L_j = scale / 2 sqrt(sum_d (Qz_d k_d)^2 + (q_d Kz_d)^2).
//    Where there is no k (attend_factored) L_j is scale |x_j|.(|W_k| Qz), which is more.
// 3. Weights: as in 3 of element_bound.hpp with these t_j. Each p_j is rounded as an operand, too,
//    and V has the error of 1: 6 u' sum_j f_j p_j Vz_j.
// 4. The output projection: its operands are rounded, 2 u' sum_j f_j p_j Vz_j; all passes through
//    |W_o|, as sums within a head, whose elements share the errors of its weights, and as the root
//    of squares over heads.
//    Where heads are given, an operand is off by its own rounding alone: with Qz = |q| that is u'
//    in place of 5 u' in 1 to 3.
// 5. y itself may be stored as bf16: u' |y|.
//
// Rows that are rounded to bytes (int8) are off by u' = 1 / 254 of the largest size in their group
// of 32, whose share is what Qz takes for x in 1. Weights are what is stored, and scores and
// weighted values are computed in f32. Of the context u' of the group's largest size is added
// before the output projection, in place of 2 u' in 4.
//
// 6. Of a cache in eight bits the bytes are multiplied as well. A query times the scales d of a
//    block of keys is rounded in groups of 32 channels, whose largest is G: score j is off by
//    5 u' scale sqrt(sum_c (G_c b_jc)^2) more, with the bytes b = k / d of the key. That is one
//    more term under the root of 2. Weights times the scales of their values are rounded to 255
//    steps, in groups of 32 keys, whose largest is M: the context is off by up to 1 / 510 sum_j M_j
//    |b_j| more, with the bytes of the values. Weights that are alike have errors that are alike,
//    so these add up as they are.
//
// Fitted with reference_coarse_test: see there for what comes closest.
#pragma once

#include <cmath>

#include "core/case.hpp"
#include "reference/element_bound.hpp"

namespace headroom::reference {

/// u' of a class of limits other than f32.
inline double operand_rounding(Precision operands) {
  switch (operands) {
    case Precision::bf16x3:
      return 1.5 * 0x1p-16;
    case Precision::int8:
      return 1 / 254.0;
    default:
      return 0x1p-8;
  }
}

/// Qz of 1, from a value and the sum of the squares of its products.
inline double coarse_size(double value, double squares) {
  return std::sqrt(squares) + std::abs(value);
}

/// Of 6: the largest error of a weight that is rounded to a byte, as a share of its group's
/// largest.
inline constexpr double kWeightRounding = 1 / 510.0;

/// How many u' of a size that products are off by, see 2 and 4.
inline double operand_share(const Case& shape) { return shape.has_projections() ? 5 : 1; }

/// What an error of a whole query counts as beside sizes that count as often as `operand_share`.
inline double query_share(const Case& shape) { return 5 / operand_share(shape); }

/// In the units of `bound_factors`.
inline BoundFactors coarse_factors(const Case& shape, Precision operands) {
  const double roundings = operand_rounding(operands) / kFloatEpsilon;
  BoundFactors factors;
  const double operand = operand_share(shape);
  factors.value = (operand + 1) * roundings;
  factors.logit = 4 * operand * roundings;  // of u = eps / 2
  if (shape.d_proj > 0 && operands != Precision::int8) factors.output = 2 * roundings;
  return factors;
}

}  // namespace headroom::reference

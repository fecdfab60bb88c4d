// How far a result in float may be from the oracle's, element by element.
//
// No bound relative to |r| is possible: outputs may cancel to zero. So the bound follows the sizes
// of the terms that were summed. With u = 2^-24, eps = 2 u, and each rounding a random error of its
// own, a sum of n products is off by about u sqrt(n) times the sum of their absolute values (Higham
// and Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 2019).
// Errors of separate sums add as the root of squares.
//
// 1. Projections: |dq| <= u sqrt(d_in) Qa with Qa = |x| |W_q| + |b_q|; for k and v likewise. It is
//    Qa that counts, not |q|, which may have cancelled.
// 2. Score j of a row: |ds_j| <= scale u (sqrt(d_in) (Qa.|k_j| + |q|.Ka_j) + sqrt(head_dim)
// |q|.|k_j|)
//                              <= u c1 L_j,   c1 = 4 + sqrt(2 d_in + head_dim),
//    with L_j = scale (Qa.|k_j| + |q|.Ka_j) / 2, which is at most the L = scale max (Qa.Ka) of
//    docs/numerics.md; 4 for the scale and what it is folded into. The distance to the row's
//    maximum is rounded, made the exponent's argument and reduced, which adds 3 u |s_j - max s|. So
//    exp(s_j) is off by a factor within exp(+-t_j), t_j = u (c1 L_j + 3 |s_j - max s|).
//    A rotary position turns pairs of values, q1' = c q1 - s q2, with c and s rounded once, two
//    products and a difference. With Qa1' = |c| Qa1 + |s| Qa2 and root of squares as above,
//      |dq1'| <= u sqrt(d_in) Qa1' + u sqrt(2 (c q1)^2 + 2 (s q2)^2 + q1'^2)
//             <= u sqrt(d_in + 3) Qa1',
//    since |c q1| + |s q2| is at most Qa1'; k likewise. (The angle is computed in double, and off
//    by some 2^-52 of itself.) So L_j is made of turned values and sizes, and
//    c1 = 4 + sqrt(2 (d_in + 3) + head_dim).
//    A norm, q' = w q / r with r^2 = mean(q^2) + epsilon over n values, passes an error dq on as
//      dq' = w / r (dq - q sum(q dq) / (n r^2)),  so  Qa' = |w| / r (Qa + |q| sum(|q| Qa) / (n
//      r^2)),
//    which is twice |q'| and more; its own roundings, some four and those of the sum of squares
//    halved by the root, count as 8 more in d_in + 3.
//    A cap, s' = c tanh(s / c), has a slope of 1 - (s'/c)^2, and tanh rounds a few times:
//      L_j' = L_j (1 - (s'/c)^2) + |s'|.
//    A bias by position b is rounded once, as is the sum with it: |b| more in L_j. What a mask adds
//    is not, but its sums are: as much more. Keys that it hides are left out of all that follows.
//    A sink is one more p_k in the sums of 3 below, whose t_k is 3 u |s_k - max s|.
//    A latent c of k, with |dc| <= u sqrt(d_in) Ca, gives Ka = Ca |W_k| as c is normed like q
//    above, and its own sum of rank r counts as r more in d_in, as do the roundings of its norm;
//    likewise for q and v. In the absorbed order (W_k^T q).c is a sum over the same products, whose
//    roundings are within those of |q|.Ka; its second sum over r counts as r once more. Keys and
//    values of a second input have its width in place of their d_in, here and in c0. Heads that are
//    given have no error of a projection: d_in = 0 and Qa = |q|, Ka = |k|, Va = |v|.
// 3. Weight j becomes p_j exp(d_j) / S with |d_k| <= t_k and S = sum_k p_k exp(d_k), thus
//    |dp_j| / p_j = |sum_k p_k (exp(d_j) - exp(d_k))| / S
//                <= ((1 - p_j) g_j + sum_{k != j} p_k g_k) exp(sum_k p_k t_k),  g = exp(t) - 1:
//    to first order at most eps c1 L, and nothing for a weight that has no rival. It is never more
//    than 1, which is all that holds where float cannot distinguish the scores.
// 4. Besides, exp and the division round a few times, the sum of weights and P V are sums of n
//    visible keys, and V has the error of 1:  eps c0 sum_j f_j p_j Va_j,  c0 = 4 + sqrt(d_in + 8
//    n), f being dropout's factors. The 8 is fitted: weights and values that are all alike are
//    where roundings are least independent.
// 5. A weight below the smallest normal float may become 0: 2^-125 sum_j f_j Va_j, with a factor
//    of 2 to spare as everywhere.
// 6. The output projection: eps c2 (... |W_o| + |b_o|),  c2 = 4 + 2 sqrt(d_out), or the
//    width of the context where values have one of their own, the 2 because sums begin with b_o,
//    beside which small terms vanish one after the other.
//
// All of it but |b_o| passes through |W_o|, so it is collected as one weight per Va_j. As long
// as the t_j are small, the bound is at most that of docs/numerics.md,
// eps (P Va (c0 + c1 L) + c2 P Va) |W_o| + 2^-125 sum(Va) |W_o|; that one lets even a result of
// zeros pass where inputs are 30-fold and wide, because Qa.Ka is some hundred times |q.k| there.
//
// Fitted with tests/fit_bound on 2026-11-21: 1,400 random layers of all options and seven kinds of
// data, every backend, formulation and instruction set of an x86-64 machine with AVX-512 (GCC 12.2,
// xsimd 8.1, oneDNN 2.6.3, oneTBB 2021.8), and PyTorch 2.13.0; then 1,400 more that the factors
// were not fitted on, without PyTorch. Largest error / bound:
//
//                naive  autovec  xsimd  onednn  tbb   PyTorch
//   first 1,400  0.36   0.36     0.36   0.33    0.36  0.29
//   all 2,800    0.40   0.40     0.40   0.40    0.40
//
//   standard 0.18   30-fold 0.31   large logits 0.36   cancelling 0.20   offset of 100 0.19
//   all positive 0.40   any scale 0.29
//
// Of the faults of tests/support/planted.hpp that changed more than a thousandth of a result,
// 22,510 of 22,634 were found; the others lie in layers where float may lose as much, such as
// tokens with an offset of 100 and 400 wide, or 30-fold ones with a scale that is 5 % off. In the
// layers of reference_planted_test all are found, the least of them, one element off by 1 %, at
// 1.7 times the bound.
//
// Calls with a past, groups of heads, windows, rotary positions, lengths or a second input need no
// other factors: over 1,400 random ones, in float loops that sum from first to last, the same
// program found at most 0.25 on 2026-11-22, with rotary positions and without.
//
// Not covered: rows, columns or tokens that are equal to the bit, whose roundings all go the same
// way. 1,042 equal tokens of width 1 reach 1.3.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case.hpp"
#include "reference/steps/softmax.hpp"

namespace headroom::reference {

/// The factors c0, c1 and c2, of one row.
struct BoundFactors {
  double value = 0;   ///< c0
  double logit = 0;   ///< c1
  double output = 0;  ///< c2; 0 without an output projection
};

/// @param visible keys that the row sees
BoundFactors bound_factors(const Case& shape, std::int64_t visible);

/// Turns `logits`, the `L_j`, into the weights of `Va_j` in the bound, in units of eps.
/// @param dropout the factors `f_j`; empty for none
void weigh_bound(const BoundFactors& factors, const Softmax& softmax,
                 const std::vector<float>& dropout, std::vector<double>& logits);

inline constexpr double kFloatEpsilon = 0x1p-23;

}  // namespace headroom::reference

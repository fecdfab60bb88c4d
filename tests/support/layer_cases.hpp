// Every way in which this machine can run the layer, and the small helpers that its tests share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "headroom/headroom.hpp"
#include "reference/comparator.hpp"
#include "support/layer_data.hpp"

namespace headroom::test {

/// One backend x formulation x instruction-set level, and for parts the unit.
struct LayerCase {
  std::string backend;
  Formulation formulation = Formulation::split;
  std::optional<Isa> isa;  ///< empty for backends that have no level to choose
  Precision precision = Precision::f32;
  std::string skip_reason;                  ///< why it cannot run here; empty if it can
  std::optional<Unit> unit = std::nullopt;  ///< only of other precisions than f32

  /// @param threads 0: two, so that work is divided; but one for oneDNN, whose OpenMP threads spin
  ///        and slow down whatever else is tested at the same time.
  AttentionOptions options(int threads = 0) const;
  /// `naive`, `xsimd` and `tbb` promise bits that depend on nothing but the input; `autovec` is
  /// the same source as `naive`. Only a library that chooses its own blocking may differ.
  bool same_bits_everywhere() const { return backend != "onednn"; }
};

std::ostream& operator<<(std::ostream& out, const LayerCase& layer_case);

/// All formulations of all backends at all levels, also those that have to be skipped here.
std::vector<LayerCase> layer_cases();

/// Every other precision than f32 that xsimd and tbb compute with on this machine, on every unit;
/// the emulated one at the highest level.
std::vector<LayerCase> precision_cases();

/// The same with one formulation, for tests that run over the formulations themselves.
std::vector<LayerCase> backend_cases();

/// Such as `xsimd_split_avx512`.
std::string case_name(const testing::TestParamInfo<LayerCase>& info);

/// Skips what this machine cannot run, with the reason.
class LayerTest : public testing::TestWithParam<LayerCase> {
 protected:
  void SetUp() override;
};

/// A new `Attention`, run once.
Matrix run(const LayerCase& layer_case, const Layer& layer, int threads = 0);

/// Bit patterns, so that a NaN equals itself and 0 differs from -0.
bool same_bits(ConstMatrixView a, ConstMatrixView b);
bool same_bits(const Matrix& a, const Matrix& b);

/// Rows `first` to `first + count`.
ConstMatrixView rows(const Matrix& matrix, std::int64_t first, std::int64_t count);

/// Two results of equal value that were rounded differently: each is allowed the limits of
/// docs/numerics.md for standard data against the truth, so their distance is held to the same.
testing::AssertionResult agree(ConstMatrixView a, ConstMatrixView b,
                               Precision precision = Precision::f32);
testing::AssertionResult agree(const Matrix& a, const Matrix& b,
                               Precision precision = Precision::f32);

/// Equal to the bit where the backend promises that, else `agree`.
testing::AssertionResult equal_for(const LayerCase& layer_case, ConstMatrixView a,
                                   ConstMatrixView b);

/// A causal layer of one sequence without an output projection.
Case plain_shape(std::int64_t tokens, std::int64_t d_in, std::int64_t heads, std::int64_t head_dim);

}  // namespace headroom::test

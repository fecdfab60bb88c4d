// The two operations as plain loops. One source, textbook.cpp, is compiled several times: without
// vectorisation for `naive`, and once per instruction set for `autovec`.
//
// Only plain structs and C functions here: an inline function or template shared with other files
// could be kept by the linker in its widest copy and crash older machines, unless it is always
// inlined.
#pragma once

#include <cstdint>

#include "core/call/key_range.hpp"
#include "core/call/score_mask.hpp"
#include "core/element/cache_bytes.hpp"

namespace headroom::textbook {

/// `Y = X W (+ b)`; column `c` of row `r` of Y is at
/// `y + r * y_row_stride + (c / block_cols) * y_block_stride + c % block_cols`.
struct ProjectArgs {
  const float* x;
  std::int64_t x_row_stride;
  const float* weights;  ///< `depth x (blocks * block_cols)`, no padding
  const float* bias;     ///< `blocks * block_cols`, or null
  float* y;
  std::int64_t y_row_stride;
  std::int64_t y_block_stride;
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t blocks;
  std::int64_t block_cols;
};

/// Some rows of one head of one sequence. Rows of q, k, v and out have separate strides.
struct HeadArgs {
  const float* q;
  const float* k;
  const float* rounded_k;  ///< likewise, of blocks of keys before a row's own; null: as k
  const float* v;
  float* out;
  std::int64_t q_stride;
  std::int64_t k_stride;
  std::int64_t v_stride;
  std::int64_t out_stride;
  std::int64_t rows;
  std::int64_t position;  ///< of the first row
  std::int64_t keys;
  std::int64_t head_dim;
  std::int64_t value_dim;  ///< of v and out
  MaskRule rule;
  float divisor;      ///< of scores
  float softcap;      ///< 0 for none
  const float* sink;  ///< null for none
  ScoreMask mask;     ///< of this head
  float* weights;     ///< `rows x keys`, the head's scores and then attention weights
};

[[gnu::always_inline]] constexpr KeyRange seen_keys(const HeadArgs& a, std::int64_t row) {
  return visible_keys(a.rule, a.position + row, a.keys);
}

/// One compilation of the loops.
struct Kernels {
  void (*project)(const ProjectArgs& args);
  /// Fills `weights` with `softmax(cap(q k^T / divisor) + mask)`; entries that `rule` hides are
  /// left alone.
  void (*attention_weights)(const HeadArgs& args);
  /// `out = weights v`, masked entries skipped.
  void (*weighted_values)(const HeadArgs& args);
};

namespace scalar {
extern const Kernels kKernels;
}
namespace sse42 {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
namespace neon {
extern const Kernels kKernels;
}

}  // namespace headroom::textbook

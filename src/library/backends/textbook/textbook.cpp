#include "backends/textbook/textbook.hpp"

#include "core/call/read_mask.hpp"

// The C functions, not the inline overloads of <cmath>: see textbook.hpp.
#include <math.h>  // NOLINT(modernize-deprecated-headers)

#ifndef HEADROOM_ISA_NAMESPACE
#define HEADROOM_ISA_NAMESPACE scalar
#endif

namespace headroom::textbook::HEADROOM_ISA_NAMESPACE {
namespace {

// Every column sums in the order of k, whatever its neighbours are, so narrow and wide matrices
// give the same bits.
void project(const ProjectArgs& a) {
  const std::int64_t cols = a.blocks * a.block_cols;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const float* x = a.x + r * a.x_row_stride;
    float* y_row = a.y + r * a.y_row_stride;
    for (std::int64_t b = 0; b < a.blocks; ++b) {
      float* y = y_row + b * a.y_block_stride;
      for (std::int64_t c = 0; c < a.block_cols; ++c) {
        y[c] = a.bias != nullptr ? a.bias[b * a.block_cols + c] : 0.0f;
      }
    }
    for (std::int64_t k = 0; k < a.depth; ++k) {
      const float x_k = x[k];
      for (std::int64_t b = 0; b < a.blocks; ++b) {
        const float* __restrict w = a.weights + k * cols + b * a.block_cols;
        float* __restrict y = y_row + b * a.y_block_stride;
        for (std::int64_t c = 0; c < a.block_cols; ++c) y[c] += x_k * w[c];
      }
    }
  }
}

void softmax(float* row, std::int64_t count, const float* sink) {
  float largest = row[0];
  for (std::int64_t j = 1; j < count; ++j) {
    if (row[j] > largest) largest = row[j];
  }
  if (sink != nullptr && *sink > largest) largest = *sink;
  float sum = sink != nullptr ? ::expf(*sink - largest) : 0.0f;
  for (std::int64_t j = 0; j < count; ++j) {
    row[j] = ::expf(row[j] - largest);
    sum += row[j];
  }
  for (std::int64_t j = 0; j < count; ++j) row[j] /= sum;
}

void attention_weights(const HeadArgs& a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const float* __restrict q = a.q + i * a.q_stride;
    float* __restrict row = a.weights + i * a.keys;
    const KeyRange seen = seen_keys(a, i);
    const std::int64_t own = a.rounded_k != nullptr ? cache_block(a.position + i) : 0;
    const float* earlier = a.rounded_k != nullptr ? a.rounded_k : a.k;
    for (std::int64_t j = seen.begin; j < seen.end; ++j) {
      const float* __restrict k = (j < own ? earlier : a.k) + j * a.k_stride;
      float score = 0.0f;
      for (std::int64_t d = 0; d < a.head_dim; ++d) score += q[d] * k[d];
      row[j] = score / a.divisor;
    }
    if (a.softcap > 0) {
      for (std::int64_t j = seen.begin; j < seen.end; ++j) {
        row[j] = a.softcap * ::tanhf(row[j] / a.softcap);
      }
    }
    const std::int64_t count = seen.end - seen.begin;
    if (a.mask.any() && !add_mask(a.mask, 0, i, seen.begin, count, row + seen.begin)) {
      for (std::int64_t j = seen.begin; j < seen.end; ++j) row[j] = 0.0f;
      continue;
    }
    softmax(row + seen.begin, count, a.sink);
  }
}

void weighted_values(const HeadArgs& a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const float* __restrict row = a.weights + i * a.keys;
    float* __restrict out = a.out + i * a.out_stride;
    const KeyRange seen = seen_keys(a, i);
    for (std::int64_t d = 0; d < a.value_dim; ++d) out[d] = 0.0f;
    for (std::int64_t j = seen.begin; j < seen.end; ++j) {
      const float weight = row[j];
      const float* __restrict v = a.v + j * a.v_stride;
      for (std::int64_t d = 0; d < a.value_dim; ++d) out[d] += weight * v[d];
    }
  }
}

}  // namespace

const Kernels kKernels = {project, attention_weights, weighted_values};

}  // namespace headroom::textbook::HEADROOM_ISA_NAMESPACE

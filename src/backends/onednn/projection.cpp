#include "backends/onednn/projection.hpp"

#include <algorithm>

#include "core/arena.hpp"
#include "core/side_by_side.hpp"

namespace headroom::onednn {
namespace {

using dnnl::memory;
constexpr auto kFloat = memory::data_type::f32;
constexpr auto kRowMajor = memory::format_tag::ab;

bool is_dense(const BlockedView& y) {
  const bool blocks_touch = y.blocks == 1 || y.block_stride == y.block_cols;
  return blocks_touch && (y.rows == 1 || y.row_stride == y.cols());
}

}  // namespace

// oneDNN's fast kernels need x and Y without gaps between rows; for any other stride it falls back
// to kernels that take twice as long. Copying the rows costs a few tenths of a per cent, so views
// with gaps, such as a head's columns of a wider matrix, go through dense scratch memory.
OnednnProduct::OnednnProduct(int threads, std::shared_ptr<SharedScratch> scratch, std::int64_t rows,
                             const ProductSpec& spec)
    : threads_(threads),
      scratch_(std::move(scratch)),
      rows_(rows),
      depth_(spec.weights.front().rows),
      cols_(total_cols(spec.weights)) {
  if (rows_ == 0) return;
  threads_ =
      worthwhile_threads(threads, 2.0 * static_cast<double>(rows_) * static_cast<double>(depth_) *
                                      static_cast<double>(cols_));
  const ThreadCount count(threads_);
  const bool biased = !spec.biases.empty();
  const memory::desc x({rows_, depth_}, kFloat, kRowMajor);
  const memory::desc any({depth_, cols_}, kFloat, memory::format_tag::any);
  const memory::desc bias({1, cols_}, kFloat, kRowMajor);
  const memory::desc y({rows_, cols_}, kFloat, kRowMajor);
  const auto plan =
      describe_matmul(device_.engine, x, any, biased ? &bias : nullptr, y, user_scratchpad());
  require_memory_for_code();
  matmul_ = dnnl::matmul(plan);
  provenance_ = plan.impl_info_str();
  pack_weights(spec, plan.weights_desc());
  if (biased) {
    bias_ = end_to_end(spec.biases, spec.weights, cols_);
    bias_memory_ = memory(bias, device_.engine, bias_.data());
  }
  x_ = memory(x, device_.engine, nullptr);
  y_ = memory(y, device_.engine, nullptr);
  scratchpad_ = memory(plan.scratchpad_desc(), device_.engine, nullptr);
  workspace_bytes_ =
      scratch_->reserve(SharedScratch::Use::primitive, floats_of(plan.scratchpad_desc())) +
      scratch_->reserve(SharedScratch::Use::input, rows_ * depth_) +
      scratch_->reserve(SharedScratch::Use::output, rows_ * cols_);
}

void OnednnProduct::pack_weights(const ProductSpec& spec, const memory::desc& packed) {
  packed_ = AlignedBuffer(floats_of(packed));
  weights_ = memory(packed, device_.engine, packed_.data());
  ConstMatrixView whole = spec.weights.front();
  AlignedBuffer joined;
  if (spec.weights.size() > 1) {
    const ArenaScope temporary(0);
    joined = side_by_side(spec.weights);
    whole = {joined.data(), depth_, cols_, cols_};
  }
  const memory::desc plain({depth_, cols_}, kFloat, memory::dims{whole.row_stride, 1});
  memory source(plain, device_.engine, const_cast<float*>(whole.data));
  require_memory_for_code();
  dnnl::reorder(source, weights_).execute(device_.stream, source, weights_);
  device_.stream.wait();
}

void OnednnProduct::run(ConstMatrixView x, const BlockedView& y) {
  if (rows_ == 0) return;
  const ThreadCount count(threads_);
  const float* input = x.data;
  if (rows_ > 1 && x.row_stride != depth_) {
    float* dense = scratch_->data(SharedScratch::Use::input);
    parallel_for(threads_, rows_,
                 [&](std::int64_t r, int) { std::copy_n(x.row(r), depth_, dense + r * depth_); });
    input = dense;
  }
  if (is_dense(y)) {
    multiply(input, y.data);
    return;
  }
  float* dense = scratch_->data(SharedScratch::Use::output);
  multiply(input, dense);
  parallel_for(threads_, rows_, [&](std::int64_t r, int) {
    for (std::int64_t b = 0; b < y.blocks; ++b) {
      std::copy_n(dense + r * cols_ + b * y.block_cols, y.block_cols, y.at(r, b));
    }
  });
}

void OnednnProduct::multiply(const float* x, float* y) {
  x_.set_data_handle(const_cast<float*>(x));
  y_.set_data_handle(y);
  scratchpad_.set_data_handle(scratch_->data(SharedScratch::Use::primitive));
  const dnnl_exec_arg_t x_arg{DNNL_ARG_SRC, x_.get()};
  const dnnl_exec_arg_t weights_arg{DNNL_ARG_WEIGHTS, weights_.get()};
  const dnnl_exec_arg_t y_arg{DNNL_ARG_DST, y_.get()};
  const dnnl_exec_arg_t scratch_arg{DNNL_ARG_SCRATCHPAD, scratchpad_.get()};
  if (bias_.size() > 0) {
    const dnnl_exec_arg_t bias_arg{DNNL_ARG_BIAS, bias_memory_.get()};
    execute(matmul_, device_.stream, std::array{x_arg, weights_arg, y_arg, scratch_arg, bias_arg});
  } else {
    execute(matmul_, device_.stream, std::array{x_arg, weights_arg, y_arg, scratch_arg});
  }
}

OperationCosts OnednnProduct::costs() const {
  return {packed_.bytes() + bias_.bytes(), workspace_bytes_, provenance_};
}

}  // namespace headroom::onednn

#include "backends/onednn/projection.hpp"

#include <algorithm>
#include <cstring>

#include "core/arena.hpp"
#include "core/element/convert.hpp"
#include "core/side_by_side.hpp"

namespace headroom::onednn {
namespace {

using dnnl::memory;
constexpr auto kFloat = memory::data_type::f32;
constexpr auto kRowMajor = memory::format_tag::ab;

bool is_dense(const AnyBlockedView& y) {
  if (y.dtype != Dtype::f32) return false;
  const bool blocks_touch = y.blocks == 1 || y.block_stride == y.block_cols;
  return blocks_touch && (y.rows == 1 || y.row_stride == y.blocks * y.block_cols);
}

}  // namespace

OnednnProduct::OnednnProduct(int threads, Operand operand, std::shared_ptr<SharedScratch> scratch,
                             std::int64_t rows, const ProductSpec& spec)
    : threads_(threads),
      operand_(operand),
      scratch_(std::move(scratch)),
      most_rows_(rows),
      depth_(spec.weights.front().rows),
      cols_(total_cols(spec.weights)) {
  if (most_rows_ == 0) return;
  if (!spec.biases.empty()) {
    bias_ = end_to_end(spec.biases, cols_);
    bias_memory_ = memory({{1, cols_}, kFloat, kRowMajor}, device_.engine, bias_.data());
  }
  const auto plan =
      describe(most_rows_, {{depth_, cols_}, type_of(operand), memory::format_tag::any});
  require_memory_for_code();
  pack_weights(spec, plan.weights_desc());
  sizes_.reserve(kMostSizes);
  sizes_.push_back(make_ready(most_rows_, plan));
  workspace_bytes_ +=
      scratch_->reserve(SharedScratch::Use::input, floats_for(operand, most_rows_ * depth_)) +
      scratch_->reserve(SharedScratch::Use::output, most_rows_ * cols_);
}

dnnl::matmul::primitive_desc OnednnProduct::describe(std::int64_t rows,
                                                     const memory::desc& weights) const {
  const ThreadCount count(worthwhile_threads(threads_, flops(rows)));
  const memory::desc x({rows, depth_}, type_of(operand_), kRowMajor);
  const memory::desc bias({1, cols_}, kFloat, kRowMajor);
  const memory::desc y({rows, cols_}, kFloat, kRowMajor);
  return describe_matmul(device_.engine, x, weights, bias_.size() > 0 ? &bias : nullptr, y,
                         user_scratchpad());
}

OnednnProduct::Ready OnednnProduct::make_ready(std::int64_t rows,
                                               const dnnl::matmul::primitive_desc& plan) {
  Ready ready;
  ready.rows = rows;
  ready.threads = worthwhile_threads(threads_, flops(rows));
  const ThreadCount count(ready.threads);
  require_memory_for_code();
  ready.matmul = dnnl::matmul(plan);
  ready.provenance = plan.impl_info_str();
  ready.x = memory(plan.src_desc(), device_.engine, nullptr);
  ready.y = memory(plan.dst_desc(), device_.engine, nullptr);
  ready.scratchpad = memory(plan.scratchpad_desc(), device_.engine, nullptr);
  workspace_bytes_ +=
      scratch_->reserve(SharedScratch::Use::primitive, floats_of(plan.scratchpad_desc()));
  return ready;
}

// Made at the first run with so many rows. The weights stay as they are packed; where the library
// has no fast kernel for fewer rows of these, the product for the most rows does the work.
OnednnProduct::Ready& OnednnProduct::ready_for(std::int64_t rows) {
  ++runs_;
  auto known = std::find_if(sizes_.begin(), sizes_.end(),
                            [&](const Ready& ready) { return ready.rows == rows; });
  if (known == sizes_.end()) {
    Ready ready = with_bad_alloc([&] {
      const auto plan = describe(rows, weights_.get_desc());
      return make_ready(rows, plan);
    });
    const bool slow = ready.provenance.rfind("ref", 0) == 0;
    if (slow && sizes_.front().provenance.rfind("ref", 0) != 0) {
      ready = sizes_.front();
      ready.rows = rows;
    }
    if (sizes_.size() < kMostSizes) {
      sizes_.push_back(std::move(ready));
      known = sizes_.end() - 1;
    } else {
      known =
          std::min_element(sizes_.begin() + 1, sizes_.end(),
                           [](const Ready& a, const Ready& b) { return a.last_run < b.last_run; });
      *known = std::move(ready);
    }
  }
  known->last_run = runs_;
  return *known;
}

void OnednnProduct::pack_weights(const ProductSpec& spec, const memory::desc& packed) {
  packed_ = AlignedBuffer(floats_of(packed));
  weights_ = memory(packed, device_.engine, packed_.data());
  ConstAnyMatrix whole = spec.weights.front();
  AlignedBuffer joined;
  // Not every version and processor reorders narrow types.
  if (spec.weights.size() > 1 || whole.dtype != Dtype::f32) {
    const ArenaScope temporary(0);
    joined = side_by_side(spec.weights);
    whole = {joined.data(), depth_, cols_, cols_};
  }
  const memory::desc plain({depth_, cols_}, kFloat,
                           memory::dims{whole.row_stride, whole.col_stride});
  memory source(plain, device_.engine, const_cast<void*>(whole.data));
  require_memory_for_code();
  dnnl::reorder(source, weights_).execute(device_.stream, source, weights_);
  device_.stream.wait();
}

void OnednnProduct::run(const void* x, std::int64_t rows, const AnyBlockedView& y) {
  Ready& ready = ready_for(rows);
  const ThreadCount count(ready.threads);
  const std::int64_t product_rows = ready.x.get_desc().dims()[0];
  const bool whole = product_rows == rows;
  if (!whole) {
    auto* dense = reinterpret_cast<char*>(scratch_->data(SharedScratch::Use::input));
    const std::int64_t row_bytes = depth_ * bytes_of(operand_);
    if (x != dense) std::memcpy(dense, x, static_cast<std::size_t>(rows * row_bytes));
    std::fill(dense + rows * row_bytes, dense + product_rows * row_bytes, '\0');
    x = dense;
  }
  if (whole && is_dense(y)) {
    multiply(ready, x, y.floats().data);
    return;
  }
  float* dense = scratch_->data(SharedScratch::Use::output);
  multiply(ready, x, dense);
  parallel_for(ready.threads, rows, [&](std::int64_t r, int) {
    for (std::int64_t b = 0; b < y.blocks; ++b) {
      const float* from = dense + r * cols_ + b * y.block_cols;
      if (y.dtype == Dtype::f32) {
        std::copy_n(from, y.block_cols, static_cast<float*>(y.at(r, b)));
      } else {
        to_bf16(from, y.block_cols, static_cast<Bf16*>(y.at(r, b)));
      }
    }
  });
}

void OnednnProduct::multiply(Ready& ready, const void* x, float* y) {
  ready.x.set_data_handle(const_cast<void*>(x));
  ready.y.set_data_handle(y);
  ready.scratchpad.set_data_handle(scratch_->data(SharedScratch::Use::primitive));
  const dnnl_exec_arg_t x_arg{DNNL_ARG_SRC, ready.x.get()};
  const dnnl_exec_arg_t weights_arg{DNNL_ARG_WEIGHTS, weights_.get()};
  const dnnl_exec_arg_t y_arg{DNNL_ARG_DST, ready.y.get()};
  const dnnl_exec_arg_t scratch_arg{DNNL_ARG_SCRATCHPAD, ready.scratchpad.get()};
  if (bias_.size() > 0) {
    const dnnl_exec_arg_t bias_arg{DNNL_ARG_BIAS, bias_memory_.get()};
    execute(ready.matmul, device_.stream,
            std::array{x_arg, weights_arg, y_arg, scratch_arg, bias_arg});
  } else {
    execute(ready.matmul, device_.stream, std::array{x_arg, weights_arg, y_arg, scratch_arg});
  }
}

OperationCosts OnednnProduct::costs() const {
  return {packed_.bytes() + bias_.bytes(), workspace_bytes_,
          sizes_.empty() ? std::string() : sizes_.front().provenance};
}

OnednnProjection::OnednnProjection(int threads, Operand operand,
                                   std::shared_ptr<SharedScratch> scratch,
                                   const ProjectionSpec& spec)
    : threads_(threads), operand_(operand), scratch_(std::move(scratch)) {
  const std::vector<SingleProduct> singles = single_products(spec);
  products_.reserve(singles.size());
  for (const SingleProduct& single : singles) {
    products_.emplace_back(threads, operand, scratch_, spec.rows, single.spec);
    to_.push_back(single.to);
  }
}

// oneDNN's fast kernels need x and Y without gaps between rows; for any other stride it falls back
// to kernels that take twice as long. Copying the rows costs a few tenths of a per cent, so views
// with gaps, such as a head's columns of a wider matrix, go through dense scratch memory.
const void* OnednnProjection::take(const ConstAnyMatrix& x) {
  const bool dense = x.rows == 1 || x.row_stride == x.cols;
  const bool of_operands = (operand_ == Operand::bf16) == (x.dtype == Dtype::bf16);
  if (of_operands && dense) return x.data;
  const int threads = worthwhile_threads(threads_, products_.front().flops(x.rows));
  float* rows = scratch_->data(SharedScratch::Use::input);
  parallel_for(threads, x.rows, [&](std::int64_t r, int) {
    void* to = reinterpret_cast<char*>(rows) + r * x.cols * bytes_of(operand_);
    if (of_operands) {
      std::memcpy(to, x.row(r), static_cast<std::size_t>(x.cols * bytes_of(operand_)));
    } else {
      to_bf16(static_cast<const float*>(x.row(r)), x.cols, static_cast<Bf16*>(to));
    }
  });
  return rows;
}

void OnednnProjection::run(const ConstAnyMatrix& x, std::span<const AnyBlockedView> y) {
  if (x.rows == 0) return;
  with_live_threads(threads_, [&] {
    const void* input = take(x);
    for (std::size_t i = 0; i < products_.size(); ++i) {
      products_[i].run(input, x.rows, to_[i].in(y));
    }
  });
}

OperationCosts OnednnProjection::costs() const { return costs_of(products_); }

}  // namespace headroom::onednn

// Calls of a layer that stores bf16. What comes in is rounded, and is float32 between there and
// what goes out, in memory that was made with the layer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "attention/plan.hpp"
#include "attention/views.hpp"
#include "core/element/convert.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void take_row(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = round_to_bf16(from[i]).value();
}
void take_row(const Bf16* from, std::int64_t count, float* to) { from_bf16(from, count, to); }

void give_row(const float* from, std::int64_t count, float* to) { std::copy_n(from, count, to); }
void give_row(const float* from, std::int64_t count, Bf16* to) { to_bf16(from, count, to); }

template <class T>
void take_rows(const BasicMatrixView<const T>& from, float* to) {
  for (std::int64_t r = 0; r < from.rows; ++r) take_row(from.row(r), from.cols, to + r * from.cols);
}

// The second input as it came, of either type.
AnyView memory_of(const Call& call) {
  return call.bf16_memory.rows > 0 ? AnyView(call.bf16_memory) : AnyView(call.memory);
}

}  // namespace

void Attention::Plan::make_rounded() {
  x_data_ = AlignedBuffer(shape.rows() * shape.d_in);
  memory_data_ = AlignedBuffer(shape.memory_rows() * shape.d_memory);
  y_data_ = AlignedBuffer(shape.rows() * shape.output_width());
  costs.workspace_bytes += x_data_.bytes() + memory_data_.bytes() + y_data_.bytes();
}

void Attention::Plan::require_stored_bf16(const char* what) const {
  if (options.dtype == Dtype::bf16) return;
  throw InvalidArgument(fmt::format(
      "forward: {} is of bf16 values, and this layer stores {}; give floats, or make the layer "
      "with dtype bf16",
      what, to_string(options.dtype)));
}

// Sizes alone; the views are checked after it, as of every call.
template <class T>
void Attention::Plan::read_rounded(const BasicMatrixView<const T>& x, const Call& call) {
  if (call.memory.rows > 0 && call.bf16_memory.rows > 0) {
    throw InvalidArgument("forward: memory and bf16_memory are both given; leave one of them out");
  }
  const AnyView memory = memory_of(call);
  Call sizes = call;
  sizes.bf16_memory = {};
  sizes.memory = {nullptr, memory.rows, memory.cols, memory.row_stride};
  read({nullptr, x.rows, x.cols, x.row_stride}, sizes);
}

// @return the same call without padding, of rounded floats. @pre the call was read and checked.
template <class T>
Call Attention::Plan::round_inputs(const BasicMatrixView<const T>& x, const Call& call,
                                   ConstMatrixView& rounded) {
  rounded = {x_data_.data(), sequences_.rows(), shape.d_in, shape.d_in};
  if (call.padded_tokens > 0) {
    for_each_row(call, [&](std::int64_t row, std::int64_t padded) {
      take_row(x.row(padded), shape.d_in, x_data_.data() + row * shape.d_in);
    });
  } else {
    take_rows(x, x_data_.data());
  }
  Call dense = call;
  dense.padded_tokens = 0;
  dense.bf16_memory = {};
  const std::int64_t memory_rows = memory_of(call).rows;
  dense.memory = {memory_data_.data(), memory_rows, shape.d_memory, shape.d_memory};
  if (call.bf16_memory.rows > 0) {
    take_rows(call.bf16_memory, memory_data_.data());
  } else if (memory_rows > 0) {
    take_rows(call.memory, memory_data_.data());
  }
  if (call.padded_tokens > 0) read(rounded, dense);
  return dense;
}

template <class T>
void Attention::Plan::forward_rounded(const BasicMatrixView<const T>& x,
                                      const BasicMatrixView<T>& y, const Call& call) {
  read_rounded(x, call);
  check_forward(x, y, memory_of(call));
  if (sequences_.rows() > 0 || sequences_.memory_rows() > 0) {
    const Clock::time_point start = Clock::now();
    ConstMatrixView rounded;
    const Call dense = round_inputs(x, call, rounded);
    const double taken = seconds_since(start);
    const std::int64_t width = shape.output_width();
    const MatrixView result{y_data_.data(), rounded.rows, width, width};
    run(rounded, result, dense);
    const Clock::time_point done = Clock::now();
    if (call.padded_tokens > 0) {
      for_each_row(call, [&](std::int64_t row, std::int64_t padded) {
        give_row(result.row(row), width, y.row(padded));
      });
    } else {
      for (std::int64_t r = 0; r < y.rows; ++r) give_row(result.row(r), width, y.row(r));
    }
    if (call.times != nullptr) {
      call.times->qkv += taken;
      call.times->output += seconds_since(done);
    }
  }
  grow(call);
}

template <class T>
void Attention::Plan::append_rounded(const BasicMatrixView<const T>& x, const Call& call) {
  check_append(call);
  read_rounded(x, call);
  check_view("x", x, x.rows, shape.d_in);
  ConstMatrixView rounded;
  const Call dense = round_inputs(x, call, rounded);
  append_rows(rounded, dense);
  grow(call);
}

void Attention::Plan::forward(ConstBf16MatrixView x, Bf16MatrixView y, const Call& call) {
  if (call.times != nullptr) *call.times = {};
  require_stored_bf16("x");
  forward_rounded(x, y, call);
}

void Attention::Plan::append(ConstBf16MatrixView x, const Call& call) {
  if (call.times != nullptr) *call.times = {};
  require_stored_bf16("x");
  append_rounded(x, call);
}

template void Attention::Plan::forward_rounded(const ConstMatrixView&, const MatrixView&,
                                               const Call&);
template void Attention::Plan::append_rounded(const ConstMatrixView&, const Call&);

}  // namespace headroom

#include <algorithm>
#include <chrono>
#include <cstring>

#include "attention/plan/plan.hpp"
#include "core/call/demand.hpp"
#include "core/call/gate.hpp"
#include "core/call/preparation.hpp"
#include "core/element/convert.hpp"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

void copy_row(const void* from, Dtype dtype, std::int64_t count, void* to) {
  std::memcpy(to, from, static_cast<std::size_t>(count * size_of(dtype)));
}

}  // namespace

BlockedView HeadBlocks::slice(const PlannedProduct& product) const {
  std::size_t part = 0;
  std::int64_t first = product.first_block;
  if (first >= heads + key_heads) {
    part = 2;
    first -= heads + key_heads;
  } else if (first >= heads) {
    part = 1;
    first -= heads;
  }
  const BlockedView& of = parts[part];
  if (product.spec.block_cols == of.block_cols) return of.slice(first, product.blocks);
  return {of.at(0, first), of.rows, of.row_stride, 1, product.spec.block_cols, 0};
}

void Attention::Plan::clip_heads(const HeadBlocks& heads) const {
  const auto most = static_cast<float>(shape.clip);
  for (const BlockedView& part : heads.parts) {
    for (std::int64_t row = 0; row < part.rows; ++row) {
      for (std::int64_t block = 0; block < part.blocks; ++block) {
        float* values = part.at(row, block);
        // A NaN is neither below nor above, and stays.
        for (std::int64_t i = 0; i < part.block_cols; ++i) {
          const float low = values[i] < -most ? -most : values[i];
          values[i] = low > most ? most : low;
        }
      }
    }
  }
}

// Before any head of a row is changed, and by one thread: it is a thousandth of the products.
void Attention::Plan::find_row_factors(const HeadBlocks& heads) {
  const auto find = [&](const BlockedView& view, std::vector<float>& factors) {
    for (std::int64_t row = 0; row < view.rows; ++row) {
      double squares = 0;
      for (std::int64_t block = 0; block < view.blocks; ++block) {
        squares += sum_of_squares(view.at(row, block), view.block_cols);
      }
      factors[static_cast<std::size_t>(row)] =
          inverse_rms(squares, view.blocks * view.block_cols, shape.norm.epsilon);
    }
  };
  find(heads.parts[0], query_factors_);
  find(heads.parts[1], key_factors_);
}

// Token-major matrices are separate, each without gaps, unless one product writes several. Heads
// whose values have another width are no blocks of one product, but rows of all heads are.
HeadBlocks Attention::Plan::place_heads(std::int64_t rows, std::int64_t memory_rows) {
  const std::int64_t head_dim = shape.head_dim();
  const std::int64_t key_heads = shape.key_heads();
  const bool cross = shape.d_memory > 0;
  const std::int64_t key_rows = cross ? memory_rows : rows;
  const bool together = choice.formulation == Formulation::fused;
  const bool head_major = backend_->head_layout() == HeadLayout::head_major &&
                          !(together && shape.head_value_dim() != head_dim);
  HeadBlocks blocks{{}, shape.heads, key_heads};
  const auto place = [&](float* data, std::int64_t of_rows, std::int64_t heads, std::int64_t cols,
                         std::int64_t width) -> BlockedView {
    if (head_major) return {data, of_rows, cols, heads, cols, of_rows * cols};
    return {data, of_rows, width, heads, cols, cols};
  };
  // The width of the rows that a part lies in, and where the next part begins.
  const std::int64_t kv_width = shape.kv_width();
  const std::int64_t value_width = shape.value_width();
  const std::int64_t pair_width = kv_width + value_width;
  const std::int64_t all_width = shape.d_out + pair_width;
  const bool one = together && !cross && !head_major;
  const bool pair = together && !head_major;
  float* data = qkv_data_.data();
  blocks.parts[0] = place(data, rows, shape.heads, head_dim, one ? all_width : shape.d_out);
  data += one ? shape.d_out : rows * shape.d_out;
  blocks.parts[1] = place(data, key_rows, key_heads, head_dim,
                          one    ? all_width
                          : pair ? pair_width
                                 : kv_width);
  data += pair ? kv_width : key_rows * kv_width;
  blocks.parts[2] = place(data, key_rows, key_heads, shape.head_value_dim(),
                          one    ? all_width
                          : pair ? pair_width
                                 : value_width);
  return blocks;
}

void Attention::Plan::grow(const Call& call) const {
  if (call.cache == nullptr) return;
  for (const Sequence& sequence : sequences_.list()) {
    call.cache->state_->length(sequence.number) = sequence.keys();
    call.cache->state_->turned_long[static_cast<std::size_t>(sequence.number)] =
        angles_.turns_long();
  }
}

void Attention::Plan::forward(const ConstAnyMatrix& x, const AnyMatrix& y, const Call& call) {
  if (call.times != nullptr) *call.times = {};
  read(x, call);
  check_forward(x, y, call);
  if (sequences_.rows() > 0 || sequences_.memory_rows() > 0) run(x, y, call);
  grow(call);
}

void Attention::Plan::append(const ConstAnyMatrix& x, const Call& call) {
  if (call.times != nullptr) *call.times = {};
  check_append(x, call);
  const Clock::time_point start = Clock::now();
  const HeadBlocks heads = project_heads(x, call);
  const Clock::time_point projected = Clock::now();
  const float* angles = angles_.fill(call, x.rows, sequences_.list());
  sequences_.drop_rows();
  attend(heads, {}, call, angles);
  if (call.times != nullptr) {
    call.times->qkv = seconds_between(start, projected);
    call.times->attend = seconds_between(projected, Clock::now());
  }
  grow(call);
}

// The rows of a padded call, one sequence after the other.
ConstAnyMatrix Attention::Plan::without_padding(const ConstAnyMatrix& x, const Call& call) {
  const AnyMatrix dense{context_data_.data(), x.dtype, sequences_.rows(), shape.d_in, shape.d_in};
  for_each_row(call, [&](std::int64_t row, std::int64_t padded) {
    copy_row(x.row(padded), x.dtype, shape.d_in, dense.row(row));
  });
  return dense;
}

void Attention::Plan::project_output(const AnyMatrix& y, const Call& call) {
  const std::int64_t rows = sequences_.rows();
  const std::int64_t width = shape.context_width();
  const ConstMatrixView context{context_data_.data(), rows, width, width};
  const auto blocks_of = [&](const AnyMatrix& view) -> AnyBlockedView {
    return {view.data, view.dtype, rows, view.row_stride, 1, shape.d_proj, 0};
  };
  if (call.padded_tokens == 0) {
    output_->run(context, blocks_of(y));
    return;
  }
  const AnyMatrix dense{qkv_data_.data(), y.dtype, rows, shape.d_proj, shape.d_proj};
  output_->run(context, blocks_of(dense));
  for_each_row(call, [&](std::int64_t row, std::int64_t padded) {
    copy_row(dense.row(row), y.dtype, shape.d_proj, y.row(padded));
  });
}

void Attention::Plan::round_output(const AnyBlockedView& from, const AnyMatrix& y,
                                   const Call& call) const {
  const auto round = [&](std::int64_t row) {
    to_bf16(from.floats().at(row, 0), shape.context_width(), static_cast<Bf16*>(y.row(row)));
  };
  if (call.padded_tokens > 0) {
    for_each_row(call, [&](std::int64_t, std::int64_t padded) { round(padded); });
  } else {
    for (std::int64_t row = 0; row < y.rows; ++row) round(row);
  }
}

HeadBlocks Attention::Plan::project_heads(const ConstAnyMatrix& x, const Call& call) {
  HeadBlocks heads;
  if (!latent_) heads = place_heads(sequences_.rows(), sequences_.memory_rows());
  const auto project = [&](Projection& projection, const std::vector<PlannedProduct>& products,
                           const ConstAnyMatrix& from) {
    if (from.rows == 0) return;
    for (std::size_t i = 0; i < products.size(); ++i) destinations_[i] = heads.slice(products[i]);
    projection.run(from, std::span(destinations_).first(products.size()));
  };
  const ConstAnyMatrix dense = call.padded_tokens > 0 ? without_padding(x, call) : x;
  if (latent_) {
    latent_->project(dense, qkv_data_.data());
    heads = latent_->heads();
  } else {
    project(*project_, products_.of_x, dense);
  }
  if (gate_ && dense.rows > 0) {
    const std::int64_t width = shape.context_width();
    gate_->run(dense, BlockedView{gate_data_.data(), dense.rows, width, 1, width, 0});
  }
  if (project_memory_) project(*project_memory_, products_.of_memory, call.memory);
  if (shape.clip > 0) clip_heads(heads);
  if (shape.norm.over == QueryKeyNorm::Over::width) find_row_factors(heads);
  return heads;
}

AttendCall Attention::Plan::attend_call(const HeadBlocks& heads, const AnyBlockedView& out,
                                        const Call& call) const {
  AttendCall attended{heads.parts[0], heads.parts[1], heads.parts[2], out, sequences_.list()};
  if (call.cache != nullptr) attended.store = call.cache->state_->store.get();
  attended.parameters = parameters_;
  attended.mask = score_mask(call.mask);
  distances_.add_to(attended.mask);
  return attended;
}

// Of latents: whether keys and values are made of them. For a prompt they are, as each serves many
// rows; after a past they would be made of all that came before.
bool Attention::Plan::expands(const Call& call) const {
  if (call.cache == nullptr) return true;
  std::int64_t most = 0;
  for (const Sequence& sequence : sequences_.list()) {
    if (sequence.past > 0) return false;
    most = std::max(most, sequence.rows);
  }
  return most > kFewRows;
}

void Attention::Plan::attend(const HeadBlocks& heads, const AnyBlockedView& out, const Call& call,
                             const float* angles) {
  if (sequences_.list().empty()) return;
  AttendCall attended = attend_call(heads, out, call);
  attended.angles = angles;
  if (latent_) {
    const bool expanded = expands(call);
    if (expanded) latent_->expand();  // first, because what is appended is turned in place
    if (call.cache != nullptr) steps_->append(attended, latent_->latents());
    if (!expanded) return steps_->run(attended);
    attended.store = nullptr;
  }
  attend_->run(attended);
}

void Attention::Plan::run(const ConstAnyMatrix& x, const AnyMatrix& y, const Call& call) {
  const Clock::time_point start = Clock::now();
  const std::int64_t rows = sequences_.rows();
  const HeadBlocks heads = project_heads(x, call);
  const Clock::time_point projected = Clock::now();

  const std::int64_t cols = shape.head_value_dim();
  const std::int64_t width = shape.context_width();
  const bool staged = y.dtype == Dtype::bf16 && y_data_.size() > 0;
  AnyBlockedView out{y.data, y.dtype, y.rows, y.row_stride, shape.heads, cols, cols};
  if (output_) {
    out = BlockedView{context_data_.data(), rows, width, shape.heads, cols, cols};
  } else if (staged) {
    out = BlockedView{y_data_.data(), y.rows, width, shape.heads, cols, cols};
  }
  for (const Sequence& sequence : sequences_.blind()) {
    for (std::int64_t i = 0; i < sequence.rows; ++i) {
      void* row = out.at(sequence.first_out + i, 0);
      std::memset(row, 0, static_cast<std::size_t>(width * size_of(out.dtype)));
    }
  }
  attend(heads, out, call, angles_.fill(call, x.rows, sequences_.list()));
  if (gate_) apply_gate(gate_data_.data(), rows * width, context_data_.data());
  if (staged) round_output(out, y, call);
  const Clock::time_point attended = Clock::now();

  if (output_ && rows > 0) project_output(y, call);
  if (call.times != nullptr) {
    call.times->qkv = seconds_between(start, projected);
    call.times->attend = seconds_between(projected, attended);
    call.times->output = seconds_between(attended, Clock::now());
  }
}

}  // namespace headroom

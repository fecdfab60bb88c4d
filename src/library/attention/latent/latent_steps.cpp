#include "attention/latent/latent_steps.hpp"

#include <algorithm>
#include <utility>

#include "core/element/convert.hpp"

namespace headroom {
namespace {

// All heads share one key head, which is a latent and what heads share of their keys.
Case latent_case(const Case& shape, std::int64_t most_rows) {
  Case inner = shape;
  inner.scale = shape.score_scale();
  inner.d_in = inner.d_proj = 0;
  inner.gate = false;
  inner.d_out = shape.heads * shape.latent_width();
  inner.kv_heads = 1;
  inner.value_dim = shape.latent.rank;
  inner.batch = inner.tokens = most_rows;
  inner.lengths.clear();
  return inner;
}

}  // namespace

LatentSteps::LatentSteps(Backend& backend, const Case& shape, const WeightViews& weights)
    : inner_(latent_case(shape, std::clamp<std::int64_t>(shape.rows(), 1, kMostRows))),
      heads_(shape.heads),
      own_(shape.own_key_dim()),
      value_dim_(shape.head_value_dim()),
      most_rows_(inner_.tokens) {
  const std::int64_t rank = shape.latent.rank;
  for (std::int64_t h = 0; h < heads_; ++h) {
    const ConstAnyMatrix key = weights.key.columns(h * own_, own_).transposed();
    absorb_.push_back(backend.make_projection({most_rows_, {{{key}, {}, rank}}, false}));
    const ConstAnyMatrix value = weights.value.columns(h * value_dim_, value_dim_);
    raise_.push_back(backend.make_projection({most_rows_, {{{value}, {}, value_dim_}}, false}));
  }
  attend_ = backend.make_attention(inner_);
  queries_ = AlignedBuffer(most_rows_ * inner_.d_out);
  context_ = AlignedBuffer(most_rows_ * inner_.context_width());
  out_ = AlignedBuffer(most_rows_ * heads_ * value_dim_);
  appended_.reserve(static_cast<std::size_t>(std::max<std::int64_t>(shape.rows(), 1)));
  slice_.reserve(static_cast<std::size_t>(most_rows_));
  pieces_.reserve(static_cast<std::size_t>(most_rows_));
}

void LatentSteps::append(const AttendCall& call, const BlockedView& latents) {
  appended_.assign(call.sequences.begin(), call.sequences.end());
  for (Sequence& sequence : appended_) sequence.rows = 0;
  AttendCall appended = call;
  appended.sequences = appended_;
  BlockedView values = latents;
  values.block_cols = inner_.latent.rank;
  appended.k = latents;
  appended.v = values;
  appended.q =
      BlockedView{queries_.data(), 0, inner_.d_out, heads_, inner_.head_dim(), inner_.head_dim()};
  appended.out = BlockedView{
      context_.data(), 0, inner_.context_width(), heads_, inner_.latent.rank, inner_.latent.rank};
  attend_->run(appended);
}

void LatentSteps::run(const AttendCall& call) {
  slice_.clear();
  pieces_.clear();
  std::int64_t filled = 0;
  for (const Sequence& sequence : call.sequences) {
    for (std::int64_t done = 0; done < sequence.rows;) {
      const std::int64_t rows = std::min(sequence.rows - done, most_rows_ - filled);
      Sequence part = sequence;
      part.past = sequence.keys();  // all of them are in the store by now
      part.new_keys = part.first_key = 0;
      part.position += done;
      part.first_angle += done;
      part.mask_row += done;
      part.first_row = part.first_out = filled;
      part.rows = rows;
      slice_.push_back(part);
      pieces_.push_back({sequence.first_row + done, sequence.first_out + done, rows});
      done += rows;
      filled += rows;
      if (filled < most_rows_) continue;
      run_slice(call, filled);
      filled = 0;
    }
  }
  if (filled > 0) run_slice(call, filled);
}

void LatentSteps::run_slice(const AttendCall& call, std::int64_t rows) {
  absorb(call, rows);
  AttendCall inner = call;
  const std::int64_t width = inner_.head_dim(), rank = inner_.latent.rank;
  inner.q = BlockedView{queries_.data(), rows, inner_.d_out, heads_, width, width};
  inner.k = inner.v = BlockedView{};
  inner.out = BlockedView{context_.data(), rows, inner_.context_width(), heads_, rank, rank};
  inner.sequences = slice_;
  attend_->run(inner);
  raise(rows);
  write(call);
  slice_.clear();
  pieces_.clear();
}

// The queries of a slice are first brought together in the memory of its results.
void LatentSteps::absorb(const AttendCall& call, std::int64_t rows) {
  const BlockedView q = call.q.floats();
  const std::int64_t width = inner_.head_dim(), rank = inner_.latent.rank;
  float* own = context_.data();
  for (std::int64_t h = 0; h < heads_; ++h) {
    std::int64_t row = 0;
    for (const Piece& piece : pieces_) {
      for (std::int64_t i = 0; i < piece.rows; ++i, ++row) {
        const float* from = q.at(piece.first_row + i, h);
        std::copy_n(from, own_, own + row * own_);
        std::copy_n(from + own_, inner_.latent.shared,
                    queries_.data() + row * inner_.d_out + h * width + rank);
      }
    }
    absorb_[static_cast<std::size_t>(h)]->run(
        ConstMatrixView{own, rows, own_, own_},
        BlockedView{queries_.data() + h * width, rows, inner_.d_out, 1, rank, 0});
  }
}

void LatentSteps::raise(std::int64_t rows) {
  const std::int64_t rank = inner_.latent.rank;
  for (std::int64_t h = 0; h < heads_; ++h) {
    raise_[static_cast<std::size_t>(h)]->run(
        ConstMatrixView{context_.data() + h * rank, rows, rank, inner_.context_width()},
        BlockedView{out_.data() + h * value_dim_, rows, heads_ * value_dim_, 1, value_dim_, 0});
  }
}

void LatentSteps::write(const AttendCall& call) const {
  const std::int64_t width = heads_ * value_dim_;
  const float* from = out_.data();
  for (const Piece& piece : pieces_) {
    for (std::int64_t i = 0; i < piece.rows; ++i, from += width) {
      void* to = call.out.at(piece.first_out + i, 0);
      if (call.out.dtype == Dtype::bf16) {
        to_bf16(from, width, static_cast<Bf16*>(to));
      } else {
        std::copy_n(from, width, static_cast<float*>(to));
      }
    }
  }
}

OperationCosts LatentSteps::costs() const {
  OperationCosts sum = attend_->costs();
  for (const auto* products : {&absorb_, &raise_}) {
    for (const std::unique_ptr<Projection>& product : *products) {
      sum.packed_bytes += product->costs().packed_bytes;
      sum.workspace_bytes += product->costs().workspace_bytes;
    }
  }
  sum.workspace_bytes += queries_.bytes() + context_.bytes() + out_.bytes();
  return sum;
}

}  // namespace headroom

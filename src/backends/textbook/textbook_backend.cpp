#include "backends/textbook/textbook_backend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/side_by_side.hpp"

namespace headroom::HEADROOM_TEXTBOOK_NAMESPACE {

TextbookProduct::TextbookProduct(const textbook::Kernels& kernels, std::string provenance,
                                 const ProductSpec& spec)
    : kernels_(&kernels),
      provenance_(std::move(provenance)),
      depth_(spec.weights.front().rows),
      weights_(side_by_side(spec.weights)) {
  if (!spec.biases.empty()) {
    bias_ = end_to_end(spec.biases, spec.weights, total_cols(spec.weights));
  }
}

void TextbookProduct::run(ConstMatrixView x, const BlockedView& y) {
  textbook::ProjectArgs args{};
  args.x = x.data;
  args.x_row_stride = x.row_stride;
  args.weights = weights_.data();
  args.bias = bias_.data();
  args.y = y.data;
  args.y_row_stride = y.row_stride;
  args.y_block_stride = y.block_stride;
  args.rows = x.rows;
  args.depth = depth_;
  args.blocks = y.blocks;
  args.block_cols = y.block_cols;
  kernels_->project(args);
}

OperationCosts TextbookProduct::costs() const {
  return {weights_.bytes() + bias_.bytes(), 0, provenance_};
}

TextbookAttention::TextbookAttention(const textbook::Kernels& kernels, std::string provenance,
                                     const Shape& shape)
    : kernels_(kernels),
      provenance_(std::move(provenance)),
      shape_(shape),
      weights_(shape.tokens * shape.tokens) {
  if (shape.dropout > 0) factors_ = AlignedBuffer(shape.tokens);
}

void TextbookAttention::run(const ConstBlockedView& q, const ConstBlockedView& k,
                            const ConstBlockedView& v, const BlockedView& out) {
  for (std::int64_t sequence = 0; sequence < shape_.batch; ++sequence) {
    for (std::int64_t head = 0; head < shape_.heads; ++head) {
      run_head(q, k, v, out, sequence, head);
    }
  }
}

void TextbookAttention::run_head(const ConstBlockedView& q, const ConstBlockedView& k,
                                 const ConstBlockedView& v, const BlockedView& out,
                                 std::int64_t sequence, std::int64_t head) {
  const std::int64_t first_row = sequence * shape_.tokens;
  textbook::HeadArgs args{};
  args.q = q.at(first_row, head);
  args.k = k.at(first_row, head);
  args.v = v.at(first_row, head);
  args.out = out.at(first_row, head);
  args.q_stride = q.row_stride;
  args.k_stride = k.row_stride;
  args.v_stride = v.row_stride;
  args.out_stride = out.row_stride;
  args.tokens = shape_.tokens;
  args.head_dim = shape_.head_dim();
  args.causal = shape_.causal;
  args.weights = weights_.data();
  kernels_.attention_weights(args);
  if (shape_.dropout > 0) drop(sequence, head);
  kernels_.weighted_values(args);
}

void TextbookAttention::drop(std::int64_t sequence, std::int64_t head) {
  const DropoutPattern pattern{shape_.dropout, shape_.dropout_seed};
  const std::int64_t first_row = (sequence * shape_.heads + head) * shape_.tokens;
  for (std::int64_t i = 0; i < shape_.tokens; ++i) {
    const std::int64_t visible = shape_.causal ? i + 1 : shape_.tokens;
    pattern.factors(static_cast<std::uint64_t>(first_row + i), 0, visible, factors_.data());
    float* row = weights_.data() + i * shape_.tokens;
    for (std::int64_t j = 0; j < visible; ++j) row[j] *= factors_.data()[j];
  }
}

OperationCosts TextbookAttention::costs() const {
  return {0, weights_.bytes() + factors_.bytes(), provenance_};
}

std::optional<std::string> declines(const Shape& shape) {
  constexpr std::int64_t kLargest =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(float));
  if (shape.tokens == 0 || shape.tokens <= kLargest / shape.tokens) return std::nullopt;
  return "the scores of one head, " + std::to_string(shape.tokens) +
         " x tokens floats, have no 64-bit size; use a streaming backend such as xsimd";
}

double score_bytes(const Shape& shape) {
  const auto tokens = static_cast<double>(shape.tokens);
  return tokens * tokens * sizeof(float);
}

}  // namespace headroom::HEADROOM_TEXTBOOK_NAMESPACE

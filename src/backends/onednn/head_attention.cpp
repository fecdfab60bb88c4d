#include "backends/onednn/head_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headroom::onednn {
namespace {

// More rows make longer products; fewer rows waste less above the diagonal. A quarter of the
// sequence balances the two. The scores of a block should stay within half of a 2 MiB L2, and those
// of all threads within 64 MiB however long the sequence is.
std::int64_t choose_block_rows(std::int64_t tokens, int threads) {
  constexpr std::int64_t kCacheFloats = (1 << 20) / 4;
  constexpr std::int64_t kAllFloats = (std::int64_t{64} << 20) / 4;
  std::int64_t rows = std::clamp<std::int64_t>((tokens / 4 + 63) / 64 * 64, 64, 256);
  while (rows > 128 && rows * tokens > kCacheFloats) rows /= 2;
  while (rows > 16 && rows * tokens * threads > kAllFloats) rows /= 2;
  return std::min(rows, std::max<std::int64_t>(tokens, 1));
}

// Call overhead dominates short sequences, so one call covers several heads: as many as fit their
// scores in the cache and leave every thread a group. A divisor of all heads, so that one size
// serves every group.
std::int64_t choose_group(const Shape& shape, std::int64_t blocks, int threads) {
  if (blocks != 1) return 1;
  constexpr std::int64_t kCacheFloats = (256 << 10) / 4;
  const std::int64_t heads = shape.batch * shape.heads;
  const std::int64_t fitting =
      kCacheFloats / std::max<std::int64_t>(shape.tokens * shape.tokens, 1);
  std::int64_t group =
      std::clamp<std::int64_t>(heads / threads, 1, std::max<std::int64_t>(fitting, 1));
  while (heads % group != 0) --group;
  return group;
}

}  // namespace

OnednnAttention::OnednnAttention(int threads, const Shape& shape)
    : threads_(worthwhile_threads(threads, shape.flops().attention)),
      shape_(shape),
      heads_(shape.batch * shape.heads),
      block_rows_(choose_block_rows(shape.tokens, threads_)),
      blocks_((shape.tokens + block_rows_ - 1) / block_rows_),
      group_(choose_group(shape, blocks_, threads_)),
      scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim())))),
      keys_(shape.rows() * shape.d_out),
      values_(shape.rows() * shape.d_out),
      first_special_key_(static_cast<std::size_t>(heads_), 0) {
  // Tasks are blocks, each on one thread, so the primitives are made for one thread.
  const ThreadCount count(1);
  make_sizes();
  make_slots();
}

// Causal blocks stop at their last row's own key, so each has its own size; without a mask all
// blocks but perhaps the last are equal.
void OnednnAttention::make_sizes() {
  for (std::int64_t block = 0; block < blocks_; ++block) {
    const std::int64_t first = block * block_rows_;
    const std::int64_t rows = std::min(block_rows_, shape_.tokens - first);
    const bool alike = !shape_.causal && !sizes_.empty() && sizes_.back().queries() == rows;
    if (alike) continue;
    const std::int64_t keys = shape_.causal ? first + rows : shape_.tokens;
    sizes_.emplace_back(device_, BlockSize{group_, rows, keys, shape_.head_dim()});
  }
}

std::size_t OnednnAttention::size_of_block(std::int64_t block) const {
  if (shape_.causal) return static_cast<std::size_t>(block);
  return block + 1 == blocks_ ? sizes_.size() - 1 : 0;
}

void OnednnAttention::make_slots() {
  std::int64_t scratch = 0;
  for (const BlockPrimitives& size : sizes_) scratch = std::max(scratch, size.scratch_floats());
  for (int i = 0; i < threads_; ++i) {
    Slot& slot = slots_.emplace_back();
    slot.query = AlignedBuffer(group_ * block_rows_ * shape_.head_dim());
    slot.scores = AlignedBuffer(group_ * block_rows_ * shape_.tokens);
    slot.context = AlignedBuffer(group_ * block_rows_ * shape_.head_dim());
    slot.scratch = AlignedBuffer(scratch);
    if (shape_.dropout > 0) slot.factors = AlignedBuffer(shape_.tokens);
    slot.careful.resize(static_cast<std::size_t>(group_ * block_rows_));
    const BlockBuffers buffers{slot.query.data(), slot.scores.data(), slot.context.data(),
                               slot.scratch.data()};
    for (const BlockPrimitives& size : sizes_) {
      slot.bindings.emplace_back(size, device_.engine, buffers);
    }
  }
}

void OnednnAttention::run(const ConstBlockedView& q, const ConstBlockedView& k,
                          const ConstBlockedView& v, const BlockedView& out) {
  const Views views{q, k, v, out};
  const ThreadCount count(threads_);
  parallel_for(threads_, heads_, [&](std::int64_t head, int) { pack_head(views, head); });
  // Last blocks first: they see the most keys, and short tasks at the end balance the load.
  const std::int64_t groups = heads_ / group_;
  parallel_for(threads_, groups * blocks_, [&](std::int64_t task, int slot) {
    run_block(views, task % groups * group_, blocks_ - 1 - task / groups,
              slots_[static_cast<std::size_t>(slot)]);
  });
}

// oneDNN's fast kernels need dense rows, so each head's keys and values are copied together; the
// copy also looks for NaN and Inf.
void OnednnAttention::pack_head(const Views& views, std::int64_t head_index) {
  const std::int64_t first_row = head_index / shape_.heads * shape_.tokens;
  const std::int64_t head = head_index % shape_.heads;
  const std::int64_t offset = head_index * shape_.tokens * shape_.head_dim();
  std::int64_t first_special = shape_.tokens;
  const auto report = [&](std::int64_t row) { first_special = std::min(first_special, row); };
  pack_finite_rows(views.k.at(first_row, head), views.k.row_stride, shape_.tokens,
                   shape_.head_dim(), 1.0f, keys_.data() + offset, report);
  pack_finite_rows(views.v.at(first_row, head), views.v.row_stride, shape_.tokens,
                   shape_.head_dim(), 1.0f, values_.data() + offset, report);
  first_special_key_[static_cast<std::size_t>(head_index)] = first_special;
}

void OnednnAttention::run_block(const Views& views, std::int64_t first_head, std::int64_t block,
                                Slot& slot) {
  const std::size_t index = size_of_block(block);
  const BlockPrimitives& size = sizes_[index];
  BlockPrimitives::Binding& binding = slot.bindings[index];
  const std::int64_t head_dim = shape_.head_dim();
  const std::int64_t first = block * block_rows_;
  const std::int64_t offset = first_head * shape_.tokens * head_dim;
  const std::int64_t score_count = size.queries() * size.keys();
  for (std::int64_t g = 0; g < group_; ++g) {
    mark_careful(views, first_head + g, first, size,
                 slot.query.data() + g * size.queries() * head_dim,
                 slot.careful.data() + g * size.queries());
  }
  size.score(binding, device_.stream, keys_.data() + offset);
  if (shape_.causal) {
    for (std::int64_t g = 0; g < group_; ++g)
      mask(size, first, slot.scores.data() + g * score_count);
  }
  size.softmax(binding, device_.stream);
  if (shape_.dropout > 0) {
    for (std::int64_t g = 0; g < group_; ++g) {
      drop_block(size, first_head + g, first, slot.factors.data(),
                 slot.scores.data() + g * score_count);
    }
  }
  size.weigh_values(binding, device_.stream, values_.data() + offset);
  for (std::int64_t g = 0; g < group_; ++g)
    finish_block(views, first_head + g, first, size, g, slot);
}

void OnednnAttention::drop_block(const BlockPrimitives& size, std::int64_t head_index,
                                 std::int64_t first_row, float* factors, float* weights) const {
  for (std::int64_t i = 0; i < size.queries(); ++i) {
    drop(static_cast<std::uint64_t>(head_index * shape_.tokens + first_row + i), size.keys(),
         factors, weights + i * size.keys());
  }
}

// Writes one head's rows to the output, after recomputing the careful ones.
void OnednnAttention::finish_block(const Views& views, std::int64_t head_index,
                                   std::int64_t first_row, const BlockPrimitives& size,
                                   std::int64_t member, Slot& slot) const {
  const std::int64_t head_dim = shape_.head_dim();
  const std::int64_t out_row = head_index / shape_.heads * shape_.tokens + first_row;
  for (std::int64_t i = 0; i < size.queries(); ++i) {
    const std::int64_t row = member * size.queries() + i;
    float* context = slot.context.data() + row * head_dim;
    if (slot.careful[static_cast<std::size_t>(row)] != 0) {
      run_careful_row(views, head_index, first_row + i, slot, context);
    }
    std::copy_n(context, head_dim, views.out.at(out_row + i, head_index % shape_.heads));
  }
}

// Packs the block's query rows and notes which rows depend on a NaN or Inf: through their own
// query, or through a key or value that they see.
void OnednnAttention::mark_careful(const Views& views, std::int64_t head_index,
                                   std::int64_t first_row, const BlockPrimitives& size,
                                   float* query, unsigned char* careful) {
  const std::int64_t special = first_special_key_[static_cast<std::size_t>(head_index)];
  for (std::int64_t i = 0; i < size.queries(); ++i) {
    const std::int64_t last_key = shape_.causal ? first_row + i : shape_.tokens - 1;
    careful[i] = last_key >= special ? 1 : 0;
  }
  const std::int64_t view_row = head_index / shape_.heads * shape_.tokens + first_row;
  pack_finite_rows(views.q.at(view_row, head_index % shape_.heads), views.q.row_stride,
                   size.queries(), shape_.head_dim(), scale_, query,
                   [&](std::int64_t i) { careful[i] = 1; });
}

void OnednnAttention::mask(const BlockPrimitives& size, std::int64_t first_row,
                           float* scores) const {
  for (std::int64_t i = 0; i < size.queries(); ++i) {
    float* row = scores + i * size.keys();
    std::fill(row + first_row + i + 1, row + size.keys(), -std::numeric_limits<float>::infinity());
  }
}

void OnednnAttention::drop(std::uint64_t row_index, std::int64_t keys, float* factors,
                           float* weights) const {
  const DropoutPattern pattern{shape_.dropout, shape_.dropout_seed};
  pattern.factors(row_index, 0, keys, factors);
  for (std::int64_t j = 0; j < keys; ++j) weights[j] *= factors[j];
}

// Overwrites the row's context. The scores of the whole block are no longer needed, so their memory
// serves as the row's scratch.
void OnednnAttention::run_careful_row(const Views& views, std::int64_t head_index, std::int64_t row,
                                      Slot& slot, float* context) const {
  const std::int64_t first_row = head_index / shape_.heads * shape_.tokens;
  const std::int64_t head = head_index % shape_.heads;
  const HeadSource source{views.q.at(first_row, head),
                          views.k.at(first_row, head),
                          views.v.at(first_row, head),
                          views.q.row_stride,
                          views.k.row_stride,
                          views.v.row_stride,
                          shape_.head_dim()};
  const std::int64_t keys = shape_.causal ? row + 1 : shape_.tokens;
  float* weights = slot.scores.data();
  careful_weights(source, row, keys, scale_, weights);
  if (shape_.dropout > 0) {
    drop(static_cast<std::uint64_t>(head_index * shape_.tokens + row), keys, slot.factors.data(),
         weights);
  }
  careful_values(source, keys, weights, context);
}

OperationCosts OnednnAttention::costs() const {
  OperationCosts costs;
  costs.workspace_bytes = keys_.bytes() + values_.bytes();
  for (const Slot& slot : slots_) {
    costs.workspace_bytes += slot.query.bytes() + slot.scores.bytes() + slot.context.bytes() +
                             slot.scratch.bytes() + slot.factors.bytes() +
                             static_cast<std::int64_t>(slot.careful.size());
  }
  if (!sizes_.empty()) costs.provenance = sizes_.back().provenance();
  return costs;
}

}  // namespace headroom::onednn

#include "backends/onednn/member_rows.hpp"

#include <algorithm>
#include <limits>

#include "backends/onednn/careful_rows.hpp"
#include "core/call/read_mask.hpp"
#include "headroom/dropout.hpp"
#include "headroom/dtype.hpp"

namespace headroom::onednn {

KeyRange seen_keys(const Case& shape, const Sequence& sequence, std::int64_t row) {
  const std::int64_t group = shape.heads / shape.key_heads();
  return visible_keys(mask_rule(shape), sequence.position + row / group, sequence.keys());
}

MemberRows::MemberRows(const Case& shape, const AttendCall& call, const DenseHeads& heads,
                       const Member& member)
    : shape_(shape),
      call_(call),
      heads_(heads),
      member_(member),
      group_(shape.heads / shape.key_heads()),
      scale_(static_cast<float>(shape.score_scale())) {}

template <class T>
void MemberRows::take_queries(T* query, unsigned char* careful) const {
  const std::int64_t head_dim = shape_.head_dim();
  const std::int64_t special = heads_.first_special(member_.head);
  for (std::int64_t i = 0; i < member_.rows; ++i) {
    careful[i] = seen_keys(shape_, *member_.sequence, member_.row + i).end > special ? 1 : 0;
  }
  if (group_ == 1) {
    pack_finite_rows(query_of(member_.row), call_.q.row_stride, member_.rows, head_dim, scale_,
                     query, [&](std::int64_t i) { careful[i] = 1; });
    return;
  }
  for (std::int64_t i = 0; i < member_.rows; ++i) {
    pack_finite_rows(query_of(member_.row + i), 0, 1, head_dim, scale_, query + i * head_dim,
                     [&](std::int64_t) { careful[i] = 1; });
  }
}

template void MemberRows::take_queries(float* query, unsigned char* careful) const;
template void MemberRows::take_queries(Bf16* query, unsigned char* careful) const;

// Of one row: its cap, and the call's mask. @return whether some key is left
bool MemberRows::apply_rule(std::int64_t row, KeyRange keys, float* scores) const {
  const std::int64_t count = keys.end - keys.begin;
  if (shape_.softcap > 0) cap_scores(static_cast<float>(shape_.softcap), count, scores);
  if (!call_.mask.any()) return true;
  return add_mask(call_.mask_of(*member_.sequence, head_of(row)), 0, row / group_, keys.begin,
                  count, scores);
}

// A row that sees no key becomes a careful one: the library's softmax of nothing is NaN.
void MemberRows::mask(float* scores, unsigned char* careful) const {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  const std::int64_t first = member_.first_key;
  for (std::int64_t i = 0; i < member_.rows; ++i) {
    float* row = scores + i * member_.keys;
    KeyRange seen = seen_keys(shape_, *member_.sequence, member_.row + i);
    seen.begin = std::max(seen.begin, first);
    seen.end = std::min(seen.end, first + member_.keys);
    std::fill(row, row + seen.begin - first, kMasked);
    std::fill(row + seen.end - first, row + member_.keys, kMasked);
    if (apply_rule(member_.row + i, seen, row + seen.begin - first)) continue;
    std::fill_n(row, member_.keys, 0.0F);
    careful[i] = 1;
  }
}

void MemberRows::weigh_beside_sinks(float* scores) const {
  for (std::int64_t i = 0; i < member_.rows; ++i) {
    careful_softmax(scores + i * member_.keys, member_.keys, sink_of(member_.row + i));
  }
}

void MemberRows::drop_row(std::int64_t row, KeyRange keys, float* factors, float* weights) const {
  const Sequence& sequence = *member_.sequence;
  const std::int64_t count = keys.end - keys.begin;
  DropoutPattern{shape_.dropout, shape_.dropout_seed}.factors(
      dropout_row(sequence.pattern_head + head_of(row), sequence.position + row / group_),
      keys.begin, count, factors);
  for (std::int64_t j = 0; j < count; ++j) weights[j] *= factors[j];
}

void MemberRows::drop(float* factors, float* weights) const {
  const KeyRange keys{member_.first_key, member_.first_key + member_.keys};
  for (std::int64_t i = 0; i < member_.rows; ++i) {
    drop_row(member_.row + i, keys, factors, weights + i * member_.keys);
  }
}

void MemberRows::finish(float* context, const unsigned char* careful, BlockSlot& slot) const {
  const std::int64_t value_dim = shape_.head_value_dim();
  for (std::int64_t i = 0; i < member_.rows; ++i) {
    const std::int64_t row = member_.row + i;
    float* from = context + i * value_dim;
    if (careful[i] != 0) run_careful_row(row, slot, from);
    std::copy_n(from, value_dim,
                call_.out.floats().at(member_.sequence->first_out + row / group_, head_of(row)));
  }
}

// Overwrites the row's context. The scores of the whole block are no longer needed, so their memory
// serves as the row's scratch.
void MemberRows::run_careful_row(std::int64_t row, BlockSlot& slot, float* context) const {
  const std::int64_t head_dim = shape_.head_dim();
  const std::int64_t value_dim = shape_.head_value_dim();
  const KeyRange seen = seen_keys(shape_, *member_.sequence, row);
  const std::int64_t count = seen.end - seen.begin;
  const DenseHeads::Copy all = heads_.as_they_are(member_.head, member_.first_row, seen.end);
  float* weights = slot.scores.data();
  careful_scores(query_of(row), all.keys.data() + seen.begin * head_dim, count, head_dim, scale_,
                 weights);
  if (!apply_rule(row, seen, weights)) {
    std::fill_n(context, value_dim, 0.0F);
    return;
  }
  careful_softmax(weights, count, sink_of(row));
  if (shape_.dropout > 0) drop_row(row, seen, slot.factors.data(), weights);
  careful_values(all.values.data() + seen.begin * value_dim, count, value_dim, weights, context);
}

}  // namespace headroom::onednn

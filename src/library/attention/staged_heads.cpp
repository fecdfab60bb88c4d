#include "attention/staged_heads.hpp"

#include "core/element/convert.hpp"

namespace headroom {
namespace {

// Calls `row(b, t, h)` for what is there.
template <class Row>
void for_rows(const ConstAnyHeads& view, std::span<const std::int64_t> lengths, const Row& row) {
  for (std::int64_t b = 0; b < view.batch; ++b) {
    const std::int64_t tokens =
        lengths.empty() ? view.tokens : lengths[static_cast<std::size_t>(b)];
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t h = 0; h < view.heads; ++h) row(b, t, h);
    }
  }
}

std::int64_t place_of(const ConstAnyHeads& view, std::int64_t b, std::int64_t t, std::int64_t h) {
  return b * view.batch_stride + t * view.token_stride + h * view.head_stride;
}

}  // namespace

StagedHeads::StagedHeads(const Case& shape)
    : q_(shape.rows() * shape.d_out),
      k_(shape.memory_rows() * shape.kv_width()),
      v_(shape.memory_rows() * shape.kv_width()),
      out_(shape.rows() * shape.d_out) {}

AnyHeads StagedHeads::place(const ConstAnyHeads& like, AlignedBuffer& room) {
  return token_major(room.data(), like.batch, like.tokens, like.heads, like.head_dim);
}

ConstAnyHeads StagedHeads::widened(const ConstAnyHeads& from, std::span<const std::int64_t> lengths,
                                   AlignedBuffer& room) {
  if (from.dtype == Dtype::f32) return from;
  const AnyHeads to = place(from, room);
  for_rows(from, lengths, [&](std::int64_t b, std::int64_t t, std::int64_t h) {
    from_bf16(static_cast<const Bf16*>(from.data) + place_of(from, b, t, h), from.head_dim,
              static_cast<float*>(to.data) + place_of(to, b, t, h));
  });
  return to;
}

void StagedHeads::round_back(const ConstAnyHeads& from, std::span<const std::int64_t> lengths,
                             const AnyHeads& to) {
  for_rows(from, lengths, [&](std::int64_t b, std::int64_t t, std::int64_t h) {
    to_bf16(static_cast<const float*>(from.data) + place_of(from, b, t, h), from.head_dim,
            static_cast<Bf16*>(to.data) + place_of(to, b, t, h));
  });
}

}  // namespace headroom

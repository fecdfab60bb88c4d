// Heads of bf16 for backends that read and write floats alone.
#pragma once

#include <cstdint>

#include "core/aligned_buffer.hpp"
#include "core/case.hpp"
#include "headroom/dot_product.hpp"

namespace headroom {

inline bool any_bf16(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
                     const AnyHeads& out) {
  return q.dtype == Dtype::bf16 || k.dtype == Dtype::bf16 || v.dtype == Dtype::bf16 ||
         out.dtype == Dtype::bf16;
}

/// Floats for the largest call.
class StagedHeads {
 public:
  StagedHeads() = default;
  explicit StagedHeads(const Case& shape);

  /// Calls `attend` with views of floats: those of the caller, or copies.
  template <class Attend>
  void run(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
           const AnyHeads& out, const DotProductCall& call, const Attend& attend) {
    const AnyHeads to = out.dtype == Dtype::f32 ? out : place(out, out_);
    attend(widened(q, call.queries, q_), widened(k, call.keys, k_), widened(v, call.keys, v_), to);
    if (out.dtype == Dtype::bf16) round_back(to, call.queries, out);
  }

  std::int64_t bytes() const { return q_.bytes() + k_.bytes() + v_.bytes() + out_.bytes(); }

 private:
  static AnyHeads place(const ConstAnyHeads& like, AlignedBuffer& room);
  static ConstAnyHeads widened(const ConstAnyHeads& from, std::span<const std::int64_t> lengths,
                               AlignedBuffer& room);
  static void round_back(const ConstAnyHeads& from, std::span<const std::int64_t> lengths,
                         const AnyHeads& to);

  AlignedBuffer q_, k_, v_, out_;
};

}  // namespace headroom

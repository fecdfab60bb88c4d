// Rows where somebody else has them: of floats, of bfloat16, or of floats that count as the
// bfloat16 numbers nearest to them. All are floats once they are loaded.
#pragma once

#include "simd/kernels/vec.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Bytes of a value of a row.
HEADROOM_INLINE std::int64_t value_bytes(Dtype dtype) { return dtype == Dtype::f32 ? 4 : 2; }

/// A float that is rounded to bfloat16 as it is read.
struct RoundedFloat {
  float value;
};

HEADROOM_INLINE Vec load(const RoundedFloat* p) {
  return vec_of(rounded_to_upper(bits_of(load(&p->value))) & 0xffff0000U);
}
HEADROOM_INLINE float load_one(const RoundedFloat* p) {
  const RoundedFloat lanes[kLanes] = {*p};
  return load(lanes).data[0];
}

/// A vector whose lanes from `count` on are 0, if that is less than a vector.
template <class A>
HEADROOM_INLINE Vec load_some(const A* p, std::int64_t count) {
  if (count >= kLanes) return load(p);
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = load_one(p + i);
  return load(lanes);
}

/// Calls `f` with the rows' first value, whatever they are stored as.
template <class F>
HEADROOM_INLINE void with_rows_of(const RowsOf& rows, F&& f) {
  if (rows.dtype == Dtype::f32) {
    f(static_cast<const float*>(rows.data));
  } else {
    f(static_cast<const Half*>(rows.data));
  }
}

/// The same of rows that may be rounded.
template <class F>
HEADROOM_INLINE void with_input(const InputRows& rows, F&& f) {
  if (rows.dtype != Dtype::f32) {
    f(static_cast<const Half*>(rows.data));
  } else if (rows.rounds) {
    f(static_cast<const RoundedFloat*>(rows.data));
  } else {
    f(static_cast<const float*>(rows.data));
  }
}

template <class A, class B>
HEADROOM_INLINE void copy_values_of(const A* from, std::int64_t count, B* values) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(values + i, load(from + i));
  for (; i < count; ++i) store_one(values + i, load_one(from + i));
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE

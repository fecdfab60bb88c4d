#include "core/element/read_matrix.hpp"

#include <algorithm>

#include "core/element/convert.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kBlock = 32;  // rows and columns that stay in the L1 while they are turned

float value_of(float x) { return x; }
float value_of(Bf16 x) { return x.value(); }
float value_of(F16 x) { return x.value(); }

template <class T>
void read(const ConstAnyMatrix& from, MatrixView to) {
  const auto* data = static_cast<const T*>(from.data);
  if (from.col_stride == 1) {
    for (std::int64_t r = 0; r < from.rows; ++r) {
      const T* row = data + r * from.row_stride;
      std::transform(row, row + from.cols, to.row(r), [](T x) { return value_of(x); });
    }
    return;
  }
  for (std::int64_t first = 0; first < from.rows; first += kBlock) {
    const std::int64_t end = std::min(first + kBlock, from.rows);
    for (std::int64_t c = 0; c < from.cols; ++c) {
      const T* column = data + c * from.col_stride;
      for (std::int64_t r = first; r < end; ++r) {
        to.row(r)[c] = value_of(column[r * from.row_stride]);
      }
    }
  }
}

}  // namespace

void read_matrix(const ConstAnyMatrix& from, MatrixView to) {
  switch (from.dtype) {
    case Dtype::f32:
      return read<float>(from, to);
    case Dtype::bf16:
      return read<Bf16>(from, to);
    case Dtype::f16:
      return read<F16>(from, to);
  }
}

}  // namespace headroom

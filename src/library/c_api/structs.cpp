#include "c_api/structs.hpp"

#include "c_api/statuses.hpp"

namespace headroom::c_api {
Dtype read_dtype(const ArgumentName& named, std::int32_t dtype, int count) {
  constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::bf16, Dtype::f16};
  static_assert(HEADROOM_F32 == 0 && HEADROOM_BF16 == 1 && HEADROOM_F16 == 2);
  if (dtype >= 0 && dtype < count) return kDtypes[dtype];
  throw InvalidArgument(fmt::format("{}: {}.dtype is {}; allowed are {} (f32), {} (bf16){}",
                                    named.function, named.name, dtype, +HEADROOM_F32,
                                    +HEADROOM_BF16, count > HEADROOM_F16 ? " and 2 (f16)" : ""));
}

AnyMatrix read_matrix_view(const ArgumentName& named, const headroom_matrix* given) {
  require(given, named.function, named.name);
  const headroom_matrix view = read_struct(*given, {}, sizeof(headroom_matrix), named);
  return {view.data,       read_dtype(named, view.dtype, HEADROOM_F16 + 1),
          view.rows,       view.cols,
          view.row_stride, view.col_stride};
}

}  // namespace headroom::c_api

#include "c_api/structs.hpp"

#include "c_api/statuses.hpp"

namespace headroom::c_api {
namespace {

Rotary rotary_of(const headroom_layer_config& config) {
  using Pairs = Rotary::Pairs;
  switch (config.rotary_pairs) {
    case HEADROOM_ROTARY_NONE:
      return {Pairs::none, config.rotary_base, config.rotary_scale};
    case HEADROOM_ROTARY_NEIGHBOURS:
      return {Pairs::neighbours, config.rotary_base, config.rotary_scale};
    case HEADROOM_ROTARY_HALVES:
      return {Pairs::halves, config.rotary_base, config.rotary_scale};
    default:
      throw InvalidArgument(
          fmt::format("headroom_create: config.rotary_pairs is {}; allowed are {} (none), {} "
                      "(neighbours) and {} (halves)",
                      config.rotary_pairs, +HEADROOM_ROTARY_NONE, +HEADROOM_ROTARY_NEIGHBOURS,
                      +HEADROOM_ROTARY_HALVES));
  }
}

}  // namespace

LayerConfig layer_config_of(const headroom_layer_config& config) {
  return {.d_in = config.d_in,
          .d_out = config.d_out,
          .heads = config.heads,
          .causal = config.causal != 0,
          .qkv_bias = config.qkv_bias != 0,
          .d_proj = config.d_proj,
          .dropout = config.dropout,
          .dropout_seed = config.dropout_seed,
          .kv_heads = config.kv_heads,
          .window = config.window,
          .rotary = rotary_of(config),
          .d_memory = config.d_memory};
}

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

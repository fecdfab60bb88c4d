// The kernels of each instruction-set level, as a table of plain functions. The kernels are
// compiled once per level; everything that includes this header is compiled for the baseline
// machine.
#pragma once

#include <cstdint>

#include "core/call/key_range.hpp"
#include "core/call/row_norm.hpp"
#include "core/call/score_mask.hpp"
#include "core/element/cache_bytes.hpp"
#include "core/element/few_bits.hpp"
#include "headroom/dropout.hpp"
#include "headroom/isa.hpp"
#include "headroom/precision.hpp"
#include "simd/score_cap.hpp"
#include "simd/variants.hpp"

namespace headroom::simd {

struct KeysToRound;
struct ValuesToRound;

/// Depth of one packed chunk: broadcasts of a row tile's `x` values read `kChunk` neighbours of
/// each row before they move to the next chunk. 16 floats are one cache line, so packing copies
/// whole lines and needs no transpose.
inline constexpr std::int64_t kChunk = 16;

/// Panels of the widest tile, for few rows.
inline constexpr std::int64_t kMostTilePanels = 4;

/// Keys that streaming attention scores before it updates the running maximum and sum.
inline constexpr std::int64_t kKeyBlock = 256;

/// What is subtracted from exponents of 2 may be so large, up or down. Beyond, its own rounding
/// would move them by more than 1, and by so much in the end that 2^x overflows, or is 0 for all.
inline constexpr float kMostShift = 0x1p24F;

/// Scores that a mask or a cap changed are kept as exponents of 2 over this, which changes none of
/// their bits: so no number that a mask adds is too large for a float, and nor is its sum with one.
inline constexpr float kRuleUnit = 4;

/// The most tiles of rows of an attention task: they share a block of keys and values while it is
/// in the L2.
inline constexpr std::int64_t kTilesPerTask = 8;

/// First row of tile `i`, where `rows` are cut into `tiles` tiles that differ by at most one row.
[[gnu::always_inline]] constexpr std::int64_t tile_begin(std::int64_t rows, std::int64_t tiles,
                                                         std::int64_t i) {
  return rows * i / tiles;
}

/// A depth, or channels of a head, filled up to whole groups.
[[gnu::always_inline]] constexpr std::int64_t whole_groups(std::int64_t count) {
  return (count + kGroup - 1) / kGroup * kGroup;
}

/// A bfloat16 number's bits.
using Half = std::uint16_t;

/// What kernels read of a storage that is not of few bits; f32 of one that is, once it is expanded.
[[gnu::always_inline]] constexpr Dtype dtype_of(Storage storage) {
  return storage == Storage::bf16 ? Dtype::bf16 : Dtype::f32;
}

/// A run of weight panels of one matrix, and where their products with x go.
/// On cache lines of its own, because every slot writes its own.
struct alignas(64) PanelRun {
  const void* panels = nullptr;  ///< the whole packed matrix, see packed_matrix.hpp
  std::int64_t first_panel = 0;  ///< which they begin with
  const float* bias = nullptr;   ///< padded to whole vectors, or null
  std::int64_t cols = 0;         ///< columns of the whole matrix
  std::int64_t panel_begin = 0, panel_end = 0;
  void* y = nullptr;  ///< row 0 of the destination, a blocked view
  Dtype y_dtype = Dtype::f32;
  std::int64_t y_stride = 0;
  std::int64_t block_cols = 0;
  std::int64_t block_stride = 0;
};

/// Rows of x where the caller has them.
struct InputRows {
  const void* data = nullptr;
  Dtype dtype = Dtype::f32;
  bool rounds = false;      ///< floats count as the bfloat16 numbers nearest to them
  std::int64_t stride = 0;  ///< values

  /// The same from another value on.
  [[gnu::always_inline]] InputRows from(std::int64_t row, std::int64_t col = 0) const {
    const std::int64_t bytes = (row * stride + col) * (dtype == Dtype::f32 ? 4 : 2);
    return {static_cast<const char*>(data) + bytes, dtype, rounds, stride};
  }
};

/// A block of row tiles times runs of weight panels, perhaps of several matrices.
struct ProjectTask {
  InputRows x;                                ///< from row 0 of all rows on
  std::int64_t rows = 0;                      ///< all rows of x, which `tiles` divides evenly
  std::int64_t tiles = 0;                     ///< tiles over all rows
  std::int64_t tile_begin = 0, tile_end = 0;  ///< this task's tiles
  std::int64_t depth = 0;                     ///< columns of x
  std::int64_t stage_depth = 0;               ///< depth per stage, in whole chunks
  const PanelRun* runs = nullptr;
  std::int64_t run_count = 0;
  Prefetch prefetch = Prefetch::far;  ///< see ProjectVariant, as are the next two
  bool pack_late = false;
  bool prefetches = false;
  bool prefetch_panels = false;  ///< while what is before them is multiplied
  float* scratch = nullptr;      ///< `project_scratch_floats`, for the panels of all runs together
  float* panel_room = nullptr;   ///< of weights in few bits: `panel_room_floats`
};

/// Keys whose weights and values are summed from nothing; then segments are merged in order. Cut by
/// position alone, so that threads can share a long sequence and no bit depends on how.
inline constexpr std::int64_t kSegment = 4 * kKeyBlock;

/// Rows of values where somebody else has them.
struct RowsOf {
  const void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t stride = 0;  ///< values
};

/// Bytes of rows that are packed soon, those that were not prefetched yet.
struct NextRows {
  const char* begin = nullptr;
  const char* end = nullptr;
};

/// How few rows that stream keys and values prefetch them, a piece with each that is read.
struct StreamAhead {
  std::int64_t pieces = 2;  ///< of `2 lanes` keys or values; fewer than a block of keys has
  bool into_l1 = false;     ///< else into the L2
};

/// Streaming attention for some rows over the packed keys of one key head. Rows are the queries of
/// all heads of the group: row `i` is head `i % group` at position `position + i / group`.
struct AttendTask {
  const void* q = nullptr;  ///< row 0
  Dtype q_dtype = Dtype::f32;
  std::int64_t q_stride = 0;       ///< from one position to the next
  std::int64_t q_head_stride = 0;  ///< from one head to the next
  std::int64_t group = 1;
  std::int64_t rows = 0;  ///< positions times group
  std::int64_t position = 0;
  const void* keys = nullptr;    ///< panels of two vectors' keys, each `head_dim x 2 lanes`
  const void* values = nullptr;  ///< row 0; whole vectors may be read
  std::int64_t value_stride = 0;
  std::int64_t key_count = 0;
  void* out = nullptr;  ///< row 0
  Dtype out_dtype = Dtype::f32;
  std::int64_t out_stride = 0;
  std::int64_t out_head_stride = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;                 ///< of values and of out
  std::int64_t tiles = 0;                     ///< tiles over all rows
  std::int64_t tile_begin = 0, tile_end = 0;  ///< this task's tiles
  MaskRule rule = {};
  float scale = 1;          ///< `log2(e)` times that of scores
  ScoreMask mask = {};      ///< of the group's first head
  ScoreCap cap = {};        ///< with one `scale` is 1
  bool caps_first = false;  ///< scores are capped where a mask would be added, before their maximum
  /// If not null: of row 0, what is added to each score for its key's distance, those of the next
  /// row one before, times `distance_scale`. Then `mask` has no distances.
  const float* distances = nullptr;
  float distance_scale = 1;
  /// Where scores are changed, and not only hidden, `scale` is `kRuleUnit`, and this is what it is
  /// otherwise over that.
  float rule_scale = 1;
  /// Of a mask of numbers that lie side by side: tiles add them as they compute scores.
  bool adds_at_once = false;
  const float* sinks = nullptr;  ///< of the group's first head, one for each; null for none
  bool prefetches = false;       ///< see ProjectVariant
  StreamAhead ahead = {};
  const DropoutPattern* dropout = nullptr;  ///< null for none
  std::int64_t dropout_head = 0;  ///< of the group's first head, as `dropout_row` takes it
  float* scratch = nullptr;       ///< `attend_scratch_floats`
  /// If there are any, `keys` and `values` are not looked at: these are packed block by block into
  /// `room`, `attend_room_floats`. For one tile and the kernels that read floats.
  RowsOf new_keys, new_values;  ///< of one dtype
  float* room = nullptr;
  NextRows* next_rows = nullptr;  ///< set by the kernel while there are any
  /// `keys` are rows, as the caller has them, and so are `values`: nothing is packed. For heads of
  /// whole vectors, and rows whose order of sums is nobody's business.
  bool as_rows = false;
  std::int64_t key_stride = 0;
  /// Of keys and values in eight bits, see RoundedHeads: their scales, and the keys from position
  /// `fresh_begin` on as floats, in panels as `keys`. `room` is `rounded_room_floats`, and
  /// `byte_room_floats` where bytes are multiplied.
  const Half* key_scales = nullptr;
  const Half* value_scales = nullptr;
  const float* fresh = nullptr;
  std::int64_t fresh_begin = 0;
  /// If not null the task is of one segment, and each tile leaves its state here, segment by
  /// segment of the sequence and of each tile by tile; `merge_segments` makes the rows of them.
  float* states = nullptr;
  std::int64_t segment = 0;

  /// Whether the mask leaves scores alone, but for those that it hides.
  [[gnu::always_inline]] bool only_hides() const { return !mask.adds() && !cap.any(); }
  /// Whether anything is added to scores before they are kept.
  /// @param all rows see all keys
  [[gnu::always_inline]] bool adds_to_scores(bool all) const {
    return distances != nullptr || (adds_at_once && all);
  }
  /// Whether scores are changed before their maximum is found.
  [[gnu::always_inline]] bool changes_scores() const { return mask.any() || caps_first; }
  /// Whether scores are capped as they become weights.
  [[gnu::always_inline]] bool caps_weights() const { return cap.any() && !changes_scores(); }
};

/// The kernels that read what is stored as float, or as `Half`. Both compute in float.
struct StoredKernels {
  void (*project)(const ProjectTask& task);
  /// Of new keys, the task is told where each block was packed.
  void (*attend)(AttendTask& task);
  /// Writes `count` keys (rows of `head_dim`) of one head from `position` on into its panels of two
  /// vectors' keys, each `head_dim x 2 lanes`. Nothing else in them is touched.
  void (*pack_keys)(const RowsOf& keys, std::int64_t position, std::int64_t count,
                    std::int64_t head_dim, void* panels);
  /// Copies `count` values.
  void (*copy)(const void* from, Dtype dtype, std::int64_t count, void* to);
};

/// A projection of weights in few bits.
struct FewBitsKernels {
  void (*q8)(const ProjectTask& task);
  void (*q4)(const ProjectTask& task);

  [[gnu::always_inline]] auto of(Storage storage) const { return storage == Storage::q8 ? q8 : q4; }
};

/// Attention over keys and values in eight bits.
struct RoundedKernels {
  void (*attend)(AttendTask& task);
};

/// The kernels of one level. One function pointer call covers a whole block of work.
struct KernelTable {
  Isa isa;
  std::int64_t lanes;      ///< floats in a vector
  std::int64_t tile_rows;  ///< rows of a full register tile; a panel is two vectors wide

  StoredKernels f32;
  const StoredKernels* bf16;  ///< compiled apart
  /// Of a dtype.
  [[gnu::always_inline]] const StoredKernels& stored(Dtype dtype) const {
    return dtype == Dtype::f32 ? f32 : *bf16;
  }

  const FewBitsKernels* few_rows;  ///< for all rows in one tile; compiled apart
  FewBitsKernels many_rows;        ///< with `ProjectTask::panel_room`
  /// Of x rounded to bytes, and weights in `GroupOrder::words`; with `byte_scratch_floats`.
  const FewBitsKernels* bytes;
  /// The same bits by one instruction for four bytes, if `UnitFacts::byte_dots`: AVX512_VNNI, or
  /// dot products of NEON. Null for other levels.
  const FewBitsKernels* bytes_by_dots;
  const RoundedKernels* rounded;  ///< compiled apart

  /// The rows of a task's tiles, from their states of all segments.
  void (*merge_segments)(const AttendTask& task);
  /// `y[i] = 2^x[i]` for x at most 0, as softmax uses it.
  void (*exp2)(const float* x, float* y, std::int64_t count);
  /// The softmax of attention alone, for measuring: `tile_rows` rows of `kKeyBlock` scores, which
  /// lie in chunks (see kChunk) as the kernel keeps them, become weights that are not yet divided
  /// by their row's sum; the sums go to `sums`. The scores are taken times 1.
  void (*softmax_tile)(float* scores, float* sums);
  /// Multiply-adds in registers only, for the peak. Returns the FLOPs done; `sink` keeps the
  /// result.
  double (*fma_chain)(std::int64_t iterations, float* sink);
  /// The register tile of `project` with its operands in the L1, which no product can pass: loads
  /// and the clock that they cost keep it below the peak on some cores. As `fma_chain`.
  double (*tile_chain)(std::int64_t iterations, float* sink);
  void (*normalise_rows)(const NormRows& rows);
  void (*round_keys)(const KeysToRound& keys);  ///< see round_task.hpp
  void (*round_values)(const ValuesToRound& values);
  /// Sum of `count` floats (whole vectors), for the read bandwidth.
  float (*read_sum)(const float* x, std::int64_t count);

  /// As `rounded`, of `CacheOrder::words`: queries and weights are rounded to bytes, in
  /// `byte_room_floats`.
  const RoundedKernels* cache_bytes;
  const RoundedKernels* cache_bytes_by_dots;  ///< as `bytes_by_dots`
};

/// @throws Unavailable for a level whose kernels are not in this build: the core of another one may
/// list it.
const KernelTable& kernel_table(Isa isa);
[[noreturn]] void fail_level(Isa isa);

}  // namespace headroom::simd

// Kernels that multiply tiles of bfloat16 or fp16 parts, as tables of plain functions. One table
// for each unit that can do such products; they share packing and walk.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/element/layer_numbers.hpp"
#include "headroom/precision.hpp"
#include "headroom/unit.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::simd {

/// Rows, and columns, of a tile of sums.
inline constexpr std::int64_t kTileSide = 16;
/// Products that one tile product adds to each sum.
inline constexpr std::int64_t kTileDepth = 32;
/// Rows, and columns, of the two by two tiles that are summed together.
inline constexpr std::int64_t kTileBlock = 2 * kTileSide;

/// What the range check of fp16 parts goes by, of a row or of 32 columns over a stage of the depth.
struct Fp16Range {
  std::int16_t exponent = 0;  ///< of the power of two that scales them; `kNoFp16Scale`: none does
  std::int16_t large = 0;     ///< values of at least 2^11 when scaled
  std::int16_t middle = 0;    ///< of at least 2^4
  std::int16_t whole = 0;     ///< of at least 2^-2: their parts hold 23 bits
  std::int16_t worn = 0;      ///< others but zeros
};
/// The same of 32 rows.
struct Fp16Rows {
  std::int16_t exponent[kTileBlock], large[kTileBlock], middle[kTileBlock], whole[kTileBlock],
      worn[kTileBlock];
};
/// No sum with another exponent is one of a normal float.
inline constexpr std::int16_t kNoFp16Scale = -16384;

/// Blocks of 32 columns of a packed matrix, to be cut into parts.
struct TileCutTask {
  const void* panels = nullptr;  ///< the whole packed matrix, see packed_matrix.hpp
  Dtype dtype = Dtype::f32;      ///< of the panels
  std::int64_t cols = 0;         ///< of the whole matrix
  std::int64_t depth = 0;
  std::int64_t block_begin = 0, block_end = 0;
  Half* parts = nullptr;         ///< of block 0, `cut_block_halves` each
  unsigned char* bad = nullptr;  ///< of block 0: whether parts cannot carry a weight
  std::int64_t stage_depth = 0;  ///< of fp16 parts, which are scaled stage by stage
  Fp16Range* ranges = nullptr;   ///< of block 0, one for each stage; null unless parts are fp16
};

/// A run of weight panels that are cut.
struct TileRun {
  PanelRun panels;
  const Half* parts =
      nullptr;  ///< as `TileCutTask` made them; of weights in few bits there are none
  const unsigned char* bad = nullptr;
  const Fp16Range* ranges = nullptr;
};

/// Some rows of x times runs of weight panels.
struct TileProjectTask {
  InputRows x;                 ///< from the task's first row on
  std::int64_t first_row = 0;  ///< of the task in y
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t stage_depth = 0;   ///< a multiple of `kTileDepth`
  const TileRun* runs = nullptr;  ///< each begins at a multiple of `kTileBlock` columns
  std::int64_t run_count = 0;
  float* scratch = nullptr;          ///< `tile_project_scratch`
  const KernelTable* f32 = nullptr;  ///< for values that parts cannot carry
  Storage storage = Storage::f32;    ///< of the panels
  bool rows_are_cut = false;         ///< into this scratch; only if one stage is the whole depth
};

/// An attention task whose tiles are `kTileBlock` rows high.
struct TileAttendTask {
  AttendTask task;
  const KernelTable* f32 = nullptr;
  Dtype dtype = Dtype::f32;  ///< of keys and values
  /// If there are any, nothing is in `panels` yet, which are the task's keys: parts are cut from
  /// these rows, and they are packed only where rows are left to f32.
  InputRows key_rows = {};
  void* panels = nullptr;
};

/// Products of at most so many rows are left to f32: they are bound by reading weights, of which
/// parts are more bytes, or fill too little of a tile.
struct RowBorder {
  std::int64_t few_rows = 0;
  const char* measured_on = "";  ///< the core that it was found on; empty: it is reckoned
};

/// One precision on one unit.
struct TilePrecision {
  void (*cut)(const TileCutTask& task) = nullptr;
  void (*project)(const TileProjectTask& task) = nullptr;
  void (*attend)(const TileAttendTask& task) = nullptr;
  /// Tile products of random data from the L1, for the roof. Returns the FLOPs done, of which a
  /// product of float32 counts once however many products of parts it takes.
  double (*burst)(std::int64_t iterations, float* sink) = nullptr;
  /// The same where weights, keys and values are stored as bfloat16, and so have one part.
  double (*stored_burst)(std::int64_t iterations, float* sink) = nullptr;
  RowBorder border;
  RowBorder border_of_two;     ///< on cores with two vectors of f32 multiply-adds a cycle
  RowBorder border_of_groups;  ///< of weights in few bits, which each call cuts anew
  /// Values of the depth that are multiplied before sums become partial ones of y.
  std::int64_t longest_stage = 0;
};

struct TileKernels {
  const char* unit;  ///< such as "amx"
  TilePrecision bf16x9, bf16x6, fp16x3, bf16x3, bf16;
};

/// The kernels of a unit for a precision; null where it has none and f32 is no slower.
/// @pre the target is one of this machine, see `select_target`.
const TilePrecision* tile_precision(const Target& target, Precision precision);

/// The unit that they are of; null as above.
const TileKernels* tile_unit(const Target& target, Precision precision);

/// The bursts of all numbers that a unit has a rate of its own for. An emulated unit has none.
std::vector<std::pair<Numbers, double (*)(std::int64_t iterations, float* sink)>> product_bursts(
    const Target& target);

/// c += a b as the instruction TDPBF16PS has it, bit for bit, on any processor.
/// @param c 16 x 16 floats; @param a 16 rows of 32; @param b 16 rows of 16 pairs
void emulate_tile_product(float* c, const std::uint16_t* a, const std::uint16_t* b);

/// The same of the instruction TDPFP16PS, whose operands are fp16.
void emulate_fp16_tile_product(float* c, const std::uint16_t* a, const std::uint16_t* b);

}  // namespace headroom::simd

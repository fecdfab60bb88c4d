// Products of many rows by tiles, over an executor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "core/executor.hpp"
#include "core/head_view.hpp"
#include "headroom/precision.hpp"
#include "headroom/view.hpp"
#include "simd/packed_matrix.hpp"
#include "simd/tiles/tile_kernels.hpp"
#include "simd/variants.hpp"

namespace headroom::simd {

/// The unit and what it computes.
struct TileChoice {
  const TilePrecision* kernels = nullptr;  ///< null: there are none, f32 does it all
  Precision precision = Precision::f32;
  std::int64_t few_rows = 0;     ///< of the kernels
  const char* unit = "";         ///< its name
  const char* measured_on = "";  ///< the core that its border was found on

  bool takes(std::int64_t rows) const { return kernels != nullptr && rows > few_rows; }
  /// Attention of fewer rows than half a block of tiles streams keys, which threads share.
  bool attends(std::int64_t rows) const { return takes(rows) && rows > kTileSide; }
};

/// What a unit has for a precision, with the border of `core` for such weights.
TileChoice choose_tiles(const Target& target, Precision precision, const CoreFacts& core = {},
                        Storage weights = Storage::f32);

/// Products `Y = X W (+ b)` of one X of many rows. An element's bits depend on
/// its row and its block of 32 columns alone, not on the cut into tasks.
class TileProducts {
 public:
  /// @param weights of the f32 kernels, whose panels are cut here; must outlive this
  TileProducts(const TileChoice& choice, const KernelTable& f32,
               std::span<const PackedMatrix> weights, std::int64_t most_rows,
               const Executor& executor);

  /// @param y one per matrix; @param rounds floats of x count as the bf16 numbers nearest to them
  void run(const Executor& executor, const ConstAnyMatrix& x, std::span<const AnyBlockedView> y,
           bool rounds = false);

  bool takes(std::int64_t rows) const { return choice_.takes(rows); }
  std::int64_t packed_bytes() const;
  std::int64_t workspace_bytes() const { return scratch_.bytes(); }

 private:
  struct Cut {
    std::int64_t row_blocks = 0;  ///< of 32 rows
    std::int64_t row_tasks = 0;
    std::int64_t column_tasks = 0;
  };
  Cut cut(std::int64_t rows, int slots) const;
  std::int64_t collect_runs(std::int64_t begin, std::int64_t end, std::span<const AnyBlockedView> y,
                            TileRun* runs) const;
  void cut_weights(const Executor& executor);

  TileChoice choice_;
  const KernelTable* f32_;
  std::span<const PackedMatrix> weights_;
  std::vector<AlignedBuffer> parts_;             ///< of each matrix
  std::vector<std::vector<unsigned char>> bad_;  ///< blocks of each
  std::vector<std::vector<Fp16Range>> ranges_;   ///< of each block, by stage; if parts are fp16
  std::vector<std::int64_t> starts_;  ///< first block of each matrix, counted over all; and the end
  std::int64_t depth_ = 0;
  std::int64_t stage_depth_ = 0;
  std::int64_t task_blocks_ = 0;
  double weight_floats_ = 0;
  std::int64_t scratch_per_slot_ = 0;
  AlignedBuffer scratch_;
  std::vector<TileRun> runs_;           ///< room for every matrix, for each slot
  std::vector<std::int64_t> cut_rows_;  ///< the task of rows whose parts a slot's scratch has
};

}  // namespace headroom::simd

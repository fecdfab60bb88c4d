// The kernels of one level that multiply bytes; compiled once per level, and once more for
// processors that multiply four of them in one instruction, see cmake/HeadroomIsa.cmake.

#include "simd/kernels/bytes/byte_products.hpp"
#include "simd/kernels/projection/project_kernel.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {
namespace {

static_assert(kGroupNumbers <= kByteGroupNumbers);

/// Vectors of the widest tile: its sums of integers and of floats stay in registers.
template <int MR>
inline constexpr int kByteVectors = MR * 16 <= 2 * kTileRows  ? 8
                                    : MR * 8 <= 2 * kTileRows ? 4
                                                              : 2;

/// The rows of a task, cut into tiles of equal height.
struct ByteTiles {
  std::int64_t first, rows, tiles, row_floats;

  HEADROOM_INLINE explicit ByteTiles(const ProjectTask& task)
      : first(tile_begin(task.rows, task.tiles, task.tile_begin)),
        rows(tile_begin(task.rows, task.tiles, task.tile_end) - first),
        tiles((rows + kByteRows - 1) / kByteRows),
        row_floats(whole_groups(task.depth) / kGroup * kGroupNumbers) {}

  /// Calls `f` with a tile's first row, the number of them, and where they are, rounded.
  template <class F>
  HEADROOM_INLINE void for_each(float* memory, F&& f) const {
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t row = tile_begin(rows, tiles, t);
      f(first + row, tile_begin(rows, tiles, t + 1) - row, memory + row * row_floats);
    }
  }
};

template <class B>
void project_bytes(const ProjectTask& task) {
  const ByteTiles all(task);
  float* partial = task.scratch + all.rows * all.row_floats;
  const Stage stage{whole_groups(task.depth), 0, task.depth, true, true};
  all.for_each(
      task.scratch, [&](std::int64_t row, std::int64_t rows, float* to)
                        __attribute__((always_inline)) {
                          with_input(
                              task.x.from(row), [&](const auto* x) __attribute__((always_inline)) {
                                round_rows<B::kOffset>(x, task.x.stride, rows, task.depth,
                                                       reinterpret_cast<std::int32_t*>(to));
                              });
                        });
  // A group of panels stays in the L2 while all tiles pass over it.
  for (std::int64_t r = 0; r < task.run_count; ++r) {
    PanelRun group = task.runs[r];
    for (; group.panel_begin < task.runs[r].panel_end; group.panel_begin = group.panel_end) {
      group.panel_end = group_end(task.runs[r], group.panel_begin);
      all.for_each(
          task.scratch, [&](std::int64_t row, std::int64_t rows,
                            float* x) __attribute__((always_inline)) {
            TilePrefetches prefetches;
            prefetches.groups = task.prefetch_panels && row == all.first;
            with_rows<kByteRows>(
                rows, [&]<int MR>() __attribute__((always_inline)) {
                  for (std::int64_t p = group.panel_begin; p < group.panel_end;) {
                    p += run_panels<B, MR, Prefetch::none, false, kByteVectors<MR>>(
                        group, stage, x, row, p, partial, prefetches);
                  }
                });
          });
    }
  }
}

}  // namespace

extern const FewBitsKernels kByteKernels;
const FewBitsKernels kByteKernels{project_bytes<ByteWeights<Storage::q8>>,
                                  project_bytes<ByteWeights<Storage::q4>>};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE

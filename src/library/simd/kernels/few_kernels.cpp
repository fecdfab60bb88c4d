// The kernels of one level that multiply few rows with weights in few bits; compiled once per
// level, see cmake/HeadroomIsa.cmake. Many rows take those of floats, with expanded panels.

#include "simd/kernels/projection/project_kernel.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {
namespace {

/// All rows are one tile, and the depth is one stage.
template <class B>
void project_rows(const ProjectTask& task) {
  float* packed = task.scratch;
  float* partial = packed + task.rows * task.stage_depth;
  with_input(
      task.x, [&](const auto* x) __attribute__((always_inline)) {
        pack_rows(x, task.x.stride, task.rows, task.depth, packed);
      });
  const Stage stage{whole_groups(task.depth), 0, task.depth, true, true};
  TilePrefetches prefetches;
  prefetches.groups = task.prefetch_panels;
  const auto run_all = [&]<int MR>() __attribute__((always_inline)) {
    for (std::int64_t r = 0; r < task.run_count; ++r) {
      const PanelRun& run = task.runs[r];
      for (std::int64_t p = run.panel_begin; p < run.panel_end;) {
        p +=
            run_panels<B, MR, Prefetch::none, false>(run, stage, packed, 0, p, partial, prefetches);
      }
    }
  };
  with_rows(task.rows, run_all);
}

}  // namespace

extern const FewBitsKernels kFewRowsKernels;
const FewBitsKernels kFewRowsKernels{project_rows<Q8>, project_rows<Q4>};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE

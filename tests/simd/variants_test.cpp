// The first choice of a variant, and how work is cut for many threads.
#include "simd/variants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/simd_backend.hpp"
#include "backends/simd_core.hpp"
#include "headroom/initialise.hpp"
#include "simd/attend.hpp"
#include "simd/kernel_table.hpp"
#include "simd/project.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd::variants_test {
namespace {

constexpr std::int64_t kKiB = 1024;

TEST(Variants, TheFirstChoiceGoesByTheCore) {
  const auto name = [](Isa isa, double multiply_adds, std::int64_t l2) {
    return std::string(first_choice(isa, {multiply_adds, l2}).name);
  };
  EXPECT_EQ(name(Isa::avx512, 1.0, 1024 * kKiB), "far");
  EXPECT_EQ(name(Isa::avx512, 1.9, 1024 * kKiB), "near");
  EXPECT_EQ(name(Isa::avx512, 1.9, 2048 * kKiB), "near");
  EXPECT_EQ(name(Isa::avx512, 0, 2048 * kKiB), "far");
  EXPECT_EQ(name(Isa::avx2, 2.0, 2048 * kKiB), "far");
}

TEST(Variants, StreamsGoIntoALargeL1BesideASmallL2) {
  EXPECT_TRUE(streams_into_l1(Isa::avx512, 48 * kKiB, 1024 * kKiB));
  EXPECT_FALSE(streams_into_l1(Isa::avx512, 48 * kKiB, 2048 * kKiB));
  EXPECT_FALSE(streams_into_l1(Isa::avx512, 32 * kKiB, 1024 * kKiB));
  EXPECT_FALSE(streams_into_l1(Isa::avx512, 48 * kKiB, 0)) << "unknown";
  EXPECT_FALSE(streams_into_l1(Isa::avx512, 0, 1024 * kKiB)) << "unknown";
  EXPECT_FALSE(streams_into_l1(Isa::avx2, 48 * kKiB, 1024 * kKiB)) << "its panels are no pieces";
}

// A core decides, not its name: on some AVX512_BF16 is slower than f32.
TEST(Variants, PairsAreTakenWhereTheyAreFaster) {
  EXPECT_EQ(why_f32_is_no_slower(1.9), "");
  EXPECT_NE(why_f32_is_no_slower(0.85).find("0.85 times the rate of f32"), std::string::npos);
  EXPECT_NE(why_f32_is_no_slower(1.05), "") << "a conversion eats so little";
  for (const Target& target : available_targets()) {
    if (target.unit != Unit::avx512_bf16) continue;
    const double gain = avx512_bf16_gain();
    EXPECT_GT(gain, 0);
    EXPECT_EQ(avx512_bf16_gain(), gain) << "measured once";
    const Arithmetic does = computes({Precision::bf16, Dtype::f32}, target);
    EXPECT_EQ(does.reason, why_f32_is_no_slower(gain));
    EXPECT_EQ(does.precision, does.reason.empty() ? Precision::bf16 : Precision::f32);
    EXPECT_EQ(does.unit, does.reason.empty() ? Unit::avx512_bf16 : Unit::none);
  }
}

TEST(Variants, NamesAreDifferentAndFound) {
  for (const Isa isa : available_isas()) {
    std::set<std::string_view> names;
    for (const ProjectVariant& variant : project_variants(isa)) {
      EXPECT_TRUE(names.insert(variant.name).second);
      EXPECT_EQ(find_project_variant(isa, variant.name)->name, variant.name);
    }
    EXPECT_EQ(find_project_variant(isa, ""), nullptr);
  }
}

// Runs tasks in turn on the slots, one after the other.
class Slots final : public Executor {
 public:
  explicit Slots(int slots) : slots_(slots) {}
  int slots() const override { return slots_; }
  using Executor::run;
  void run(std::int64_t count, TaskRef task, double) const override {
    most_tasks = std::max(most_tasks, count);
    for (std::int64_t i = 0; i < count; ++i) {
      slot_now = static_cast<int>(i % slots_);
      task(i, slot_now);
    }
  }
  mutable std::int64_t most_tasks = 0;
  static inline int slot_now = 0;

 private:
  int slots_;
};

// Which slot writes which cache lines of its scratch memory.
std::map<std::uintptr_t, int> line_of_slot;
int shared_lines = 0;

void claim(const void* begin, std::int64_t bytes) {
  constexpr std::uintptr_t kLine = 64;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  for (std::uintptr_t line = first / kLine;
       line <= (first + static_cast<std::uintptr_t>(bytes) - 1) / kLine; ++line) {
    const auto [place, fresh] = line_of_slot.try_emplace(line, Slots::slot_now);
    if (!fresh && place->second != Slots::slot_now) ++shared_lines;
  }
}

std::int64_t bytes_of(std::int64_t floats) {
  return floats * static_cast<std::int64_t>(sizeof(float));
}

constexpr std::int64_t kRows = 5;  // of a tile of the kernels below
constexpr std::int64_t kLanes = 4;

// Kernels that compute nothing and claim what they would write.
KernelTable claiming() {
  KernelTable table = kernel_table(available_isas().front());
  table.tile_rows = kRows;
  table.lanes = kLanes;
  table.f32.project = [](const ProjectTask& task) {
    std::int64_t panels = 0;
    for (std::int64_t r = 0; r < task.run_count; ++r) {
      panels += task.runs[r].panel_end - task.runs[r].panel_begin;
    }
    claim(task.runs, task.run_count * static_cast<std::int64_t>(sizeof(PanelRun)));
    claim(task.scratch, bytes_of(project_scratch_floats(kRows, 2 * kLanes, task.stage_depth,
                                                        task.tile_end - task.tile_begin, panels)));
  };
  table.f32.attend = [](AttendTask& task) {
    claim(task.scratch, bytes_of(attend_scratch_floats(kRows, kLanes, task.head_dim, task.value_dim,
                                                       task.tile_end - task.tile_begin)));
  };
  table.f32.pack_keys = [](const RowsOf&, std::int64_t, std::int64_t count, std::int64_t head_dim,
                           void* panels) { claim(panels, bytes_of(count * head_dim)); };
  return table;
}

class Sharing : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    line_of_slot.clear();
    shared_lines = 0;
  }
};

TEST_P(Sharing, NoCacheLineOfAProductIsWrittenByTwoSlots) {
  const KernelTable kernels = claiming();
  const Slots slots(GetParam());
  constexpr std::int64_t kTokens = 33, kDepth = 37, kWidth = 21;
  const Matrix x = uniform_matrices(kTokens, kDepth, 1, 2).front();
  Matrix y(kTokens, kWidth);
  for (const int count : {1, 7}) {
    SetUp();
    std::vector<PackedMatrix> weights;
    for (const Matrix& matrix : uniform_matrices(kDepth, kWidth, count, 1)) {
      weights.emplace_back(std::vector<ConstAnyMatrix>{matrix.view()},
                           std::vector<ConstAnyMatrix>{}, kernels, Storage::f32, slots);
    }
    BlockedProducts products(kernels, std::move(weights), kTokens, slots,
                             project_variants(kernels.isa).front());
    const std::vector<AnyBlockedView> to(
        static_cast<std::size_t>(count),
        BlockedView{y.values.data(), kTokens, kWidth, 1, kWidth, 0});
    products.run(slots, x.view(), to);
    EXPECT_GT(line_of_slot.size(), 0U);
    EXPECT_EQ(shared_lines, 0) << count << " products";
  }
}

TEST_P(Sharing, NoCacheLineOfAttentionIsWrittenByTwoSlots) {
  const KernelTable kernels = claiming();
  const Slots slots(GetParam());
  for (const std::int64_t heads : {1, 6, 41}) {
    SetUp();
    Case shape;
    shape.tokens = 33;
    shape.heads = heads;
    shape.d_in = shape.d_out = heads * 5;
    StreamingAttention attention(kernels, {}, Storage::f32, shape, slots);
    std::vector<float> qkv(static_cast<std::size_t>(shape.tokens * shape.d_out));
    const BlockedView all{qkv.data(), shape.tokens, shape.d_out, heads, 5, 5};
    const std::vector<Sequence> sequences = sequences_of(shape);
    attention.run(slots, {all, all, all, all, sequences}, nullptr);
    EXPECT_GT(line_of_slot.size(), 0U);
    EXPECT_EQ(shared_lines, 0) << heads << " heads";
  }
}

INSTANTIATE_TEST_SUITE_P(Slots, Sharing, testing::Values(1, 2, 3, 5));

TEST(Tasks, AreEnoughForSixtyFourCores) {
  const KernelTable kernels = claiming();
  constexpr int kCores = 64;
  constexpr std::int64_t kTokens = 128, kHeads = 96, kHeadDim = 8;
  const Slots project(kCores);
  const Matrix w = uniform_matrices(16, kHeads * kHeadDim, 1, 1).front();
  std::vector<PackedMatrix> weights;
  weights.emplace_back(std::vector<ConstAnyMatrix>{w.view()}, std::vector<ConstAnyMatrix>{},
                       kernels, Storage::f32, project);
  BlockedProducts products(kernels, std::move(weights), kTokens, project,
                           project_variants(kernels.isa).front());
  const Matrix x = uniform_matrices(kTokens, 16, 1, 2).front();
  std::vector<float> data(static_cast<std::size_t>(kTokens * kHeads * kHeadDim));
  const AnyBlockedView y =
      BlockedView{data.data(), kTokens, kHeads * kHeadDim, kHeads, kHeadDim, kHeadDim};
  project.most_tasks = 0;
  products.run(project, x.view(), {&y, 1});
  EXPECT_GE(project.most_tasks, kCores);

  const Slots attend(kCores);
  Case shape;
  shape.tokens = kTokens;
  shape.heads = kHeads;
  shape.d_in = shape.d_out = kHeads * kHeadDim;
  StreamingAttention attention(kernels, {}, Storage::f32, shape, attend);
  attend.most_tasks = 0;
  const std::vector<Sequence> sequences = sequences_of(shape);
  attention.run(attend, {y, y, y, y, sequences}, nullptr);
  EXPECT_GE(attend.most_tasks, kCores);
}

}  // namespace
}  // namespace headroom::simd::variants_test

// Weights are packed by the executor that will read them, to the same bits whoever does it.
#include "simd/packed_matrix.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "headroom/weights.hpp"

namespace headroom::simd::packed_matrix_test {
namespace {

/// A thread for each task, the last task first.
class ThreadExecutor final : public Executor {
 public:
  using Executor::run;
  int slots() const override { return 1; }
  void run(std::int64_t count, TaskRef task, double) const override {
    for (std::int64_t i = count - 1; i >= 0; --i) {
      std::jthread([&] { task(i, 0); }).join();
      done_.push_back(i);
    }
  }
  const std::vector<std::int64_t>& done() const { return done_; }

 private:
  mutable std::vector<std::int64_t> done_;
};

// Panels of 16 columns.
KernelTable eight_lanes() {
  KernelTable kernels = kernel_table(available_isas().front());
  kernels.lanes = 8;
  return kernels;
}

class PackedMatrixOf : public testing::TestWithParam<Storage> {};

TEST_P(PackedMatrixOf, IsWrittenByTheExecutorsTasksToTheSameBits) {
  const KernelTable kernels = eight_lanes();
  Matrix first(5, 37);
  Matrix second(5, 18);
  for (Matrix* matrix : {&first, &second}) {
    float value = matrix == &first ? 0.5F : -0.25F;
    for (float& each : matrix->values) each = value += 1.0F;
  }
  const std::vector<ConstAnyMatrix> parts{first.view(), second.view()};
  const PackedMatrix serial(parts, {}, kernels, GetParam(), SerialExecutor());
  const ThreadExecutor executor;
  const PackedMatrix threaded(parts, {}, kernels, GetParam(), executor);
  ASSERT_EQ(threaded.bytes(), serial.bytes());
  EXPECT_EQ(std::memcmp(serial.data(), threaded.data(), static_cast<std::size_t>(threaded.bytes())),
            0);
  EXPECT_EQ(executor.done(), (std::vector<std::int64_t>{3, 2, 1, 0})) << "a task for each panel";
}

INSTANTIATE_TEST_SUITE_P(Dtypes, PackedMatrixOf,
                         testing::Values(Storage::f32, Storage::bf16, Storage::q8, Storage::q4),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(PackedMatrix, RoundsToHalfTheMemory) {
  const KernelTable kernels = eight_lanes();
  Matrix weights(3, 19);
  float value = 1.0F;
  for (float& each : weights.values) each = value *= -1.01F;
  const PackedMatrix packed({weights.view()}, {}, kernels, Storage::bf16, SerialExecutor());
  const PackedMatrix whole({weights.view()}, {}, kernels, Storage::f32, SerialExecutor());
  EXPECT_EQ(2 * packed.bytes(), whole.bytes());
  const auto* halves = static_cast<const Half*>(packed.data());
  const auto* floats = static_cast<const float*>(whole.data());
  for (std::int64_t i = 0; i < 3 * 24; ++i) {
    EXPECT_EQ(halves[i], round_to_bf16(floats[i]).bits) << i;
  }
}

}  // namespace
}  // namespace headroom::simd::packed_matrix_test

// Weights are packed by the executor that will read them, to the same bits whoever does it.
#include "simd/packed_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "headroom/weights.hpp"

namespace headroom::simd {
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

TEST(PackedMatrix, IsWrittenByTheExecutorsTasksToTheSameBits) {
  constexpr std::int64_t kLanes = 8;
  Matrix first(5, 37);
  Matrix second(5, 18);
  for (Matrix* matrix : {&first, &second}) {
    float value = matrix == &first ? 0.5F : -0.25F;
    for (float& each : matrix->values) each = value += 1.0F;
  }
  const std::vector<ConstMatrixView> parts{first.view(), second.view()};
  const PackedMatrix serial(parts, {}, kLanes, SerialExecutor());
  const ThreadExecutor executor;
  const PackedMatrix threaded(parts, {}, kLanes, executor);
  ASSERT_EQ(threaded.bytes(), serial.bytes());
  const auto count = threaded.bytes() / static_cast<std::int64_t>(sizeof(float));
  EXPECT_TRUE(std::equal(serial.data(), serial.data() + count, threaded.data()));
  EXPECT_EQ(executor.done(), (std::vector<std::int64_t>{3, 2, 1, 0})) << "a task for each panel";
}

}  // namespace
}  // namespace headroom::simd

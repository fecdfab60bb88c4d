// The main of test programs that run under mpirun: all ranks run the same tests in the same order.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace {

// What the other ranks find is told by them alone.
class SilentUnlessFailed : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank,
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
                 result.message());
  }
};

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new SilentUnlessFailed);
  }
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}

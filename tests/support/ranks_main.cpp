// The main of test programs that run under mpirun: all ranks run the same tests in the same order.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

// What MPI's library of process management loses once a process is not ours to find.
extern "C" const char* __lsan_default_suppressions() { return "leak:libpmix\n"; }
#endif

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
#ifdef __SANITIZE_ADDRESS__
  // MPI loses some of what it allocates here, and unloads its modules at its end, and with them
  // whatever points to the rest: leaks are looked for in what lies between.
  __lsan_disable();
#endif
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
#ifdef __SANITIZE_ADDRESS__
  __lsan_enable();
#endif
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new SilentUnlessFailed);
  }
  const int failed = RUN_ALL_TESTS();
#ifdef __SANITIZE_ADDRESS__
  __lsan_do_leak_check();
#endif
  MPI_Finalize();
  return failed;
}

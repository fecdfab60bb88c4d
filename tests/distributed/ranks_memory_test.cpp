// One rank's memory runs out at every place in turn, and no other waits for it.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>

#include "headroom/distributed.hpp"
#include "support/layer_cases.hpp"
#include "support/ranks.hpp"

namespace {

// Counts down to the allocation that fails; none does below 0.
std::atomic<long> until_failure{-1};

void* allocate(std::size_t size) {
  if (until_failure.load() >= 0 && until_failure.fetch_sub(1) == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

void* allocate(std::size_t size, std::align_val_t alignment) {
  if (until_failure.load() >= 0 && until_failure.fetch_sub(1) == 0) throw std::bad_alloc();
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<std::size_t>(alignment), size > 0 ? size : 1) == 0) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t at) { return allocate(size, at); }
void* operator new[](std::size_t size, std::align_val_t at) { return allocate(size, at); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace headroom::test {
namespace {

bool any_rank(bool own) {
  int any = own ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

// Fails the first allocation of one rank, then the second, and so on until the work needs no more:
// all ranks refuse, or none.
template <class Work>
void fail_everywhere(int rank, const Work& work) {
  work();  // what is made once in a process is there
  int refusals = 0;
  for (long place = 0;; ++place) {
    alarm(60);  // a rank that is waited for in vain ends the test
    if (world_rank() == rank) until_failure = place;
    bool refused = false;
    try {
      work();
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    const bool failed = world_rank() == rank && until_failure.exchange(-1) < 0;
    ASSERT_EQ(any_rank(refused), !any_rank(!refused)) << "at allocation " << place;
    if (!any_rank(failed)) break;
    refusals += refused ? 1 : 0;  // some can be done without
  }
  EXPECT_GT(refusals, 0);
  alarm(0);
}

class RanksMemory : public testing::TestWithParam<int> {};

TEST_P(RanksMemory, AllRanksLeaveTogether) {
  Case shape = plain_shape(3, 8, 8, 4);
  shape.d_proj = 8;
  const Layer layer = gaussian_layer(shape);
  AttentionOptions options;
  options.backend = layer_cases().front().backend;
  options.threads = 1;
  const SplitWeights own = own_weights(layer);
  const DistributedOptions how{0, GetParam()};
  const int last = world_size() - 1;
  fail_everywhere(last,
                  [&] { DistributedAttention(MPI_COMM_WORLD, shape, shape, own, options, how); });
  fail_everywhere(0, [&] { own_weights(layer); });
  DistributedAttention attention(MPI_COMM_WORLD, shape, shape, own, options, how);
  fail_everywhere(last, [&] { DistributedCache(attention, {2, 6}); });
}

INSTANTIATE_TEST_SUITE_P(RanksAMachine, RanksMemory, testing::Values(0, 1));

}  // namespace
}  // namespace headroom::test

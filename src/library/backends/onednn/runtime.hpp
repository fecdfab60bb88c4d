// Shared by the operations: the library's engine, threads and scratch memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

// Both are needed: a compiler may know OpenMP without having its header, as clang-tidy does.
#if defined(_OPENMP) && __has_include(<omp.h>)
#define HEADROOM_ONEDNN_OPENMP 1
#include <omp.h>
#endif

#include "backends/onednn/dnnl_compat.hpp"
#include "backends/onednn/fork.hpp"
#include "core/aligned_buffer.hpp"
#include "headroom/precision.hpp"
#include "headroom/unit.hpp"

namespace headroom::onednn {

/// What the library asks of a processor, as opposed to what it uses: FMA it takes for granted where
/// there is AVX2, and ends the process with SIGILL where there is none (2.6).
struct VectorFacts {
  bool avx2 = false, fma = false;
};

/// Whether the library must not take all that it finds. Without FMA the highest level is SSE4.2.
constexpr bool must_be_limited(const Target& target, const Target& highest,
                               const VectorFacts& facts) {
  return target != highest || (facts.avx2 && !facts.fma);
}

/// Limits oneDNN to a level and a unit, unless they are the machine's highest. The library accepts
/// such a limit once per process, before its first use.
/// @throws Unavailable if the library already runs with another limit.
void limit_library(const Target& wanted);

/// The unit that the library multiplies bfloat16 with on a target: that of the target, or where it
/// is emulated, which the library is not, the processor's own; and not tiles where its version must
/// not, see tile_fault.hpp. `none`: it has such products with AVX-512 alone, and without a unit
/// they are slower than those of float32.
Unit bf16_unit(const Target& target);

/// Where the library multiplies bfloat16 by tiles all the same.
/// @pre `limit_library` was called.
/// @throws Unavailable
void refuse_tile_fault();

/// What products read. They sum and write float32.
enum class Operand { f32, bf16 };

inline dnnl::memory::data_type type_of(Operand operand) {
  return operand == Operand::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

inline std::int64_t bytes_of(Operand operand) {
  return operand == Operand::bf16 ? sizeof(Bf16) : sizeof(float);
}

/// Floats that have room for so many operands.
inline std::int64_t floats_for(Operand operand, std::int64_t count) {
  return (count * bytes_of(operand) + 3) / static_cast<std::int64_t>(sizeof(float));
}

/// The processor and an in-order stream on it.
struct Device {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

/// Attributes that make primitives use the caller's scratch memory, so that they allocate none
/// while they run.
dnnl::primitive_attr user_scratchpad();

/// Memory that all operations of one layer share, because they never run at the same time. Grows
/// during set-up only.
class SharedScratch {
 public:
  enum class Use { primitive, input, output };

  /// Makes room for `count` floats; returns by how many bytes the memory grew.
  std::int64_t reserve(Use use, std::int64_t count) {
    AlignedBuffer& buffer = buffers_[static_cast<std::size_t>(use)];
    const std::int64_t before = buffer.bytes();
    if (count > buffer.size()) buffer = AlignedBuffer(count);
    return buffer.bytes() - before;
  }
  float* data(Use use) { return buffers_[static_cast<std::size_t>(use)].data(); }

 private:
  std::array<AlignedBuffer, 3> buffers_;
};

/// Call this before a primitive is made: oneDNN writes generated code through a null pointer if it
/// gets no memory for it.
/// @throws std::bad_alloc if there is less than a primitive can need.
void require_memory_for_code();

/// Makes the library write the code of its general product, which it calls where it has no better
/// one, as with AVX2. By itself it writes that at the first call, in OpenMP's threads, where
/// running out of memory ends the process. Once per process.
/// @throws std::bad_alloc if there is too little memory.
void prepare_general_product();

/// Runs `make`; its out-of-memory errors become std::bad_alloc.
template <class Make>
auto with_bad_alloc(const Make& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw;
  }
}

/// Floats that hold a memory object of this kind.
inline std::int64_t floats_of(const dnnl::memory::desc& desc) {
  return static_cast<std::int64_t>((desc.get_size() + sizeof(float) - 1) / sizeof(float));
}

/// Runs a primitive through the C interface: the C++ one builds maps on the heap at every call.
template <std::size_t N>
void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             const std::array<dnnl_exec_arg_t, N>& arguments) {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(N), arguments.data());
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) {
    throw std::runtime_error("oneDNN refused to run a prepared primitive: dnnl_primitive_execute");
  }
}

/// Sets the OpenMP thread count of the calling thread, which oneDNN uses when it makes and when it
/// runs a primitive, and restores it at the end.
class ThreadCount {
 public:
#ifdef HEADROOM_ONEDNN_OPENMP
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) {
    enter_openmp();
    omp_set_num_threads(threads);
  }
  ~ThreadCount() { omp_set_num_threads(before_); }
#else
  explicit ThreadCount(int) {}
#endif
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
#ifdef HEADROOM_ONEDNN_OPENMP
  int before_;
#endif
};

/// Starts the threads that regions of the calling thread will use; OpenMP keeps them. OpenMP ends
/// the process if the system refuses a thread, so this is checked first.
/// @throws ResourceError if it refuses.
void start_threads(int threads);

/// Runs `work`, which enters OpenMP. Only in a process that forked off after its thread had used
/// OpenMP does that take a new thread and a new pool at every call.
template <class Work>
void with_live_threads(int threads, const Work& work) {
  if (!has_lost_threads()) {
    work();
    return;
  }
  on_new_thread([&] {
    start_threads(threads);
    work();
  });
}

/// The number of threads that pays off for this work, of those allowed. OpenMP's threads sleep
/// between two regions, as they must beside other rivals. Waking and joining them takes about 45
/// us, in which one thread does 2 to 5 MFLOP, so the work has to be several times that
/// (reports/speed-journal.md).
inline int worthwhile_threads(int allowed, double flops) {
  constexpr double kFlopsPerThread = 7.5e6;
  if (flops >= allowed * kFlopsPerThread) return allowed;
  return std::max(1, static_cast<int>(flops / kFlopsPerThread));
}

/// Calls `task(i, slot)` for `i` in `[0, count)`, in order of `i`, on the runtime that oneDNN
/// itself uses, with `slot` in `[0, threads)`. A primitive that a task runs stays on the task's
/// thread.
template <class Task>
void parallel_for(int threads, std::int64_t count, const Task& task) {
#ifdef HEADROOM_ONEDNN_OPENMP
  std::exception_ptr failure;  // rethrown after the parallel region, which it must not leave
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      task(i, omp_get_thread_num());
    } catch (...) {
#pragma omp critical(headroom_onednn_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
#else
  static_cast<void>(threads);
  for (std::int64_t i = 0; i < count; ++i) task(i, 0);
#endif
}

}  // namespace headroom::onednn

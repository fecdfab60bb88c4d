#include "backends/onednn/runtime.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "backends/onednn/tile_fault.hpp"
#include "core/thread_probe.hpp"
#include "headroom/error.hpp"

namespace headroom::onednn {
namespace {

dnnl::cpu_isa library_level(const Target& target) {
  switch (target.isa) {
    case Isa::sse42:
      return dnnl::cpu_isa::sse41;
    case Isa::avx2:
      return dnnl::cpu_isa::avx2;
    case Isa::avx512:
      return target.unit == Unit::none ? dnnl::cpu_isa::avx512_core
                                       : dnnl::cpu_isa::avx512_core_bf16;
    case Isa::neon:
      break;  // the only one of its family, so no limit is needed
  }
  return kNoIsaLimit;
}

VectorFacts vector_facts() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return {__builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("fma") != 0};
#else
  return {};
#endif
}

std::string to_text(const Target& target) {
  return fmt::format("{}, unit {}", to_string(target.isa), to_string(target.unit));
}

void require_memory(std::size_t bytes) {
  // Not from the heap, which does not return freed memory.
  void* trial = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (trial == MAP_FAILED) throw std::bad_alloc();
  ::munmap(trial, bytes);
}

// What OpenMP takes when it starts and for each thread, its stack included. LLVM's ends the process
// where it cannot have it.
constexpr std::size_t kOpenMpBytes = std::size_t{16} << 20;
constexpr std::size_t kOpenMpThreadBytes = std::size_t{10} << 20;

#ifdef HEADROOM_ONEDNN_OPENMP
// Apart and never inlined: clang enters OpenMP at the start of the function that has the region,
// which would be before the memory was asked for. @return the threads that came
[[gnu::noinline]] int start_openmp(int threads) {
  std::atomic<int> here{0};
#pragma omp parallel num_threads(threads)
  ++here;  // an empty region might be optimised away
  return here.load();
}
#endif

}  // namespace

void limit_library(const Target& wanted) {
  static std::mutex mutex;
  static std::optional<Target> in_force;
  const Target target{wanted.isa, bf16_unit(wanted)};
  const std::lock_guard lock(mutex);
  if (!in_force) {
    // The highest stays unlimited: the library may know newer extensions than our levels. All but
    // what may end the process: if that cannot be ruled out, `refuse_tile_fault` speaks up.
    const Unit best = bf16_unit({target.isa, available_units(target.isa).back()});
    const bool limited = must_be_limited(target, {available_isas().back(), best}, vector_facts());
    const dnnl::cpu_isa most = most_instructions(library_version());
    if (!limited && most != kNoIsaLimit) static_cast<void>(dnnl::set_max_cpu_isa(most));
    if (limited && dnnl::set_max_cpu_isa(library_level(target)) != dnnl::status::success) {
      throw Unavailable(fmt::format(
          "backend 'onednn' cannot be limited to '{}': oneDNN was used in this process before, or "
          "was built without that choice; force the level in a fresh process",
          to_text(target)));
    }
    in_force = target;
  }
  if (*in_force != target) {
    throw Unavailable(fmt::format(
        "backend 'onednn' cannot switch to '{}': oneDNN already runs with '{}' in this process and "
        "takes one level and one unit only; force them in a fresh process",
        to_text(target), to_text(*in_force)));
  }
}

void refuse_tile_fault() {
#if defined(__x86_64__)
  const std::string fault = tile_fault_of(library_version(), dnnl::get_effective_cpu_isa());
  if (!fault.empty()) throw Unavailable(fault);
#endif
}

Unit bf16_unit(const Target& target) {
  const std::vector<Unit> here = available_units(target.isa);
  const Unit wanted = target.unit == Unit::emulated ? here.back() : target.unit;
  return unit_without_fault(wanted, here, library_version());
}

void start_threads(int threads) {
#ifdef HEADROOM_ONEDNN_OPENMP
  enter_openmp();
  thread_local int most = 0;  // OpenMP keeps separate threads per calling thread
  if (threads <= most) return;
  require_memory(kOpenMpBytes + static_cast<std::size_t>(threads - 1) * kOpenMpThreadBytes);
  if (threads > 1) require_threads("onednn", threads, threads - std::max(most, 1));
  most = std::max(most, start_openmp(threads));
#else
  static_cast<void>(threads);
#endif
}

void require_memory_for_code() {
  // A primitive has up to about 30 generated functions, and each first gets 256 KiB.
  require_memory(std::size_t{8} << 20);
}

void prepare_general_product() {
  static std::once_flag once;
  std::call_once(once, [] {
    require_memory_for_code();
    constexpr dnnl_dim_t kSide = 16;
    std::array<float, kSide * kSide> a{}, b{}, c{};
    dnnl::sgemm('N', 'N', kSide, kSide, kSide, 1, a.data(), kSide, b.data(), kSide, 0, c.data(),
                kSide);
  });
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace headroom::onednn

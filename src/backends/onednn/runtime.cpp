#include "backends/onednn/runtime.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>

#include "core/thread_probe.hpp"
#include "headroom/error.hpp"

namespace headroom::onednn {
namespace {

dnnl::cpu_isa library_level(Isa isa) {
  switch (isa) {
    case Isa::sse42:
      return dnnl::cpu_isa::sse41;
    case Isa::avx2:
      return dnnl::cpu_isa::avx2;
    case Isa::avx512:
      return dnnl::cpu_isa::avx512_core;
    case Isa::neon:
      break;  // the only level of its family, so no limit is needed
  }
  return kNoIsaLimit;
}

}  // namespace

void limit_isa(Isa isa) {
  static std::mutex mutex;
  static std::optional<Isa> in_force;
  const std::lock_guard lock(mutex);
  if (!in_force) {
    // The highest level stays unlimited: the library may know newer extensions than our levels.
    const bool limited = isa != available_isas().back();
    if (limited && dnnl::set_max_cpu_isa(library_level(isa)) != dnnl::status::success) {
      throw Unavailable(fmt::format(
          "backend 'onednn' cannot be limited to '{}': oneDNN was used in this process before, or "
          "was built without that choice; force the level in a fresh process",
          to_string(isa)));
    }
    in_force = isa;
  }
  if (*in_force != isa) {
    throw Unavailable(fmt::format(
        "backend 'onednn' cannot switch to '{}': oneDNN already runs with '{}' in this process and "
        "takes one level only; force the level in a fresh process",
        to_string(isa), to_string(*in_force)));
  }
}

void start_threads(int threads) {
#ifdef HEADROOM_ONEDNN_OPENMP
  thread_local int most = 1;  // OpenMP keeps separate threads per calling thread
  if (threads <= most) return;
  require_threads("onednn", threads, threads - most);
  std::atomic<int> here{0};
#pragma omp parallel num_threads(threads)
  ++here;  // an empty region might be optimised away
  most = std::max(most, here.load());
#else
  static_cast<void>(threads);
#endif
}

void require_memory_for_code() {
  // A primitive has up to about 30 generated functions, and each first gets 256 KiB.
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  // Not from the heap, which does not return freed memory.
  void* trial = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (trial == MAP_FAILED) throw std::bad_alloc();
  ::munmap(trial, kBytes);
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace headroom::onednn

// Parallelism: kernels split their work into tasks, and a backend decides who runs them.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace headroom {

/// A reference to a callable `void(std::int64_t task, int slot)`. Not std::function, which may
/// allocate, and forward() must not.
class TaskRef {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a reference parameter in disguise
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, TaskRef>) TaskRef(F& callable)
      : object_(&callable), call_([](const void* object, std::int64_t task, int slot) {
          (*static_cast<const F*>(object))(task, slot);
        }) {}
  // NOLINTEND(google-explicit-constructor)

  void operator()(std::int64_t task, int slot) const { call_(object_, task, slot); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, int);
};

/// Runs independent tasks. No task may depend on another, and no result on the slot that ran it, so
/// that results are bit-identical for every thread count.
class Executor {
 public:
  virtual ~Executor() = default;

  /// The most tasks that run at the same time; scratch memory is kept per slot.
  virtual int slots() const = 0;

  /// Work of fewer seconds is never divided, so there is no use in cutting it up.
  virtual double least_seconds() const { return 0; }
  /// The slots that work of so many seconds may be spread over.
  int slots_for(double seconds) const { return seconds < least_seconds() ? 1 : slots(); }

  /// Calls `task(i, slot)` for every `i` in `[0, count)`, with `slot` in `[0, slots())` used by one
  /// call at a time. Returns when all are done.
  /// @param seconds that all tasks together take on one thread, within a factor of two or so: short
  ///        ones may not be worth waking other threads
  virtual void run(std::int64_t count, TaskRef task, double seconds) const = 0;

  /// The same for work that is always divided.
  void run(std::int64_t count, TaskRef task) const {
    run(count, task, std::numeric_limits<double>::infinity());
  }
};

/// All tasks in order on the calling thread.
class SerialExecutor final : public Executor {
 public:
  using Executor::run;
  int slots() const override { return 1; }
  void run(std::int64_t count, TaskRef task, double) const override {
    for (std::int64_t i = 0; i < count; ++i) task(i, 0);
  }
};

}  // namespace headroom

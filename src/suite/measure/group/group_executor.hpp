// Who takes the samples of a group: this process with the other ranks, or processes that it forks.
#pragma once

namespace headroom::measure {

class GroupExecutor {
 public:
  GroupExecutor() = default;
  virtual ~GroupExecutor() = default;
  GroupExecutor(const GroupExecutor&) = delete;
  GroupExecutor& operator=(const GroupExecutor&) = delete;

  /// Each cell of the group ends in exactly one `Observer::finished`, unless `Observer::stopped`
  /// returns true before.
  virtual void measure() = 0;
};

}  // namespace headroom::measure

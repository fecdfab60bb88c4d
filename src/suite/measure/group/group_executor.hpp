// Who takes the samples of a group: this process with the other ranks, or processes that it forks.
#pragma once

#include <cstddef>
#include <vector>

#include "measure/observer.hpp"
#include "measure/settings.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "record/result.hpp"

namespace headroom::measure {

class GroupExecutor {
 public:
  /// All references must outlive the executor.
  GroupExecutor(const plan::Group& group, const Settings& settings, plan::Estimator& estimator,
                Observer& observer)
      : group_(group), settings_(settings), estimator_(estimator), observer_(observer) {}
  virtual ~GroupExecutor() = default;
  GroupExecutor(const GroupExecutor&) = delete;
  GroupExecutor& operator=(const GroupExecutor&) = delete;

  /// Each cell of the group ends in exactly one `Observer::finished`, unless `Observer::stopped`
  /// returns true before.
  virtual void measure() = 0;

 protected:
  /// Finishes the cells that estimates refuse, before anything is allocated.
  /// @return the places of the others in the group
  std::vector<std::size_t> admit();
  void finish(const record::CellResult& result);

  const plan::Group& group_;
  const Settings& settings_;
  plan::Estimator& estimator_;
  Observer& observer_;
};

}  // namespace headroom::measure

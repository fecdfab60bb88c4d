#include "pick/measure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <system_error>

#include "sweep/exit_code.hpp"
#include "sweep/journal.hpp"

namespace headroom::pick {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? "/tmp" : parent) / "headroom-pick-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw sweep::ResourceError(
        fmt::format("cannot make the folder {}: {}; set TMPDIR to a folder "
                    "that can be written",
                    name, std::strerror(errno)));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> drop_hopeless(sweep::Plan& plan) {
  const sweep::Estimator estimator;
  std::set<std::string> dropped;
  for (sweep::Group& group : plan.groups) {
    const auto seconds = [&](const sweep::Cell& cell) {
      return estimator.forward_seconds(group.shape, cell);
    };
    double least = 0;
    for (const sweep::Cell& cell : group.cells) {
      least = least == 0 ? seconds(cell) : std::min(least, seconds(cell));
    }
    std::erase_if(group.cells, [&](const sweep::Cell& cell) {
      const bool hopeless = seconds(cell) > kHopeless * least;
      if (hopeless) dropped.insert(cell.backend);
      return hopeless;
    });
  }
  return {dropped.begin(), dropped.end()};
}

void measure(const sweep::Plan& plan, const sweep::SweepSettings& settings,
             const std::filesystem::path& folder) {
  sweep::Journal journal(folder);
  journal.write_environment(sweep::describe_environment(plan.isa));
  sweep::Progress progress(stderr, isatty(STDERR_FILENO) != 0, plan.cell_count());
  sweep::run_sweep(plan, settings, sweep::Peaks{plan.isa, {}, {}}, journal, progress);
}

}  // namespace headroom::pick

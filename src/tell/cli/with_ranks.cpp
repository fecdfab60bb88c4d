#include "cli/with_ranks.hpp"

#include <exception>
#include <new>

#include "cli/line/output.hpp"
#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "program/launcher.hpp"

namespace headroom::cli {

int guarded(const std::function<int()>& work, const std::string& who) {
  const auto failed = [](const std::string& message, int code) {
    complain("error", message);
    return code;
  };
  try {
    return work();
  } catch (const InvalidArgument& error) {
    return failed(error.what(), kWrongUsage);
  } catch (const Unavailable& error) {
    return failed(error.what(), kNotAvailable);
  } catch (const Unsupported& error) {
    return failed(error.what(), kNotAvailable);
  } catch (const FileError& error) {
    return failed(who + error.what(), kBadFile);
  } catch (const ResourceError& error) {
    return failed(who + error.what(), kNoResource);
  } catch (const std::bad_alloc&) {
    return failed(who + "out of memory; use smaller sizes or set --max-memory", kNoResource);
  } catch (const std::exception& error) {
    return failed(error.what(), kCheckFailed);
  }
}

int with_ranks(bool ranks_given, RunAsRank run_as_rank,
               const std::function<int(measure::Crew*)>& work) {
  if (!ranks_given) {
    const int started = processes_started();
    if (started > 1) {
      throw InvalidArgument(fmt::format(
          "{} processes were started, and each of them would do the whole work; give --ranks {}, "
          "or start one",
          started, started));
    }
    return work(nullptr);
  }
  if (!started_by_launcher()) return work(nullptr);
  if (run_as_rank == nullptr) {
    throw Unavailable(
        "--ranks: this build has no MPI; install libopenmpi-dev and build headroom again");
  }
  return run_as_rank(
      [&](measure::Crew& crew) { return guarded([&] { return work(&crew); }, "rank 0: "); },
      [] { out().flush(); });
}

}  // namespace headroom::cli

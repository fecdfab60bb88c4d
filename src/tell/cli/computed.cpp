#include "cli/computed.hpp"

#include <fmt/format.h>

#include "cli/line/output.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"

namespace headroom::cli {

void Computed::add(record::Status status, std::int64_t rows, const std::string& id,
                   const std::string& reason) {
  if (rows == 0) return;
  if (status == record::Status::skipped) {
    if (skipped_++ == 0) skip_ = fmt::format("{}: {}", id, reason);
  } else if (status == record::Status::unsupported) {
    if (unsupported_++ == 0) refusal_ = fmt::format("{}: {}", id, reason);
  } else {
    ++computed_;
  }
}

ExitCode Computed::exit_code() const {
  if (computed_ > 0 || skipped_ + unsupported_ == 0) return kDone;
  complain("error", fmt::format("nothing was computed: of {}, {} unsupported and {} skipped, such "
                                "as {}",
                                counted(skipped_ + unsupported_, "cell"), unsupported_, skipped_,
                                skipped_ > 0 ? skip_ : refusal_));
  return skipped_ > 0 ? kNoResource : kNotAvailable;
}

int end_of(const std::vector<record::CellResult>& results, bool is_part) {
  if (stop_signal() != 0) return kSignalBase + stop_signal();
  Computed computed;
  for (const record::CellResult& result : results) {
    if (record::is_broken(result.status)) return kCheckFailed;
    computed.add(result.status, result.shape.rows(), result.cell.id, result.reason);
  }
  return is_part ? kDone : computed.exit_code();
}

}  // namespace headroom::cli

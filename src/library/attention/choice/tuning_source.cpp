#include "attention/choice/tuning_source.hpp"

#include <fmt/format.h>

#include "core/environment_variable.hpp"
#include "headroom/error.hpp"

namespace headroom {

TuningSource::TuningSource(const AttentionOptions& options)
    : path_(options.tuning_file.empty() ? environment("HEADROOM_TUNING") : options.tuning_file) {}

const tuning::TuningFile* TuningSource::file(Choice& choice) {
  if (path_.empty()) return nullptr;
  if (!file_ && problem_.empty()) read();
  if (!problem_.empty()) choice.warning = problem_;
  return file_ ? &*file_ : nullptr;
}

void TuningSource::read() {
  try {
    file_ = tuning::read_tuning(path_);
  } catch (const FileError& error) {
    problem_ = fmt::format("the tuning file is not used: {}", error.what());
  }
}

std::optional<tuning::Prediction> TuningSource::fastest(const tuning::Request& request,
                                                        Choice& choice) {
  const tuning::TuningFile* times = file(choice);
  if (times == nullptr || times->shapes.empty()) return std::nullopt;  // it may be about kernels
  const std::string stale = tuning::stale_reason(*times);
  tuning::Prediction found =
      stale.empty() ? tuning::predict(*times, request) : tuning::Prediction{};
  if (found.best) return found;
  choice.warning = fmt::format("{} is not used: {}; write it again with headroom pick --emit json",
                               path_, stale.empty() ? found.why_not : stale);
  return std::nullopt;
}

}  // namespace headroom

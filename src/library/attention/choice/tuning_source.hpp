// The tuning file of a layer's options, and its answers.
#pragma once

#include <optional>
#include <string>

#include "headroom/attention.hpp"
#include "tuning/predict.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom {

/// Reads the file when it is first asked for.
class TuningSource {
 public:
  explicit TuningSource(const AttentionOptions& options);

  const std::string& path() const { return path_; }

  /// Null if none is named, or if it cannot be read: then the choice's warning says why.
  const tuning::TuningFile* file(Choice& choice);

  /// What the file says is fastest. Empty if it does not say: then the choice's warning says why,
  /// if there is a file with times.
  std::optional<tuning::Prediction> fastest(const tuning::Request& request, Choice& choice);

 private:
  void read();

  std::string path_;
  std::optional<tuning::TuningFile> file_;
  std::string problem_;
};

}  // namespace headroom

// The axes as options of a command.
#pragma once

#include <string>
#include <vector>

#include "plan/axes.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace headroom::plan {

/// Text as typed, until a command runs and wants to know what it means.
class AxesOptions {
 public:
  /// `layers`: without `--op`, for commands about layers.
  enum class Which { all, layers, weights };

  /// Adds the axes to a command, which must not outlive this.
  void add_to(CLI::App& app, Which which = Which::all);

  /// Whether this axis was given, such as `"ranks"`.
  bool given(std::string_view name) const;

  /// @throws InvalidArgument for a text without a meaning, naming the option.
  Axes values() const;

 private:
  struct Option {
    std::string name;
    std::vector<std::string> texts;
    bool set = false;
  };
  std::vector<Option> options_;
};

}  // namespace headroom::plan

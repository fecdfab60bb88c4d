#include "plan/axes_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace headroom::plan {

void AxesOptions::add_to(CLI::App& app, Which which) {
  const Axes axes;
  std::size_t count = 0;
  Axes::each(axes, [&](const auto&) { ++count; });
  options_.reserve(count);  // the parser keeps references
  Axes::each(axes, [&](const auto& axis) {
    const AxisWords& words = axis.words();
    if (which == Which::weights && !words.says_weights) return;
    if (which == Which::layers && words.op) return;
    Option& option = options_.emplace_back(Option{words.name, {}, false});
    const std::string name = "--" + option.name;
    CLI::Option* added = nullptr;
    if constexpr (kIsFlag<decltype(axis)>) {
      added = app.add_flag(name, option.set, words.help);
    } else {
      added = app.add_option(name, option.texts, words.help)->option_text(words.value_text());
      if (!words.may_repeat) added->expected(1);
      added->allow_extra_args(false);
    }
    added->group(words.says_weights ? "Weights" : "Axes");
  });
  if (which != Which::weights) app.get_option("--head-dim")->excludes(app.get_option("--d-model"));
}

bool AxesOptions::given(std::string_view name) const {
  return std::any_of(options_.begin(), options_.end(), [&](const Option& option) {
    return option.name == name && (option.set || !option.texts.empty());
  });
}

Axes AxesOptions::values() const {
  Axes axes;
  Axes::each(axes, [&](auto& axis) {
    for (const Option& option : options_) {
      if (option.name != axis.words().name) continue;
      if constexpr (kIsFlag<decltype(axis)>) {
        axis = option.set;
      } else {
        for (const std::string& text : option.texts) axis = text;
      }
    }
  });
  return axes;
}

}  // namespace headroom::plan

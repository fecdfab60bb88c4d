// One axis of a sweep: how it is described, and what was given for it.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace headroom::plan {

/// What is said of an axis, wherever it is named.
struct AxisWords {
  const char* name;  ///< as typed after `--`, and in the record
  std::string help;  ///< of the command line
  std::string value =
      {};  ///< what stands for the value in help, such as `LIST`; empty: the choices
  std::vector<std::string> choices = {};  ///< names that it may have, as a shell completes them
  bool sets_size = false;     ///< of the layer or its call: without any of these, a preset is meant
  bool says_weights = false;  ///< says which weights, or what their file does not say
  bool may_repeat = false;    ///< is given once for each value
  bool of_layer = false;      ///< means nothing for attention alone
  bool op = false;            ///< says which of the two; not for commands about layers

  /// `value`, or the choices.
  std::string value_text() const;
};

/// An axis that has values. Text becomes values where it is assigned.
template <class Value>
class Axis {
 public:
  /// @throws InvalidArgument that names the option.
  using Parse = std::vector<Value> (*)(std::string_view option, const std::string& text);

  Axis(AxisWords words, Parse parse) : words_(std::move(words)), parse_(parse) {}

  /// @throws as `Parse`
  Axis& operator=(const std::string& text) {
    if (!words_.may_repeat) reset();
    for (Value& value : parse_(option(), text)) add(std::move(value));
    texts_.push_back(text);
    return *this;
  }
  void reset() { *this = Axis(words_, parse_); }

  /// Whether it was given.
  explicit operator bool() const { return !texts_.empty(); }
  const AxisWords& words() const { return words_; }
  std::string option() const { return std::string("--") + words_.name; }
  /// Each once, in order; empty if it was not given.
  const std::vector<Value>& values() const { return values_; }
  std::vector<Value> values_or(std::vector<Value> fallback) const {
    return *this ? values_ : std::move(fallback);
  }
  std::optional<Value> first() const {
    return values_.empty() ? std::optional<Value>() : values_.front();
  }
  /// As typed; several only if it may repeat.
  const std::vector<std::string>& texts() const { return texts_; }
  std::string text() const { return texts_.empty() ? "" : texts_.front(); }
  /// How many values were given again.
  std::size_t repeated() const { return repeated_; }

 private:
  void add(Value value) {
    if constexpr (std::totally_ordered<Value>) {
      if (!seen_.insert(value).second) {
        ++repeated_;
        return;
      }
    }
    values_.push_back(std::move(value));
  }

  struct Nothing {};
  AxisWords words_;
  Parse parse_;
  std::vector<Value> values_;
  std::vector<std::string> texts_;
  std::conditional_t<std::totally_ordered<Value>, std::set<Value>, Nothing> seen_;
  std::size_t repeated_ = 0;
};

/// An axis that is given or not.
class AxisFlag {
 public:
  explicit AxisFlag(AxisWords words) : words_(std::move(words)) {}
  bool operator=(bool given) {
    return given_ = given;
  }                                         // NOLINT(misc-unconventional-assign-operator)
  operator bool() const { return given_; }  // NOLINT(google-explicit-constructor): it is one
  const AxisWords& words() const { return words_; }

 private:
  AxisWords words_;
  bool given_ = false;
};

template <class Any>
inline constexpr bool kIsFlag = std::is_same_v<std::remove_cvref_t<Any>, AxisFlag>;

/// Splits names separated by commas. @throws InvalidArgument for an empty name.
std::vector<std::string> split_names(std::string_view option, std::string_view text);

}  // namespace headroom::plan

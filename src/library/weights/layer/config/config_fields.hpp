// The fields of a `config.json`, checked before they are trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weights/layer/model_config.hpp"

namespace headroom::weights {

/// Refers to the fields. Those that are null are as good as missing, but that they have no default.
class ConfigFields {
 public:
  /// @param path for messages
  ConfigFields(std::filesystem::path path, const nlohmann::json& fields, ConfigLayer layer)
      : path_(std::move(path)), fields_(fields), layer_(std::move(layer)) {}

  const std::filesystem::path& path() const { return path_; }
  const ConfigLayer& layer() const { return layer_; }
  /// Those of a class, with what a missing field means. @param fields as `find_class_fields` gives
  /// them
  void use_class(const nlohmann::json* fields) { of_class_ = fields; }
  /// Whether the class of the family has the field; true where no class is known.
  bool belongs(std::string_view name) const;
  bool has_read(std::string_view name) const { return read_.contains(name); }
  /// Fields of attention that nothing looked for, and which are not known to mean nothing for it.
  std::vector<std::string> unread() const;

  /// @param allowed such as `a number above 0`. @throws FileError
  [[noreturn]] void fail(std::string_view field, std::string_view allowed) const;

  /// @return the file's, or the class's; null where there is none
  const nlohmann::json* find(std::string_view name) const;
  /// The same of the file alone.
  const nlohmann::json* given(std::string_view name) const;
  /// For fields that say nothing of this layer.
  void pass_over(std::initializer_list<std::string_view> names) const;
  /// Of an object among the fields.
  static const nlohmann::json* find_in(const nlohmann::json& object, std::string_view name);
  /// This layer's value of a list with one for each; null where the list is none or too short.
  const nlohmann::json* of_layer(std::string_view name) const;
  bool is_true(std::string_view name) const;
  bool is_false(std::string_view name) const;

  /// The first of these that there is. @throws FileError for anything but such a number from 1 on.
  std::optional<std::int64_t> whole(std::initializer_list<std::string_view> names) const;
  /// Such a number, or 0.
  std::optional<std::int64_t> count(std::string_view name) const;
  /// @throws FileError if it is missing, too. @param why it has to be there
  std::int64_t required(std::string_view name, std::string_view why) const;
  /// A number above 0. @throws FileError for anything else. @param name for the message
  double positive(const nlohmann::json& value, std::string_view name) const;
  /// The same of a field; nothing where there is none.
  std::optional<double> number(std::string_view name) const;

 private:
  std::filesystem::path path_;
  const nlohmann::json& fields_;
  ConfigLayer layer_;
  const nlohmann::json* of_class_ = nullptr;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace headroom::weights

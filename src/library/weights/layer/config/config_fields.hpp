// The fields of a `config.json`, checked before they are trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::weights {

/// Refers to the fields. Those that are null are as good as missing.
class ConfigFields {
 public:
  /// @param path for messages
  /// @param layer which layer is meant, where layers differ
  ConfigFields(std::filesystem::path path, const nlohmann::json& fields,
               std::optional<std::int64_t> layer)
      : path_(std::move(path)), fields_(fields), layer_(layer) {}

  const std::filesystem::path& path() const { return path_; }
  std::optional<std::int64_t> layer() const { return layer_; }

  /// @param allowed such as `a number above 0`. @throws FileError
  [[noreturn]] void fail(std::string_view field, std::string_view allowed) const;

  /// @return null where there is none
  const nlohmann::json* find(std::string_view name) const { return find_in(fields_, name); }
  /// Of an object among the fields.
  static const nlohmann::json* find_in(const nlohmann::json& object, std::string_view name);
  /// This layer's value of a list with one for each; null where the list is none or too short.
  const nlohmann::json* of_layer(std::string_view name) const;
  bool is_true(std::string_view name) const;
  bool is_false(std::string_view name) const;

  /// The first of these that there is. @throws FileError for anything but such a number from 1 on.
  std::optional<std::int64_t> whole(std::initializer_list<std::string_view> names) const;
  /// @throws FileError if it is missing, too. @param why it has to be there
  std::int64_t required(std::string_view name, std::string_view why) const;
  /// A number above 0. @throws FileError for anything else. @param name for the message
  double positive(const nlohmann::json& value, std::string_view name) const;
  /// The same of a field; nothing where there is none.
  std::optional<double> number(std::string_view name) const;

 private:
  std::filesystem::path path_;
  const nlohmann::json& fields_;
  std::optional<std::int64_t> layer_;
};

}  // namespace headroom::weights

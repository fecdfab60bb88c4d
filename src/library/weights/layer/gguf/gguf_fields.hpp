// The metadata of one architecture in a GGUF file, checked before they are trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::weights {

/// Refers to the metadata. Keys are without `<architecture>.`.
class GgufFields {
 public:
  /// @param path for messages
  /// @param layer which value of a list is meant
  /// @throws FileError if there is no `general.architecture`.
  GgufFields(std::filesystem::path path, const nlohmann::json& metadata,
             std::optional<std::int64_t> layer);

  const std::string& architecture() const { return architecture_; }
  const std::filesystem::path& path() const { return path_; }

  /// With the architecture, and as it may be shown.
  std::string shown(std::string_view key) const;
  /// @param allowed such as `a number above 0`. @throws FileError
  [[noreturn]] void fail(std::string_view key, std::string_view allowed) const;

  /// @return null where there is none
  const nlohmann::json* find(std::string_view key) const;
  /// The same; of a list the layer's value. @throws FileError for a list that is too short.
  const nlohmann::json* of_layer(std::string_view key) const;

  /// Nothing where there is none. @throws FileError for anything but such a number.
  std::optional<std::int64_t> whole(std::string_view key, std::int64_t least = 1) const;
  /// Likewise, above 0.
  std::optional<double> number(std::string_view key) const;
  /// Likewise, with 0 as good as missing.
  std::optional<double> number_or_zero(std::string_view key) const;
  std::optional<bool> truth(std::string_view key) const;

 private:
  std::filesystem::path path_;
  const nlohmann::json& metadata_;
  std::optional<std::int64_t> layer_;
  std::string architecture_;
};

}  // namespace headroom::weights

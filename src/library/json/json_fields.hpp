// An object of a JSON file that may come from anywhere: no value is trusted before it is checked.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headroom/export.h"

namespace headroom {

/// The fields of an object, and its path in the file. All calls throw InvalidArgument naming the
/// field, what was found there and what is allowed. Refers to the object.
class HEADROOM_API JsonFields {
 public:
  /// @param path of the object in messages, such as `shape`; empty for the outermost one
  JsonFields(const nlohmann::ordered_json& object, std::string path);

  bool has(const char* key) const { return object_.contains(key); }
  bool has_value(const char* key) const { return has(key) && !object_.at(key).is_null(); }

  [[noreturn]] void fail(const char* key, const std::string& allowed) const;

  const nlohmann::ordered_json& at(const char* key) const;
  JsonFields object(const char* key) const { return {at(key), name(key)}; }
  /// Every object of a list. @param most objects
  std::vector<JsonFields> objects(const char* key, std::size_t most) const;

  /// As it may be shown: `core/text/shown.hpp`.
  std::string text(const char* key) const;
  bool flag(const char* key) const;
  std::int64_t whole(const char* key, std::int64_t least,
                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  /// Each of a list, which may be empty.
  std::vector<std::int64_t> wholes(const char* key, std::int64_t least, std::int64_t most) const;
  double not_negative(const char* key) const;
  double positive(const char* key) const;
  std::vector<double> positives(const char* key) const;

 private:
  std::string name(const char* key) const { return path_.empty() ? key : path_ + "." + key; }
  double real(const char* key, const char* allowed) const;

  const nlohmann::ordered_json& object_;
  std::string path_;
};

}  // namespace headroom

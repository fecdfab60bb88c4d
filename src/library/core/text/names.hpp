// Names of an enumeration's values, for people and for files.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace headroom {

/// A table of these is all there is to say: `constexpr Name<Isa> kNames[] = {{Isa::avx2, "avx2"}};`
template <class Value>
struct Name {
  Value value;
  std::string_view name;
};

template <class Value, std::size_t count>
constexpr std::string_view name_of(const Name<Value> (&names)[count], Value value) {
  for (const Name<Value>& each : names) {
    if (each.value == value) return each.name;
  }
  return "unknown";
}

/// Empty for a name that none has.
template <class Value, std::size_t count>
constexpr std::optional<Value> value_of(const Name<Value> (&names)[count], std::string_view name) {
  for (const Name<Value>& each : names) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

}  // namespace headroom

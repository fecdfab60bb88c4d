// GGUF files as text, made by hand.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/safetensors_text.hpp"

namespace headroom::test {

/// Numbers of types: of metadata, and of tensors.
enum class GgufKind : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  truth,
  text,
  list,
  u64,
  i64,
  f64
};
enum class GgufTensor : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q8_0 = 8,
  iq4_nl = 20,
  f64 = 28,
  bf16 = 30,
  mxfp4 = 39
};

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string raw_text(std::string_view text) {
  return raw(std::uint64_t{text.size()}) + std::string(text);
}

/// Keys and tensors in the order in which they are added. What no writer would write is a member or
/// a value that is given as bytes.
class GgufText {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;                   ///< of the data; the key is added apart
  std::uint64_t more_keys = 0, more_tensors = 0;  ///< announced, and not there

  /// @param value its bytes
  GgufText& set(const std::string& key, GgufKind kind, const std::string& value) {
    metadata_ += raw_text(key) + raw(kind) + value;
    ++keys_;
    return *this;
  }
  GgufText& set(const std::string& key, const char* value) {
    return set(key, GgufKind::text, raw_text(value));
  }
  GgufText& set(const std::string& key, bool value) {
    return set(key, GgufKind::truth, raw(value));
  }
  template <std::integral T>
  GgufText& set(const std::string& key, T value) {
    return set(key, GgufKind::u32, raw(static_cast<std::uint32_t>(value)));
  }
  template <std::floating_point T>
  GgufText& set(const std::string& key, T value) {
    return set(key, GgufKind::f32, raw(static_cast<float>(value)));
  }
  template <class T>
  GgufText& set(const std::string& key, GgufKind kind, const std::vector<T>& values) {
    std::string bytes = raw(kind) + raw(std::uint64_t{values.size()});
    for (const T value : values) bytes += raw(value);
    return set(key, GgufKind::list, bytes);
  }

  /// @param dims the outermost first, as in safetensors; files have them the other way
  GgufText& add(const std::string& name, GgufTensor type, const std::vector<std::int64_t>& dims,
                const std::string& bytes) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    return add_entry(name, static_cast<std::uint32_t>(type), dims, data_.size(), bytes);
  }
  GgufText& add(const std::string& name, const std::vector<std::int64_t>& dims,
                const std::vector<float>& values) {
    return add(name, GgufTensor::f32, dims, bytes_of(values));
  }
  GgufText& add_entry(const std::string& name, std::uint32_t type,
                      const std::vector<std::int64_t>& dims, std::uint64_t offset,
                      const std::string& bytes) {
    entries_ += raw_text(name) + raw(static_cast<std::uint32_t>(dims.size()));
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) entries_ += raw(*dim);
    entries_ += raw(type) + raw(offset);
    data_ += bytes;
    ++tensors_;
    return *this;
  }

  std::string text() const {
    std::string text = "GGUF" + raw(version) + raw(tensors_ + more_tensors) +
                       raw(keys_ + more_keys) + metadata_ + entries_;
    text.resize((text.size() + alignment - 1) / alignment * alignment, '\0');
    return text + data_;
  }

 private:
  std::uint64_t keys_ = 0, tensors_ = 0;
  std::string metadata_, entries_, data_;
};

}  // namespace headroom::test

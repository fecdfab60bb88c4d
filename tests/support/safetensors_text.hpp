// Safetensors files as text, made by hand.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headroom::test {

inline std::string with_length(const std::string& header) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((header.size() >> (8 * i)) & 0xffU);
  return text + header;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Tensors in the order in which they are added.
class SafetensorsText {
 public:
  SafetensorsText& add(const std::string& name, const std::string& dtype,
                       const std::vector<std::int64_t>& dims, const std::string& bytes) {
    header_[name] = {{"dtype", dtype},
                     {"shape", dims},
                     {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
    return *this;
  }
  SafetensorsText& add(const std::string& name, const std::vector<std::int64_t>& dims,
                       const std::vector<float>& values) {
    return add(name, "F32", dims, bytes_of(values));
  }
  /// For what no writer would write.
  nlohmann::ordered_json& header() { return header_; }
  std::string text() const { return with_length(header_.dump()) + data_; }

 private:
  nlohmann::ordered_json header_ = nlohmann::ordered_json::object();
  std::string data_;
};

}  // namespace headroom::test

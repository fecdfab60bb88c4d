#include "weights/gguf/gguf_metadata.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <utility>

#include "weights/tensor.hpp"
#include "weights/tensor_order.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostKeyBytes = 65'535;  // the format's own limit
constexpr std::int64_t kTextLength = 8;

// As the format numbers them.
enum class Kind : std::uint32_t {
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
  f64,
};

// Bytes of a value; 0 for those that have a length.
std::int64_t size_of_kind(Kind kind) {
  switch (kind) {
    case Kind::u8:
    case Kind::i8:
    case Kind::truth:
      return 1;
    case Kind::u16:
    case Kind::i16:
      return 2;
    case Kind::u32:
    case Kind::i32:
    case Kind::f32:
      return 4;
    case Kind::u64:
    case Kind::i64:
    case Kind::f64:
      return 8;
    case Kind::text:
    case Kind::list:
      return 0;
  }
  return 0;
}

// 1e-6f is a little less than 1e-6, which is what its writer meant.
double as_written(float value) {
  const std::string text = fmt::format("{}", value);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class MetadataReader {
 public:
  explicit MetadataReader(ByteWalk& walk) : walk_(walk) {}

  json read(std::uint64_t keys) {
    json fields = json::object();
    for (std::uint64_t i = 0; i < keys; ++i) {
      key_ = read_gguf_text(walk_, kMostKeyBytes, "a key");
      json value = read_value(read_kind(), 0);
      if (key_.size() > kMostKeptText) continue;
      if (!fields.emplace(key_, std::move(value)).second) fail("it is there twice");
    }
    return fields;
  }

 private:
  [[noreturn]] void fail(const std::string& found) const {
    walk_.bytes().fail(walk_.place(), fmt::format("key '{}': {}", shown_name(key_), found),
                       kGetFile);
  }

  Kind read_kind() {
    const auto number = walk_.number<std::uint32_t>();
    if (number > static_cast<std::uint32_t>(Kind::f64)) {
      fail(fmt::format("its type {} is not known", number));
    }
    return static_cast<Kind>(number);
  }

  json read_value(Kind kind, int depth) {
    switch (kind) {
      case Kind::u8:
        return walk_.number<std::uint8_t>();
      case Kind::i8:
        return walk_.number<std::int8_t>();
      case Kind::u16:
        return walk_.number<std::uint16_t>();
      case Kind::i16:
        return walk_.number<std::int16_t>();
      case Kind::u32:
        return walk_.number<std::uint32_t>();
      case Kind::i32:
        return walk_.number<std::int32_t>();
      case Kind::f32:
        return as_written(walk_.number<float>());
      case Kind::truth:
        return read_truth();
      case Kind::text:
        return read_text();
      case Kind::list:
        return read_list(depth + 1);
      case Kind::u64:
        return walk_.number<std::uint64_t>();
      case Kind::i64:
        return walk_.number<std::int64_t>();
      case Kind::f64:
        return walk_.number<double>();
    }
    return nullptr;
  }

  json read_truth() {
    const auto value = walk_.number<std::uint8_t>();
    if (value > 1) fail(fmt::format("a truth value is {}; allowed are 0 and 1", value));
    return value == 1;
  }

  json read_text() {
    const auto length = walk_.number<std::uint64_t>();
    walk_.require(length, 1, "a text");
    if (length > kMostKeptText) {
      walk_.skip(length, "a text");
      return nullptr;
    }
    std::string text(static_cast<std::size_t>(length), '\0');
    walk_.copy(text);
    return text;
  }

  json read_list(int depth) {
    if (depth > kMostDepth) fail(fmt::format("lists are deeper than {}", kMostDepth));
    const Kind kind = read_kind();
    const auto count = walk_.number<std::uint64_t>();
    const std::int64_t size = size_of_kind(kind);
    const std::int64_t least = size > 0 ? size : kind == Kind::text ? kTextLength : 4 + kTextLength;
    walk_.require(count, least, "a list");
    if (size > 0 && count > kMostKeptValues) {
      walk_.skip(count * static_cast<std::uint64_t>(size), "a list");
      return nullptr;
    }
    json values = size > 0 ? json::array() : json(nullptr);
    for (std::uint64_t i = 0; i < count; ++i) {
      json value = read_value(kind, depth);
      if (size > 0) values.push_back(std::move(value));
    }
    return values;
  }

  ByteWalk& walk_;
  std::string key_;  // the one that is read
};

}  // namespace

std::string read_gguf_text(ByteWalk& walk, std::uint64_t most, std::string_view what) {
  const std::int64_t place = walk.place();
  const auto length = walk.number<std::uint64_t>();
  if (length > most) {
    walk.bytes().fail(place, fmt::format("{} has {} bytes; {} are allowed", what, length, most),
                      kGetFile);
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  walk.copy(text);
  return text;
}

json read_gguf_metadata(ByteWalk& walk, std::uint64_t keys) {
  return MetadataReader(walk).read(keys);
}

}  // namespace headroom::weights

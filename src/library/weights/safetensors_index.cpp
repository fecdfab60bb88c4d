#include "weights/safetensors_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/text/shown.hpp"
#include "weights/json_events.hpp"
#include "weights/tensor.hpp"

namespace headroom::weights {
namespace {

constexpr int kMostDepth = 16;
constexpr std::size_t kMaxFileName = 255;
constexpr std::string_view kGetIndex = "the index is damaged or hostile; get it again";

// A name that leads nowhere but into the folder.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxFileName && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](char c) {
           const auto letter = static_cast<unsigned char>(c);
           return c == '/' || c == '\\' || letter < 0x20 || letter == 0x7f;
         });
}

// The object `weight_map`, from names of tensors to names of files. All else is skipped.
class Index final : public JsonEvents {
 public:
  using JsonEvents::JsonEvents;

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a truth value"); }
  bool number_integer(std::int64_t) override { return scalar("a negative number"); }
  bool number_unsigned(std::uint64_t) override { return scalar("a number"); }
  bool number_float(double, const std::string&) override { return scalar("a number"); }

  bool string(std::string& text) override {
    if (!in_map_) return scalar("text");
    if (!is_plain_name(text)) {
      fail(fmt::format("its file '{}' is not one of the index's own folder", shown_name(text)));
    }
    if (index_.entries.size() == kMaxIndexTensors) {
      fail(fmt::format("it is one too many; {} are allowed", kMaxIndexTensors));
    }
    const auto [place, fresh] = places_.try_emplace(text, index_.files.size());
    if (fresh) index_.files.push_back(text);
    index_.entries.push_back({std::move(key_), place->second});
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ == 1 && key_ == "weight_map") {
      if (std::exchange(found_, true)) fail("there are two of them");
      in_map_ = true;
      ++depth_;
      return true;
    }
    return begin("an object");
  }
  bool start_array(std::size_t) override {
    return depth_ == 0 ? unexpected("a list") : begin("a list");
  }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool key(std::string& name) override {
    if (in_map_ || depth_ == 1) key_ = std::move(name);
    return true;
  }

  SafetensorsIndex take() {
    if (!found_) bytes().fail(0, "the index has no object 'weight_map'", kGetIndex);
    std::sort(index_.entries.begin(), index_.entries.end(),
              [](const auto& a, const auto& b) { return a.tensor < b.tensor; });
    const auto twice =
        std::adjacent_find(index_.entries.begin(), index_.entries.end(),
                           [](const auto& a, const auto& b) { return a.tensor == b.tensor; });
    if (twice != index_.entries.end()) {
      key_ = twice->tensor;
      fail("the index has it twice");
    }
    return std::move(index_);
  }

 private:
  bool unexpected(const char* found) override {
    fail(fmt::format("the index has {} where the format has none", found));
  }

  [[noreturn]] void fail(const std::string& found) const {
    throw FileError(fmt::format("{}: '{}': {}; {}", shown_path(bytes().path()), shown_name(key_),
                                found, kGetIndex));
  }

  bool scalar(const char* found) {
    return in_map_ || depth_ == 0 || (depth_ == 1 && key_ == "weight_map") ? unexpected(found)
                                                                           : true;
  }

  bool begin(const char* found) {
    if (in_map_ || depth_ == kMostDepth || (depth_ == 1 && key_ == "weight_map")) {
      return unexpected(found);
    }
    ++depth_;
    return true;
  }

  bool end() {
    --depth_;
    in_map_ = false;
    return true;
  }

  SafetensorsIndex index_;
  std::map<std::string, std::size_t> places_;
  std::string key_;
  int depth_ = 0;
  bool in_map_ = false;
  bool found_ = false;
};

}  // namespace

SafetensorsIndex read_safetensors_index(const ByteSource& bytes) {
  if (bytes.size() > kMaxIndexBytes) {
    bytes.fail(0,
               fmt::format("the index has {} bytes; {} are allowed", bytes.size(), kMaxIndexBytes),
               kGetIndex);
  }
  std::string text(static_cast<std::size_t>(bytes.size()), '\0');
  bytes.read(0, text);
  Index index(bytes, 0);
  index.parse(text);
  return index.take();
}

}  // namespace headroom::weights

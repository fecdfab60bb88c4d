#include "weights/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "weights/json_events.hpp"
#include "weights/tensor_order.hpp"

namespace headroom::weights {
namespace {

constexpr std::int64_t kLengthBytes = 8;

// Every type of the format, because a file may hold other tensors beside the weights.
struct Type {
  std::string_view name;
  std::int64_t bits;
  std::optional<Element> element = std::nullopt;
};
constexpr Type kTypes[] = {{"F32", 32, Element::f32},
                           {"F16", 16, Element::f16},
                           {"BF16", 16, Element::bf16},
                           {"F64", 64, Element::f64},
                           {"BOOL", 8},
                           {"U8", 8},
                           {"I8", 8},
                           {"U16", 16},
                           {"I16", 16},
                           {"U32", 32},
                           {"I32", 32},
                           {"U64", 64},
                           {"I64", 64},
                           {"C64", 64},
                           {"F8_E4M3", 8},
                           {"F8_E5M2", 8},
                           {"F8_E8M0", 8},
                           {"F8_E4M3FNUZ", 8},
                           {"F8_E5M2FNUZ", 8},
                           {"F6_E2M3", 6},
                           {"F6_E3M2", 6},
                           {"F4", 4}};

const Type* find_type(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const Type& type) { return type.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

// An object of objects; each has a text, a list of numbers and a pair of them.
class Header final : public JsonEvents {
 public:
  /// @param length of the header
  Header(const ByteSource& bytes, std::int64_t length)
      : JsonEvents(bytes, kLengthBytes), first_(kLengthBytes + length) {}

  bool start_object(std::size_t) override {
    if (depth_ > 1 || list_ != nullptr) return unexpected("an object");
    if (depth_ == 1 && !in_metadata_) begin_tensor();
    ++depth_;
    return true;
  }

  bool key(std::string& name) override {
    if (in_metadata_) return true;
    if (depth_ == 1) {
      tensor_.name = std::move(name);
      in_metadata_ = tensor_.name == "__metadata__";
      return true;
    }
    field_ = name == "dtype"          ? Field::dtype
             : name == "shape"        ? Field::shape
             : name == "data_offsets" ? Field::offsets
                                      : Field::none;
    if (field_ == Field::none) fail(fmt::format("it has a field '{}'", shown_name(name)));
    if (std::exchange(seen_[static_cast<std::size_t>(field_)], true)) {
      fail(fmt::format("it has '{}' twice", name));
    }
    return true;
  }

  bool end_object() override {
    if (--depth_ == 1) {
      if (!in_metadata_) end_tensor();
      in_metadata_ = false;
    }
    return true;
  }

  bool string(std::string& text) override {
    if (depth_ != 2 || list_ != nullptr) return unexpected("text");
    if (in_metadata_) return true;
    if (field_ != Field::dtype) return unexpected("text");
    const Type* type = find_type(text);
    if (type == nullptr) fail(fmt::format("its dtype '{}' is not known", shown_name(text)));
    tensor_.dtype = std::move(text);
    return true;
  }

  bool start_array(std::size_t) override {
    const bool expected = depth_ == 2 && !in_metadata_ && list_ == nullptr;
    if (expected && field_ == Field::shape) {
      list_ = &tensor_.dims;
    } else if (expected && field_ == Field::offsets) {
      list_ = &offsets_;
    } else {
      return unexpected("a list");
    }
    return true;
  }

  bool end_array() override {
    list_ = nullptr;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (list_ == nullptr) return unexpected("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return unexpected("a number of 2^63 or above");
    }
    const std::size_t most = field_ == Field::offsets ? 2 : kMostDims;
    if (list_->size() == most) {
      fail(fmt::format("{} has more than {} numbers",
                       field_ == Field::offsets ? "'data_offsets'" : "'shape'", most));
    }
    list_->push_back(static_cast<std::int64_t>(value));
    return true;
  }

  std::vector<Tensor> take() { return std::move(tensors_); }

 private:
  enum class Field { dtype, shape, offsets, none };

  bool unexpected(const char* found) override {
    fail(fmt::format("its entry has {} where the format has none", found));
  }

  [[noreturn]] void fail(const std::string& found) const { fail_tensor(bytes(), tensor_, found); }

  void begin_tensor() {
    if (tensors_.size() == kMaxTensors) {
      fail(fmt::format("it is one too many; {} are allowed", kMaxTensors));
    }
    tensor_.dtype.clear();
    tensor_.dims.clear();
    offsets_.clear();
    seen_ = {};
  }

  void end_tensor() {
    if (seen_ != std::array<bool, 3>{true, true, true} || offsets_.size() != 2) {
      fail("it lacks one of 'dtype', 'shape' and the two 'data_offsets'");
    }
    const Type& type = *find_type(tensor_.dtype);
    const std::int64_t data = bytes().size() - first_;
    if (offsets_[0] > offsets_[1] || offsets_[1] > data) {
      fail(fmt::format("its data_offsets are {} to {}; the file has bytes 0 to {}", offsets_[0],
                       offsets_[1], data));
    }
    tensor_.type = type.element;
    tensor_.offset = first_ + offsets_[0];
    tensor_.bytes = offsets_[1] - offsets_[0];
    const std::optional<std::int64_t> count = count_of(tensor_.dims);
    std::int64_t bits = 0;
    if (!count || __builtin_mul_overflow(*count, type.bits, &bits) || bits % 8 != 0 ||
        bits / 8 != tensor_.bytes) {
      fail(fmt::format("shape {} of {} does not take the {} bytes of its data_offsets",
                       shown_dims(tensor_.dims), tensor_.dtype, tensor_.bytes));
    }
    tensors_.push_back(tensor_);
  }

  std::vector<Tensor> tensors_;
  Tensor tensor_;       // the one that is read
  std::int64_t first_;  // byte behind the header
  int depth_ = 0;
  bool in_metadata_ = false;
  Field field_ = Field::none;
  std::array<bool, 3> seen_{};
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t>* list_ = nullptr;  // the one that is read
};

// Other formats that people have at hand.
void refuse_other_formats(const ByteSource& bytes, std::string_view start) {
  if (start.starts_with("PK\3\4") || start.starts_with("\x80\2")) {
    bytes.fail(0, "this is a checkpoint that Python unpickles, not safetensors",
               "convert it with safetensors.torch.save_file");
  }
  if (start.starts_with("\x93NUMPY")) {
    bytes.fail(0, "this is a .npy file, not safetensors", "name the folder with all of them");
  }
  if (start.starts_with("GGUF")) {
    bytes.fail(0, "this is GGUF, not safetensors", "name the model's safetensors file");
  }
}

}  // namespace

std::vector<Tensor> read_safetensors_header(const ByteSource& bytes) {
  std::array<char, kLengthBytes> start{};
  bytes.read(0, start);
  refuse_other_formats(bytes, {start.data(), start.size()});
  std::uint64_t length = 0;
  for (std::size_t i = start.size(); i-- > 0;) {
    length = length * 256 + static_cast<unsigned char>(start[i]);
  }
  const std::int64_t most = std::min(kMaxSafetensorsHeader, bytes.size() - kLengthBytes);
  if (length > static_cast<std::uint64_t>(most)) {
    bytes.fail(0,
               fmt::format("the header has {} bytes; the file has {} in all and {} are allowed",
                           length, bytes.size(), kMaxSafetensorsHeader),
               "name a safetensors file");
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  bytes.read(kLengthBytes, text);
  Header header(bytes, static_cast<std::int64_t>(length));
  header.parse(text);
  std::vector<Tensor> tensors = header.take();
  sort_by_name(bytes, tensors);
  require_no_gaps(bytes, tensors, kLengthBytes + static_cast<std::int64_t>(length), 1);
  return tensors;
}

}  // namespace headroom::weights

#include "weights/gguf/gguf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "weights/byte_walk.hpp"
#include "weights/gguf/gguf_metadata.hpp"
#include "weights/gguf/gguf_types.hpp"
#include "weights/tensor_order.hpp"

namespace headroom::weights {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint32_t kOldest = 2, kNewest = 3;
constexpr std::uint64_t kMostNameBytes = 64;  // the format's own limit
constexpr std::uint32_t kMostGgufDims = 4;    // ggml's
constexpr std::int64_t kUsualAlignment = 32;
constexpr std::int64_t kMostAlignment = std::int64_t{1} << 20;
// Of an entry at least: a key without letters and a byte; a tensor without letters and sizes.
constexpr std::int64_t kLeastKey = 8 + 4 + 1;
constexpr std::int64_t kLeastTensor = 8 + 4 + 4 + 8;
constexpr std::string_view kOtherFile = "name a GGUF file of version 2 or 3";

void check_version(ByteWalk& walk) {
  std::array<char, kMagic.size()> magic{};
  walk.copy(magic);
  if (std::string_view(magic.data(), magic.size()) != kMagic) {
    walk.bytes().fail(0, "it does not begin with GGUF", kOtherFile);
  }
  const auto version = walk.number<std::uint32_t>();
  if (version >= kOldest && version <= kNewest) return;
  const bool swapped = version != 0 && (version & 0xffffU) == 0;
  walk.bytes().fail(
      static_cast<std::int64_t>(kMagic.size()),
      swapped ? std::string("its numbers are big-endian")
              : fmt::format("its version is {}; allowed are {} and {}", version, kOldest, kNewest),
      kOtherFile);
}

// Refuses counts before anything is made for them.
void check_count(const ByteWalk& walk, std::uint64_t count, std::uint64_t most, std::int64_t least,
                 std::string_view what) {
  if (count > most) {
    walk.bytes().fail(walk.place(), fmt::format("it has {} {}; {} are allowed", count, what, most),
                      kGetFile);
  }
  walk.require(count, least, what);
}

std::int64_t alignment_of(const ByteSource& bytes, const nlohmann::json& metadata) {
  const auto place = metadata.find("general.alignment");
  if (place == metadata.end()) return kUsualAlignment;
  const std::uint64_t value = place->is_number_unsigned() ? place->get<std::uint64_t>() : 0;
  if (value == 0 || value > kMostAlignment || (value & (value - 1)) != 0) {
    bytes.fail(0,
               fmt::format("general.alignment is {}; allowed are powers of two up to {}",
                           place->is_number() ? place->dump() : "no number", kMostAlignment),
               kGetFile);
  }
  return static_cast<std::int64_t>(value);
}

// @return the tensor, its offset still that behind the header
Tensor read_entry(ByteWalk& walk) {
  const ByteSource& bytes = walk.bytes();
  Tensor tensor;
  tensor.offset = walk.place();
  tensor.name = read_gguf_text(walk, kMostNameBytes, "the name of a tensor");
  const auto dims = walk.number<std::uint32_t>();
  if (dims > kMostGgufDims) {
    fail_tensor(bytes, tensor, fmt::format("it has {} sizes; {} are allowed", dims, kMostGgufDims));
  }
  for (std::uint32_t i = 0; i < dims; ++i) tensor.dims.push_back(walk.number<std::int64_t>());
  const auto number = walk.number<std::uint32_t>();
  const auto offset = walk.number<std::uint64_t>();
  const GgufType* type = find_gguf_type(number);
  if (type == nullptr) fail_tensor(bytes, tensor, fmt::format("its type {} is not known", number));
  const std::optional<std::int64_t> count = count_of(tensor.dims);
  const std::int64_t innermost = dims == 0 ? 1 : tensor.dims.front();
  std::reverse(tensor.dims.begin(), tensor.dims.end());
  if (!count || innermost % type->block != 0 ||
      __builtin_mul_overflow(*count / type->block, type->bytes, &tensor.bytes)) {
    fail_tensor(bytes, tensor,
                fmt::format("shape {} is none of {}, whose rows are blocks of {} values",
                            shown_dims(tensor.dims), type->name, type->block));
  }
  if (offset > static_cast<std::uint64_t>(bytes.size()) || tensor.bytes > bytes.size()) {
    fail_tensor(bytes, tensor,
                fmt::format("its {} bytes at {} of the data are beyond the file's {}", tensor.bytes,
                            offset, bytes.size()));
  }
  tensor.dtype = type->name;
  tensor.type = type->element;
  tensor.offset = static_cast<std::int64_t>(offset);
  return tensor;
}

void move_behind_header(const ByteSource& bytes, std::int64_t first, std::int64_t alignment,
                        Tensor& tensor) {
  const std::int64_t offset = tensor.offset;
  tensor.offset += first;
  if (offset % alignment != 0) {
    fail_tensor(bytes, tensor,
                fmt::format("its offset {} is no multiple of the alignment {}", offset, alignment));
  }
  if (tensor.offset + tensor.bytes > bytes.size()) {
    fail_tensor(bytes, tensor,
                fmt::format("its {} bytes are beyond the file's {}", tensor.bytes, bytes.size()));
  }
}

}  // namespace

bool is_gguf(const ByteSource& bytes) {
  if (bytes.size() < static_cast<std::int64_t>(kMagic.size())) return false;
  std::array<char, kMagic.size()> magic{};
  bytes.read(0, magic);
  return std::string_view(magic.data(), magic.size()) == kMagic;
}

GgufHeader read_gguf_header(const ByteSource& bytes) {
  ByteWalk walk(bytes);
  check_version(walk);
  const auto tensors = walk.number<std::uint64_t>();
  check_count(walk, tensors, kMaxTensors, kLeastTensor, "tensors");
  const auto keys = walk.number<std::uint64_t>();
  check_count(walk, keys, kMaxGgufKeys, kLeastKey, "keys");
  GgufHeader header;
  header.metadata = read_gguf_metadata(walk, keys);
  const std::int64_t alignment = alignment_of(bytes, header.metadata);
  for (std::uint64_t i = 0; i < tensors; ++i) header.tensors.push_back(read_entry(walk));
  const std::int64_t first = (walk.place() + alignment - 1) / alignment * alignment;
  if (tensors == 0) return header;
  for (Tensor& tensor : header.tensors) move_behind_header(bytes, first, alignment, tensor);
  sort_by_name(bytes, header.tensors);
  require_no_gaps(bytes, header.tensors, first, alignment);
  return header;
}

}  // namespace headroom::weights

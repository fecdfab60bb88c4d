#include "weights/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/text/shown.hpp"
#include "weights/npy_dictionary.hpp"

namespace headroom::weights {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kMaxHeader = std::int64_t{64} << 10;
constexpr std::size_t kConverted = std::size_t{1} << 16;  // values that are converted at once

constexpr std::string_view kAskNumpy = "name a file that numpy.save has written";
constexpr std::string_view kConvert =
    "write it again with numpy.save(path, array.astype('float32'))";

// Magic, version and the length of what follows.
struct Preamble {
  std::int64_t bytes = 0;
  std::int64_t header = 0;
};

Preamble read_preamble(const ByteSource& bytes) {
  std::array<char, 12> start{};
  bytes.read(0, std::span(start).first(8));
  if (std::string_view(start.data(), kMagic.size()) != kMagic) {
    bytes.fail(0, "the file does not begin as a .npy file", kAskNumpy);
  }
  const int major = static_cast<unsigned char>(start[6]);
  if (major < 1 || major > 3 || start[7] != 0) {
    bytes.fail(6, fmt::format("version {} of the format is not known; allowed are 1 to 3", major),
               kAskNumpy);
  }
  const std::size_t length = major == 1 ? 2 : 4;
  bytes.read(8, std::span(start).subspan(8, length));
  std::int64_t header = 0;
  for (std::size_t i = length; i-- > 0;) {
    header = header * 256 + static_cast<unsigned char>(start[8 + i]);
  }
  return {static_cast<std::int64_t>(8 + length), header};
}

// Of what a file may hold in place of a type.
constexpr std::size_t kShownDescr = 20;

std::optional<Element> element_of(std::string_view descr) {
  if (descr == "<f4") return Element::f32;
  if (descr == "<f8") return Element::f64;
  return std::nullopt;
}

// The place in C order of the values in file order, one after the other.
class FortranOrder {
 public:
  explicit FortranOrder(const std::vector<std::int64_t>& dims)
      : dims_(dims), index_(dims.size()), strides_(dims.size(), 1) {
    for (std::size_t d = dims.size(); d-- > 1;) strides_[d - 1] = strides_[d] * dims[d];
  }

  std::size_t next() {
    const std::int64_t place = place_;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      place_ += strides_[d];
      if (++index_[d] < dims_[d]) break;
      place_ -= strides_[d] * dims_[d];
      index_[d] = 0;
    }
    return static_cast<std::size_t>(place);
  }

 private:
  const std::vector<std::int64_t>& dims_;
  std::vector<std::int64_t> index_, strides_;
  std::int64_t place_ = 0;
};

// Gives `take` the values in file order, in pieces.
template <class Take>
void for_each_piece(const ByteSource& bytes, const NpyHeader& header, Take take) {
  const auto size = static_cast<std::size_t>(bytes_of(header.type, 1));
  const auto count = static_cast<std::size_t>(header.count);
  std::vector<char> raw(std::min(kConverted, count) * size);
  std::vector<float> piece(std::min(kConverted, count));
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(kConverted, count - done);
    const std::int64_t offset = header.offset + static_cast<std::int64_t>(done * size);
    bytes.read(offset, std::span(raw).first(now * size));
    const auto values = std::span(piece).first(now);
    if (const auto beyond = to_floats(header.type, raw, values)) {
      bytes.fail(offset + static_cast<std::int64_t>(*beyond * size),
                 "a float64 here is beyond the range of float32", "scale the values");
    }
    take(values);
    done += now;
  }
}

}  // namespace

NpyHeader read_npy_header(const ByteSource& bytes) {
  const Preamble preamble = read_preamble(bytes);
  if (preamble.header > std::min(kMaxHeader, bytes.size() - preamble.bytes)) {
    bytes.fail(8,
               fmt::format("the header has {} bytes; the file has {} in all and {} are allowed",
                           preamble.header, bytes.size(), kMaxHeader),
               kAskNumpy);
  }
  std::string text(static_cast<std::size_t>(preamble.header), '\0');
  bytes.read(preamble.bytes, text);
  NpyDictionary dictionary = parse_npy_dictionary(bytes, text, preamble.bytes);
  const std::optional<Element> type = element_of(dictionary.descr);
  if (!type) {
    bytes.fail(preamble.bytes,
               fmt::format("the values are '{}'; allowed are '<f4' and '<f8'",
                           shown_start(dictionary.descr, kShownDescr)),
               kConvert);
  }
  const std::optional<std::int64_t> count = count_of(dictionary.shape);
  const std::int64_t offset = preamble.bytes + preamble.header;
  const std::int64_t size = bytes_of(*type, 1);
  if (!count || *count > (bytes.size() - offset) / size || offset + *count * size != bytes.size()) {
    bytes.fail(offset,
               fmt::format("{} bytes follow; shape ({}) of '{}' needs {}", bytes.size() - offset,
                           fmt::join(dictionary.shape, ", "), dictionary.descr,
                           count && *count <= bytes.size() ? fmt::format("{}", *count * size)
                                                           : "more than any file has"),
               "the file is truncated or has something at its end; write it again");
  }
  return {*type, std::move(dictionary.shape), dictionary.fortran_order, *count, offset};
}

NpyArray read_npy(const ByteSource& bytes) {
  const NpyHeader header = read_npy_header(bytes);
  NpyArray array{header.dims, std::vector<float>(static_cast<std::size_t>(header.count))};
  if (header.fortran && header.dims.size() > 1) {
    FortranOrder order(header.dims);
    for_each_piece(bytes, header, [&](std::span<const float> piece) {
      for (const float value : piece) array.values[order.next()] = value;
    });
  } else {
    auto place = array.values.begin();
    for_each_piece(bytes, header, [&](std::span<const float> piece) {
      place = std::copy(piece.begin(), piece.end(), place);
    });
  }
  return array;
}

NpyArray read_npy(const std::filesystem::path& path) { return read_npy(FileBytes(path)); }

std::string npy_header(std::span<const std::int64_t> dims) {
  constexpr std::size_t kAlignment = 64;
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}",
                                 fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
  const std::size_t preamble = kMagic.size() + 4;
  const std::size_t used = preamble + text.size() + 1;
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\1', '\0'};
  header += static_cast<char>(text.size() & 0xffU);
  header += static_cast<char>(text.size() >> 8U);
  return header + text;
}

}  // namespace headroom::weights

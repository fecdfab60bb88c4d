// Bytes that can be read at any place: a file, or memory in tests and fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/regular_file.hpp"
#include "headroom/export.h"

namespace headroom::weights {

/// Read, never mapped: a mapped file that shrinks ends the process.
class HEADROOM_API ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual const std::filesystem::path& path() const = 0;
  /// Bytes, when it was opened.
  virtual std::int64_t size() const = 0;

  /// Fills `into`. @throws FileError if the bytes end before, as when the file shrinks meanwhile.
  void read(std::int64_t offset, std::span<char> into) const;

  /// @throws FileError with the path and the offset.
  [[noreturn]] void fail(std::int64_t offset, const std::string& found,
                         std::string_view next) const;

 private:
  virtual std::size_t read_some(std::int64_t offset, std::span<char> into) const = 0;
};

class HEADROOM_API FileBytes final : public ByteSource {
 public:
  /// @throws FileError as `RegularFile`.
  explicit FileBytes(const std::filesystem::path& path) : file_(path) {}
  const std::filesystem::path& path() const override { return file_.path(); }
  std::int64_t size() const override { return file_.size(); }

 private:
  std::size_t read_some(std::int64_t offset, std::span<char> into) const override {
    return file_.read(offset, into);
  }
  RegularFile file_;
};

/// Refers to the text.
class HEADROOM_API MemoryBytes final : public ByteSource {
 public:
  /// @param path for messages
  MemoryBytes(std::filesystem::path path, std::string_view text);
  const std::filesystem::path& path() const override { return path_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(text_.size()); }

 private:
  std::size_t read_some(std::int64_t offset, std::span<char> into) const override;
  std::filesystem::path path_;
  std::string_view text_;
};

}  // namespace headroom::weights

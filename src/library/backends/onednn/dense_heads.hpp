// Keys and values as dense rows, head by head, as the library's products read them.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/onednn/careful_rows.hpp"
#include "backends/onednn/runtime.hpp"
#include "core/aligned_buffer.hpp"
#include "core/call/attend_call.hpp"

namespace headroom::onednn {

/// Rows that hold NaN or Inf stand here as zeros, so that a masked product cannot spread them, and
/// apart as they are.
class DenseHeads {
 public:
  DenseHeads() = default;
  /// @param rows of all heads together
  DenseHeads(std::int64_t heads, std::int64_t rows, std::int64_t head_dim, std::int64_t value_dim,
             Operand operand);
  DenseHeads(DenseHeads&& other) noexcept;
  DenseHeads& operator=(DenseHeads&& other) noexcept;

  /// Before a call of so many heads.
  void expect(std::int64_t heads);
  void* keys(std::int64_t row) { return at(keys_, row * head_dim_); }
  void* values(std::int64_t row) { return at(values_, row * value_dim_); }

  /// Writes the new rows of a head, and zeros after them up to `padded` rows.
  /// @param first_row of the head's memory
  void append(std::int64_t head, std::int64_t first_row, const Sequence& sequence,
              std::int64_t key_head, const AttendCall& call, std::int64_t padded);

  /// The first key with a NaN or Inf in it or in its value; beyond all keys if there is none.
  std::int64_t first_special(std::int64_t head) const {
    return first_special_[static_cast<std::size_t>(head)];
  }
  /// Copies of a head's first rows with NaN and Inf where they were.
  struct Copy {
    std::vector<float> keys, values;
  };
  Copy as_they_are(std::int64_t head, std::int64_t first_row, std::int64_t count) const;

  struct Place {
    std::int64_t head = 0;
    std::int64_t first_row = 0;  ///< of the head's memory
  };
  /// The first rows of a head of another one of the same kind.
  void copy(const Place& to, const DenseHeads& from, const Place& of, std::int64_t count);

  std::int64_t bytes() const { return keys_.bytes() + values_.bytes(); }

 private:
  struct Special {
    std::int64_t head = 0;
    std::int64_t row = 0;
    std::vector<float> key, value;
  };
  void* at(AlignedBuffer& buffer, std::int64_t value) const {
    return reinterpret_cast<char*>(buffer.data()) + value * bytes_of(operand_);
  }
  const void* at(const AlignedBuffer& buffer, std::int64_t value) const {
    return reinterpret_cast<const char*>(buffer.data()) + value * bytes_of(operand_);
  }
  template <class T>
  void append_as(std::int64_t head, std::int64_t first_row, const Sequence& sequence,
                 std::int64_t key_head, const AttendCall& call, std::int64_t padded);
  void forget(std::int64_t head, std::int64_t from);
  void keep(std::int64_t head, std::int64_t row, const float* key, const float* value);

  std::int64_t head_dim_ = 0, value_dim_ = 0;
  Operand operand_ = Operand::f32;
  AlignedBuffer keys_, values_;
  std::vector<std::int64_t> first_special_;
  std::mutex mutex_;  ///< of `specials_`, which several heads fill
  std::vector<Special> specials_;
};

}  // namespace headroom::onednn

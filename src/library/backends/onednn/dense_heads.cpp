#include "backends/onednn/dense_heads.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace headroom::onednn {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

}  // namespace

DenseHeads::DenseHeads(std::int64_t heads, std::int64_t rows, std::int64_t head_dim,
                       std::int64_t value_dim, Operand operand)
    : head_dim_(head_dim),
      value_dim_(value_dim),
      operand_(operand),
      keys_(floats_for(operand, rows * head_dim)),
      values_(floats_for(operand, rows * value_dim)),
      first_special_(static_cast<std::size_t>(heads), kNone) {}

DenseHeads::DenseHeads(DenseHeads&& other) noexcept { *this = std::move(other); }

DenseHeads& DenseHeads::operator=(DenseHeads&& other) noexcept {
  head_dim_ = other.head_dim_;
  value_dim_ = other.value_dim_;
  operand_ = other.operand_;
  keys_ = std::move(other.keys_);
  values_ = std::move(other.values_);
  first_special_ = std::move(other.first_special_);
  specials_ = std::move(other.specials_);
  return *this;
}

void DenseHeads::expect(std::int64_t heads) {
  const auto count = static_cast<std::size_t>(heads);
  if (first_special_.size() < count) first_special_.resize(count, kNone);
}

void DenseHeads::forget(std::int64_t head, std::int64_t from) {
  std::int64_t& first = first_special_[static_cast<std::size_t>(head)];
  if (first == kNone) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(specials_, [&](const Special& s) { return s.head == head && s.row >= from; });
  first = kNone;
  for (const Special& s : specials_) {
    if (s.head == head) first = std::min(first, s.row);
  }
}

void DenseHeads::keep(std::int64_t head, std::int64_t row, const float* key, const float* value) {
  Special special{head, row, {key, key + head_dim_}, {value, value + value_dim_}};
  std::int64_t& first = first_special_[static_cast<std::size_t>(head)];
  first = std::min(first, row);
  const std::lock_guard lock(mutex_);
  const bool known = std::any_of(specials_.begin(), specials_.end(),
                                 [&](const Special& s) { return s.head == head && s.row == row; });
  if (!known) specials_.push_back(std::move(special));
}

void DenseHeads::append(std::int64_t head, std::int64_t first_row, const Sequence& sequence,
                        std::int64_t key_head, const AttendCall& call, std::int64_t padded) {
  if (operand_ == Operand::bf16) {
    append_as<Bf16>(head, first_row, sequence, key_head, call, padded);
  } else {
    append_as<float>(head, first_row, sequence, key_head, call, padded);
  }
}

template <class T>
void DenseHeads::append_as(std::int64_t head, std::int64_t first_row, const Sequence& sequence,
                           std::int64_t key_head, const AttendCall& call, std::int64_t padded) {
  forget(head, sequence.past);
  const auto report = [&](std::int64_t row) {
    keep(head, sequence.past + row, call.k.floats().at(sequence.first_key + row, key_head),
         call.v.floats().at(sequence.first_key + row, key_head));
  };
  const std::int64_t to = first_row + sequence.past;
  pack_finite_rows(call.k.floats().at(sequence.first_key, key_head), call.k.row_stride,
                   sequence.new_keys, head_dim_, 1.0f, static_cast<T*>(keys(to)), report);
  pack_finite_rows(call.v.floats().at(sequence.first_key, key_head), call.v.row_stride,
                   sequence.new_keys, value_dim_, 1.0f, static_cast<T*>(values(to)), report);
  std::fill(static_cast<T*>(values(first_row + sequence.keys())),
            static_cast<T*>(values(first_row + padded)), T{});
}

void DenseHeads::copy(const Place& to, const DenseHeads& from, const Place& of,
                      std::int64_t count) {
  const auto copied = [&](void* begin, const void* other, std::int64_t width) {
    std::memcpy(begin, other, static_cast<std::size_t>(count * width * bytes_of(operand_)));
  };
  copied(keys(to.first_row), from.at(from.keys_, of.first_row * head_dim_), head_dim_);
  copied(values(to.first_row), from.at(from.values_, of.first_row * value_dim_), value_dim_);
  forget(to.head, 0);
  for (const Special& s : from.specials_) {
    if (s.head == of.head && s.row < count) keep(to.head, s.row, s.key.data(), s.value.data());
  }
}

DenseHeads::Copy DenseHeads::as_they_are(std::int64_t head, std::int64_t first_row,
                                         std::int64_t count) const {
  Copy copy;
  const auto take = [&](const AlignedBuffer& from, std::int64_t cols, std::vector<float>& to) {
    to.resize(static_cast<std::size_t>(count * cols));
    const std::int64_t first = first_row * cols;
    if (operand_ == Operand::bf16) {
      from_bf16(reinterpret_cast<const Bf16*>(from.data()) + first, count * cols, to.data());
    } else {
      std::copy_n(from.data() + first, count * cols, to.data());
    }
  };
  take(keys_, head_dim_, copy.keys);
  take(values_, value_dim_, copy.values);
  for (const Special& special : specials_) {
    if (special.head != head || special.row >= count) continue;
    std::copy(special.key.begin(), special.key.end(), copy.keys.begin() + special.row * head_dim_);
    std::copy(special.value.begin(), special.value.end(),
              copy.values.begin() + special.row * value_dim_);
  }
  return copy;
}

}  // namespace headroom::onednn

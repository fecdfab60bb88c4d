// Arrays of Python as views and matrices: anything with DLPack or the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/mask_view.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom::python {

namespace nb = nanobind;

/// Rows of float32 or bfloat16 numbers in memory that a Python object keeps alive.
class Rows {
 public:
  /// Keeps the array from being freed, also while the interpreter is unlocked.
  /// @param name what messages call it
  /// @throws nb::type_error for something else than such an array; InvalidArgument for one that is
  ///         elsewhere than in memory, has not 2 or 3 dimensions, or whose rows are not evenly
  ///         apart or not contiguous each. Nothing is copied.
  static Rows read(std::string_view name, nb::handle object);
  /// @throws also InvalidArgument for an array that must not be written.
  static Rows write(std::string_view name, nb::handle object);

  bool batched() const { return shape_.size() == 3; }
  std::int64_t sequences() const { return batched() ? shape_[0] : 1; }
  /// Rows of one sequence.
  std::int64_t tokens() const { return shape_[shape_.size() - 2]; }
  std::int64_t cols() const { return shape_.back(); }
  /// @throws InvalidArgument unless it has these rows and so many columns.
  void require_like(const Rows& other, std::int64_t cols) const;

  AnyMatrix view() const { return {data_, dtype_, sequences() * tokens(), cols(), row_stride_}; }

 private:
  Rows(std::string_view name, const nb::ndarray<nb::ro>& array);

  nb::ndarray<nb::ro> owner_;
  std::string_view name_;
  std::vector<std::int64_t> shape_;
  void* data_ = nullptr;
  Dtype dtype_ = Dtype::f32;
  std::int64_t row_stride_ = 0;
};

/// An array in memory, as it lies, of float32 or of bfloat16, which numpy has as uint16 only.
/// @throws as `Rows::read` and `Rows::write`.
nb::ndarray<nb::ro> heads_array(std::string_view name, nb::handle object);
nb::ndarray<nb::ro> writable_heads_array(std::string_view name, nb::handle object);
bool is_bf16(const nb::ndarray<nb::ro>& array);

/// A mask of scores where a Python object has it, which is kept alive.
class ArrayMask {
 public:
  /// @param object None, or `(batch, heads, tokens, keys)` of float32, bfloat16 or bool
  /// @throws as `Rows::read`
  explicit ArrayMask(nb::handle object);
  const MaskView& view() const { return view_; }

 private:
  nb::ndarray<nb::ro> owner_;
  MaskView view_;
};

/// Weights where Python objects have them, which are kept alive.
class ArrayWeights {
 public:
  using Part = ConstAnyMatrix WeightViews::*;

  /// @param array float32, float16 or bfloat16, of any strides; a bias has one dimension
  /// @throws as `Rows::read`
  void set(std::string_view name, Part part, std::size_t dimensions, nb::handle array);
  const WeightViews& views() const { return views_; }

 private:
  WeightViews views_;
  std::map<std::string, nb::ndarray<nb::ro>, std::less<>> owners_;
};

}  // namespace headroom::python

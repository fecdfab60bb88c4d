#include "arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "headroom/error.hpp"

namespace headroom::python {
namespace {

using AnyArray = nb::ndarray<nb::ro>;

template <class... Arguments>
[[noreturn]] void refuse_type(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw nb::type_error(fmt::format(text, std::forward<Arguments>(arguments)...).c_str());
}

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw InvalidArgument(fmt::format(text, std::forward<Arguments>(arguments)...));
}

std::string dtype_name(nb::dlpack::dtype dtype) {
  const auto is = [&](nb::dlpack::dtype_code code) {
    return dtype.code == static_cast<std::uint8_t>(code);
  };
  const char* kind = "a type of its own, ";
  if (is(nb::dlpack::dtype_code::Float)) kind = "float";
  if (is(nb::dlpack::dtype_code::Bfloat)) kind = "bfloat";
  if (is(nb::dlpack::dtype_code::Int)) kind = "int";
  if (is(nb::dlpack::dtype_code::UInt)) kind = "uint";
  if (is(nb::dlpack::dtype_code::Complex)) kind = "complex";
  if (is(nb::dlpack::dtype_code::Bool)) return "bool";
  return fmt::format("{}{}", kind, dtype.bits);
}

// Types that numpy has and DLPack has not: bytes in the other order, objects, texts, dates.
void refuse_dtype_of_numpy(std::string_view name, nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return;
  const nb::object dtype = object.attr("dtype");
  if (!nb::hasattr(dtype, "isnative") || !nb::hasattr(dtype, "kind")) return;
  const std::string shown = nb::str(dtype).c_str();
  if (!nb::cast<bool>(dtype.attr("isnative"))) {
    refuse_type(
        "{} has dtype {}, whose bytes are in the order of another machine; convert it first, such "
        "as by astype",
        name, shown);
  }
  const std::string kind = nb::cast<std::string>(dtype.attr("kind"));
  if (std::string_view("biufc").find(kind) != std::string_view::npos) return;
  refuse_type("{} has dtype {}; allowed are numbers; convert it first, such as by astype", name,
              shown);
}

[[noreturn]] void refuse_object(std::string_view name, nb::handle object) {
  refuse_dtype_of_numpy(name, object);
  refuse_type(
      "{} is a {}; allowed is an array in memory, such as of numpy or of PyTorch (a tensor that "
      "requires gradients: detach() it)",
      name, nb::str(object.type().attr("__name__")).c_str());
}

void require_memory(std::string_view name, const AnyArray& array) {
  if (array.device_type() == nb::device::cpu::value) return;
  refuse("{} is on another device; allowed is the CPU; copy it there first", name);
}

std::vector<std::int64_t> shape_of(const AnyArray& array) {
  std::vector<std::int64_t> shape(array.ndim());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] = static_cast<std::int64_t>(array.shape(i));
  }
  return shape;
}

std::vector<std::int64_t> strides_of(const AnyArray& array) {
  std::vector<std::int64_t> strides(array.ndim());
  for (std::size_t i = 0; i < strides.size(); ++i) strides[i] = array.stride(i);
  return strides;
}

void require_dimensions(std::string_view name, const AnyArray& array, std::size_t wanted) {
  if (array.ndim() == wanted) return;
  refuse("{} has shape ({}); allowed are {} dimensions", name, fmt::join(shape_of(array), ", "),
         wanted);
}

// Distance of rows, if they are contiguous each and evenly apart.
std::int64_t row_stride_of(std::string_view name, const AnyArray& array) {
  const std::size_t last = array.ndim() - 1;
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(array.shape(i)); };
  const std::int64_t cols = size(last);
  // An axis of one element has any stride.
  std::int64_t stride = size(last - 1) > 1 ? array.stride(last - 1) : cols;
  bool fits = cols <= 1 || array.stride(last) == 1;
  if (last == 2 && size(0) > 1) {
    if (size(1) <= 1) stride = array.stride(0);
    fits = fits && array.stride(0) == size(1) * stride;
  }
  if (array.size() > 0 && (!fits || stride < cols)) {
    refuse(
        "{} has shape ({}) and strides ({}) in elements; allowed are rows whose values are next to "
        "each other and that are evenly apart; copy it first, such as by numpy.ascontiguousarray",
        name, fmt::join(shape_of(array), ", "), fmt::join(strides_of(array), ", "));
  }
  return std::max(stride, cols);
}

}  // namespace

bool is_bf16(const AnyArray& array) {
  const auto is = [&](nb::dlpack::dtype_code code) {
    return array.dtype().code == static_cast<std::uint8_t>(code);
  };
  return array.dtype().bits == 16 &&
         (is(nb::dlpack::dtype_code::Bfloat) || is(nb::dlpack::dtype_code::UInt));
}

namespace {

bool is_f16(const AnyArray& array) {
  return array.dtype().bits == 16 &&
         array.dtype().code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float);
}

void require_heads(std::string_view name, const AnyArray& array) {
  require_memory(name, array);
  if (array.dtype() == nb::dtype<float>() || is_bf16(array)) return;
  refuse_type(
      "{} has dtype {}; allowed are float32 and bfloat16; convert it first, such as by astype",
      name, dtype_name(array.dtype()));
}

using Require = void (*)(std::string_view name, const AnyArray& array);

AnyArray read_array(std::string_view name, nb::handle object, Require require) {
  AnyArray array;
  if (!nb::try_cast(object, array, false)) refuse_object(name, object);
  require(name, array);
  return array;
}

AnyArray written_array(std::string_view name, nb::handle object, Require require) {
  nb::ndarray<> writable;
  if (nb::try_cast(object, writable, false)) {
    AnyArray array(writable);
    require(name, array);
    return array;
  }
  read_array(name, object, require);
  refuse("{} is read-only; give an array that may be written", name);
}

}  // namespace

AnyArray heads_array(std::string_view name, nb::handle object) {
  return read_array(name, object, require_heads);
}

AnyArray writable_heads_array(std::string_view name, nb::handle object) {
  return written_array(name, object, require_heads);
}

ArrayMask::ArrayMask(nb::handle object) {
  if (object.is_none()) return;
  owner_ = read_array("mask", object, [](std::string_view what, const AnyArray& array) {
    require_memory(what, array);
    if (array.dtype() == nb::dtype<float>() || array.dtype() == nb::dtype<bool>()) return;
    if (is_bf16(array)) return;
    refuse_type("{} has dtype {}; allowed are float32, bfloat16 and bool", what,
                dtype_name(array.dtype()));
  });
  if (owner_.ndim() != 4) {
    refuse("mask has {} dimensions; allowed are 4: (batch, heads, tokens, keys)", owner_.ndim());
  }
  if (owner_.dtype() == nb::dtype<float>()) {
    view_.added = static_cast<const float*>(owner_.data());
  } else if (is_bf16(owner_)) {
    view_.added_bf16 = static_cast<const Bf16*>(owner_.data());
  } else {
    view_.seen = static_cast<const std::uint8_t*>(owner_.data());
  }
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(owner_.shape(i)); };
  view_.batch = size(0);
  view_.heads = size(1);
  view_.queries = size(2);
  view_.keys = size(3);
  view_.batch_stride = owner_.stride(0);
  view_.head_stride = owner_.stride(1);
  view_.query_stride = owner_.stride(2);
  view_.key_stride = owner_.stride(3);
}

Rows::Rows(std::string_view name, const AnyArray& array)
    : owner_(array), name_(name), shape_(shape_of(array)) {
  if (shape_.size() != 2 && shape_.size() != 3) {
    refuse("{} has shape ({}); allowed are (tokens, width) and (batch, tokens, width)", name,
           fmt::join(shape_, ", "));
  }
  row_stride_ = row_stride_of(name, array);
  // Whether it may be written is checked by `write`.
  data_ = const_cast<void*>(array.data());
  if (is_bf16(array)) dtype_ = Dtype::bf16;
}

Rows Rows::read(std::string_view name, nb::handle object) {
  return Rows(name, heads_array(name, object));
}

Rows Rows::write(std::string_view name, nb::handle object) {
  return Rows(name, writable_heads_array(name, object));
}

void Rows::require_like(const Rows& other, std::int64_t cols) const {
  std::vector<std::int64_t> wanted = other.shape_;
  wanted.back() = cols;
  if (shape_ == wanted) return;
  refuse("{} has shape ({}); for this {} it must be ({})", name_, fmt::join(shape_, ", "),
         other.name_, fmt::join(wanted, ", "));
}

void ArrayWeights::set(std::string_view name, Part part, std::size_t dimensions,
                       nb::handle object) {
  const AnyArray array = read_array(name, object, [](std::string_view what, const AnyArray& given) {
    require_memory(what, given);
    if (given.dtype() == nb::dtype<float>() || is_bf16(given) || is_f16(given)) return;
    refuse_type("{} has dtype {}; allowed are float32, float16 and bfloat16; convert it first",
                what, dtype_name(given.dtype()));
  });
  require_dimensions(name, array, dimensions);
  const Dtype dtype = is_bf16(array) ? Dtype::bf16 : is_f16(array) ? Dtype::f16 : Dtype::f32;
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(array.shape(i)); };
  const std::size_t last = dimensions - 1;
  const bool matrix = dimensions == 2;
  views_.*part = {array.data(),
                  dtype,
                  matrix ? size(0) : 1,
                  size(last),
                  matrix ? array.stride(0) : size(last),
                  array.stride(last)};
  owners_[std::string(name)] = array;
}

}  // namespace headroom::python

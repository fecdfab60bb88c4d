// What C calls a layer and a cache, and structs that may be of another version than the library.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "headroom/attention.hpp"
#include "headroom/error.hpp"
#include "headroom/headroom.h"

struct headroom_layer {
  headroom::Attention layer;
  std::string reason;
};

struct headroom_cache {
  headroom::KeyValueCache cache;
};

namespace headroom::c_api {

// Far larger than any struct: a size above it was never initialised.
inline constexpr std::size_t kLargestStruct = 4096;

/// Writes the defaults, as far as the caller's struct goes.
template <class Struct>
void write_defaults(Struct* to, std::size_t size, Struct defaults) {
  if (to == nullptr || size < sizeof defaults.size) return;
  defaults.size = size;
  const std::size_t known = std::min(size, sizeof(Struct));
  std::memcpy(static_cast<void*>(to), &defaults, known);
  std::memset(reinterpret_cast<char*>(to) + known, 0, size - known);
}

/// What messages about an argument name.
struct ArgumentName {
  std::string_view function, name;
};

/// The defaults, overwritten by the caller's struct as far as it goes. `first` is its least size,
/// that of the first version that had the struct.
template <class Struct>
Struct read_struct(const Struct& given, Struct defaults, std::size_t first,
                   const ArgumentName& named) {
  const std::size_t size = given.size;
  if (size < first || size > kLargestStruct) {
    throw InvalidArgument(
        fmt::format("{0}: {1}.size is {2}; allowed is {3}, or what the program's own header says; "
                    "begin with headroom_default_{1}",
                    named.function, named.name, size, sizeof(Struct)));
  }
  const char* bytes = reinterpret_cast<const char*>(&given);
  if (size > sizeof(Struct) &&
      std::any_of(bytes + sizeof(Struct), bytes + size, [](char byte) { return byte != 0; })) {
    throw InvalidArgument(
        fmt::format("{}: {}.size is {}, and fields beyond the {} bytes that version {} knows are "
                    "set; leave them zero, or use a newer library",
                    named.function, named.name, size, sizeof(Struct), HEADROOM_VERSION));
  }
  std::memcpy(&defaults, bytes, std::min(size, sizeof(Struct)));
  return defaults;
}

inline void check_count(const ArgumentName& named, std::int64_t count) {
  if (count >= 0) return;
  throw InvalidArgument(
      fmt::format("{}: {} is {}; allowed are 0 and above", named.function, named.name, count));
}

/// So many lengths, or none.
inline std::span<const std::int64_t> read_lengths(const std::int64_t* lengths, std::int64_t count,
                                                  const ArgumentName& named,
                                                  std::string_view count_name) {
  check_count({named.function, count_name}, count);
  if (count > 0 && lengths == nullptr) {
    throw InvalidArgument(fmt::format("{}: {} is NULL, and {} is {}; give so many lengths, or none",
                                      named.function, named.name, count_name, count));
  }
  return {lengths, static_cast<std::size_t>(count)};
}

/// @throws InvalidArgument for a dtype that is not one of the first `count` of C's
Dtype read_dtype(const ArgumentName& named, std::int32_t dtype, int count);

/// The view that a caller gives. @throws InvalidArgument also for null
AnyMatrix read_matrix_view(const ArgumentName& named, const headroom_matrix* given);

/// Of the structs that have a mask, in fields of the same names.
template <class Struct>
void write_default_mask(Struct& to) {
  to.mask_batch = to.mask_heads = to.mask_queries = to.mask_keys = 1;
  to.mask_key_stride = 1;
}

template <class Struct>
MaskView mask_of(const Struct& from) {
  return {from.mask_added,       reinterpret_cast<const Bf16*>(from.mask_added_bf16),
          from.mask_seen,        from.mask_batch,
          from.mask_heads,       from.mask_queries,
          from.mask_keys,        from.mask_batch_stride,
          from.mask_head_stride, from.mask_query_stride,
          from.mask_key_stride};
}

/// The layer that C describes. @throws InvalidArgument for a choice that does not exist
LayerConfig layer_config_of(const headroom_layer_config& config);

/// The same for C, as far as it has words; it points to the divisors of `from`.
headroom_layer_config c_config_of(const LayerConfig& from);

}  // namespace headroom::c_api

// Calls of any number of tokens, and what is kept between them.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "c_api/statuses.hpp"
#include "c_api/structs.hpp"
#include "headroom/attention.hpp"

struct headroom_cache {
  headroom::KeyValueCache cache;
};

namespace {

using namespace headroom::c_api;
using headroom::InvalidArgument;

constexpr std::size_t kFirstCall = offsetof(headroom_call, memory_length_count) + sizeof(int64_t);

constexpr std::string_view kCallName = "headroom_forward_call";

// C has no name for the type, which is nothing but these bits.
const headroom::Bf16* bf16(const std::uint16_t* bits) {
  return reinterpret_cast<const headroom::Bf16*>(bits);
}

headroom::Call call_of(const headroom_call& given, const headroom::Shape& shape) {
  headroom::Call call;
  call.lengths = read_lengths(given.lengths, given.length_count, {kCallName, "call.lengths"},
                              "call.length_count");
  call.padded_tokens = given.padded_tokens;
  check_count({kCallName, "call.memory_rows"}, given.memory_rows);
  if (given.cache != nullptr) call.cache = &given.cache->cache;
  if (given.memory_bf16 != nullptr && given.memory != nullptr) {
    throw InvalidArgument(
        "headroom_forward_call: call.memory and call.memory_bf16 are both given; leave one out");
  }
  if (given.memory_bf16 != nullptr) {
    call.bf16_memory = {bf16(given.memory_bf16), given.memory_rows, shape.d_memory,
                        given.memory_stride};
  } else {
    call.memory = {given.memory, given.memory_rows, shape.d_memory, given.memory_stride};
  }
  call.memory_lengths =
      read_lengths(given.memory_lengths, given.memory_length_count,
                   {kCallName, "call.memory_lengths"}, "call.memory_length_count");
  return call;
}

// The next two for floats and for Bf16. @param function its name, for errors
template <class T>
headroom_status forward_rows(const char* function, headroom_layer* layer, const T* x,
                             int64_t x_rows, int64_t x_stride, T* y, int64_t y_stride,
                             const headroom_call* call) {
  return guarded([&] {
    require(layer, function, "layer");
    check_count({kCallName, "x_rows"}, x_rows);
    const headroom::Shape& shape = layer->layer.shape();
    headroom_call given{};
    if (call != nullptr) given = read_struct(*call, {}, kFirstCall, {function, "call"});
    layer->layer.forward(headroom::BasicMatrixView<const T>{x, x_rows, shape.d_in, x_stride},
                         headroom::BasicMatrixView<T>{y, x_rows, shape.output_width(), y_stride},
                         call_of(given, shape));
  });
}

template <class T>
headroom_status append_rows(const char* function, headroom_layer* layer, const T* x, int64_t x_rows,
                            int64_t x_stride, const headroom_call* call) {
  return guarded([&] {
    require(layer, function, "layer");
    require(call, function, "call");
    check_count({kCallName, "x_rows"}, x_rows);
    const headroom::Shape& shape = layer->layer.shape();
    const headroom_call given = read_struct(*call, {}, kFirstCall, {function, "call"});
    layer->layer.append(headroom::BasicMatrixView<const T>{x, x_rows, shape.d_in, x_stride},
                        call_of(given, shape));
  });
}

}  // namespace

void headroom_init_call(headroom_call* call, std::size_t size) { write_defaults(call, size, {}); }

headroom_status headroom_forward_call(headroom_layer* layer, const float* x, int64_t x_rows,
                                      int64_t x_stride, float* y, int64_t y_stride,
                                      const headroom_call* call) {
  return forward_rows("headroom_forward_call", layer, x, x_rows, x_stride, y, y_stride, call);
}

headroom_status headroom_append(headroom_layer* layer, const float* x, int64_t x_rows,
                                int64_t x_stride, const headroom_call* call) {
  return append_rows("headroom_append", layer, x, x_rows, x_stride, call);
}

headroom_status headroom_forward_bf16(headroom_layer* layer, const uint16_t* x, int64_t x_rows,
                                      int64_t x_stride, uint16_t* y, int64_t y_stride,
                                      const headroom_call* call) {
  return forward_rows("headroom_forward_bf16", layer, bf16(x), x_rows, x_stride,
                      reinterpret_cast<headroom::Bf16*>(y), y_stride, call);
}

headroom_status headroom_append_bf16(headroom_layer* layer, const uint16_t* x, int64_t x_rows,
                                     int64_t x_stride, const headroom_call* call) {
  return append_rows("headroom_append_bf16", layer, bf16(x), x_rows, x_stride, call);
}

headroom_status headroom_cache_create(const headroom_layer* layer, int64_t sequences,
                                      int64_t capacity, headroom_cache** cache) {
  if (cache != nullptr) *cache = nullptr;
  return guarded([&] {
    require(layer, "headroom_cache_create", "layer");
    require(cache, "headroom_cache_create", "cache");
    *cache = new headroom_cache{{layer->layer, sequences, capacity}};
  });
}

headroom_status headroom_cache_length(const headroom_cache* cache, int64_t sequence,
                                      int64_t* length) {
  return guarded([&] {
    require(cache, "headroom_cache_length", "cache");
    require(length, "headroom_cache_length", "length");
    *length = cache->cache.length(sequence);
  });
}

headroom_status headroom_cache_truncate(headroom_cache* cache, int64_t sequence, int64_t length) {
  return guarded([&] {
    require(cache, "headroom_cache_truncate", "cache");
    cache->cache.truncate(sequence, length);
  });
}

void headroom_cache_clear(headroom_cache* cache) {
  if (cache != nullptr) cache->cache.clear();
}

int64_t headroom_cache_sequences(const headroom_cache* cache) {
  return cache == nullptr ? 0 : cache->cache.sequences();
}

int64_t headroom_cache_capacity(const headroom_cache* cache) {
  return cache == nullptr ? 0 : cache->cache.capacity();
}

int64_t headroom_cache_bytes(const headroom_cache* cache) {
  return cache == nullptr ? 0 : cache->cache.bytes();
}

void headroom_cache_destroy(headroom_cache* cache) { delete cache; }

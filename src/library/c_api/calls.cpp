// Calls of any number of tokens, and what is kept between them.
#include <cstddef>
#include <cstdint>

#include "c_api/statuses.hpp"
#include "c_api/structs.hpp"
#include "headroom/attention.hpp"

namespace {

using namespace headroom::c_api;
constexpr std::size_t kFirstCall = offsetof(headroom_call, memory_length_count) + sizeof(int64_t);

headroom_call default_call() {
  headroom_call call{};
  write_default_mask(call);
  return call;
}

headroom::Call call_of(const char* function, const headroom_call* from) {
  if (from == nullptr) return {};
  const headroom_call given = read_struct(*from, default_call(), kFirstCall, {function, "call"});
  headroom::Call call;
  call.lengths = read_lengths(given.lengths, given.length_count, {function, "call.lengths"},
                              "call.length_count");
  call.padded_tokens = given.padded_tokens;
  call.padded_before = given.padded_before != 0;
  if (given.cache != nullptr) call.cache = &given.cache->cache;
  if (given.memory != nullptr)
    call.memory = read_matrix_view({function, "call.memory"}, given.memory);
  call.memory_lengths = read_lengths(given.memory_lengths, given.memory_length_count,
                                     {function, "call.memory_lengths"}, "call.memory_length_count");
  call.places_before = read_lengths(given.places_before, given.places_before_count,
                                    {function, "call.places_before"}, "call.places_before_count");
  call.positions = read_lengths(given.positions, given.position_count, {function, "call.positions"},
                                "call.position_count");
  call.context = given.context;
  call.mask = mask_of(given);
  return call;
}

}  // namespace

void headroom_init_call(headroom_call* call, std::size_t size) {
  write_defaults(call, size, default_call());
}

headroom_status headroom_forward(headroom_layer* layer, const headroom_matrix* x,
                                 const headroom_matrix* y, const headroom_call* call) {
  return guarded([&] {
    require(layer, "headroom_forward", "layer");
    layer->layer.forward(read_matrix_view({"headroom_forward", "x"}, x),
                         read_matrix_view({"headroom_forward", "y"}, y),
                         call_of("headroom_forward", call));
  });
}

headroom_status headroom_append(headroom_layer* layer, const headroom_matrix* x,
                                const headroom_call* call) {
  return guarded([&] {
    require(layer, "headroom_append", "layer");
    require(call, "headroom_append", "call");
    layer->layer.append(read_matrix_view({"headroom_append", "x"}, x),
                        call_of("headroom_append", call));
  });
}

headroom_status headroom_cache_create(const headroom_layer* layer, int64_t sequences,
                                      int64_t capacity, headroom_cache** cache) {
  if (cache != nullptr) *cache = nullptr;
  return guarded([&] {
    require(layer, "headroom_cache_create", "layer");
    require(cache, "headroom_cache_create", "cache");
    *cache = new headroom_cache{{layer->layer, {sequences, capacity}}};
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
    cache->cache.truncate({sequence, length});
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

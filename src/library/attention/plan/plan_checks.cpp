// What a call must be before anything of it is computed.
#include <fmt/format.h>

#include <utility>

#include "attention/mask_views.hpp"
#include "attention/plan/plan.hpp"
#include "attention/views.hpp"
#include "core/element/few_bits.hpp"
#include "headroom/error.hpp"

namespace headroom {

void Attention::Plan::read(const ConstAnyMatrix& x, const Call& call) {
  const KeyValueCache::State* cache = nullptr;
  if (call.cache != nullptr) {
    cache = call.cache->state_.get();
    if (cache->owner != id) {
      throw InvalidArgument("forward: the cache belongs to another layer; make one for each layer");
    }
  }
  if (shape.d_memory == 0 && (call.memory.rows != 0 || !call.memory_lengths.empty())) {
    throw InvalidArgument(
        "forward: memory is given, and this layer makes keys and values of x; leave it out, or "
        "make the layer with d_memory");
  }
  CacheRoom room;
  if (cache != nullptr) room = {cache->lengths, cache->capacity};
  sequences_.read(x, call, cache != nullptr ? &room : nullptr);
  angles_.check(call, x.rows, sequences_.list());
  if (cache != nullptr) check_turned(*cache);
}

// What a cache has cannot be turned again.
void Attention::Plan::check_turned(const KeyValueCache::State& cache) const {
  if (shape.rotary.long_divisors.empty()) return;
  for (const Sequence& sequence : sequences_.list()) {
    const bool is_long = cache.turned_long[static_cast<std::size_t>(sequence.number)];
    if (sequence.past == 0 || is_long == angles_.turns_long()) continue;
    throw InvalidArgument(fmt::format(
        "forward: the cache has {} tokens of sequence {} that were turned for contexts {} {}, and "
        "this call is for others; clear it and give all tokens again, or say in the call's "
        "context from the beginning how long it will be",
        sequence.past, sequence.number, is_long ? "above" : "up to", shape.rotary.context));
  }
}

void Attention::Plan::check_dtype(const char* name, const ConstAnyMatrix& view) const {
  if (view.dtype == Dtype::f32 || view.dtype == options.dtype) return;
  throw InvalidArgument(
      fmt::format("forward: {} is of {} values, and this layer stores {}; give floats{}", name,
                  to_string(view.dtype), to_string(options.dtype),
                  view.dtype == Dtype::bf16 ? ", or make the layer with dtype bf16" : ""));
}

void Attention::Plan::check_forward(const ConstAnyMatrix& x, const AnyMatrix& y, const Call& call) {
  check_dtype("x", x);
  check_dtype("y", y);
  check_views(x, y, {x.rows, shape.d_in, shape.output_width()});
  if (call.memory.rows > 0) {
    check_dtype("memory", call.memory);
    check_view("memory", call.memory, call.memory.rows, shape.d_memory);
    check_apart("memory", call.memory, y);
  }
  check_call_mask(call, y);
}

void Attention::Plan::check_stored(const WeightViews& weights) const {
  const Storage storage = *options.weights_dtype;
  if (is_few_bits(storage) && options.heads_of.first * shape.head_value_dim() % kGroup != 0) {
    throw Unsupported(fmt::format(
        "weights_dtype: a layer from head {} on, of {} values each, begins within a group "
        "of {} output weights of the whole layer",
        options.heads_of.first, shape.head_value_dim(), kGroup));
  }
  const std::pair<const char*, const ConstAnyMatrix&> matrices[] = {{"query", weights.query},
                                                                    {"key", weights.key},
                                                                    {"value", weights.value},
                                                                    {"output", weights.output},
                                                                    {"gate", weights.gate}};
  for (const auto& [name, matrix] : matrices) check_storable(storage, name, matrix);
}

void Attention::Plan::check_cache_storage() const {
  if (const auto reason = declines_cache(shape, *options.cache_dtype)) {
    throw Unsupported(fmt::format(
        "cache_dtype: this layer's cache is not stored as {}: {}; leave cache_dtype out",
        to_string(*options.cache_dtype), *reason));
  }
}

void Attention::Plan::check_call_mask(const Call& call, const ConstAnyMatrix& y) {
  if (!call.mask.any()) return;
  const MaskMemory mask = check_mask("forward", call.mask, sequences_.place_in_mask(call));
  check_apart("the mask", mask.data, mask.bytes, y);
  check_mask_values("forward", call.mask);
}

// Reads the call, because its faults are told before those of the view.
void Attention::Plan::check_append(const ConstAnyMatrix& x, const Call& call) {
  if (call.cache == nullptr) {
    throw InvalidArgument("append: no cache is given; it is what keys and values are put into");
  }
  if (shape.d_memory > 0) {
    throw InvalidArgument(
        "append: this layer makes keys and values of memory; call forward with an x of no rows");
  }
  read(x, call);
  check_dtype("x", x);
  check_view("x", x, x.rows, shape.d_in);
  check_call_mask(call, {});
}

}  // namespace headroom

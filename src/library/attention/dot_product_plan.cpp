#include "attention/dot_product_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "attention/choice.hpp"
#include "attention/heads_views.hpp"
#include "attention/key_value_state.hpp"
#include "attention/mask_views.hpp"
#include "core/element/cache_bytes.hpp"
#include "core/element/numbers_of.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

void check_sizes(const DotProductSizes& sizes) {
  const auto check = [](const char* name, std::int64_t value, std::int64_t least) {
    if (value < least) {
      throw InvalidArgument(
          fmt::format("attention: {} is {}; it must be at least {}", name, value, least));
    }
  };
  check("batch", sizes.batch, 1);
  check("queries", sizes.queries, 1);
  check("keys", sizes.keys, 1);
  check("heads", sizes.heads, 1);
  check("kv_heads", sizes.kv_heads, 0);
  check("head_dim", sizes.head_dim, 1);
}

void check_rule(const ScoreRule& rule) {
  if (!(rule.scale >= 0) || std::isinf(rule.scale)) {
    throw InvalidArgument(fmt::format(
        "attention: scale is {}; allowed are finite values above 0, and 0 for 1 / sqrt(head_dim)",
        rule.scale));
  }
  if (!(rule.softcap >= 0) || std::isinf(rule.softcap)) {
    throw InvalidArgument(
        fmt::format("attention: softcap is {}; allowed are finite values above 0, and 0 for none",
                    rule.softcap));
  }
  if (rule.window < 0) {
    throw InvalidArgument(
        fmt::format("attention: window is {}; allowed are 0 and any number above it", rule.window));
  }
}

void check_cache_storage(const ScoreRule& rule, const AttentionOptions& options) {
  const Numbers numbers = numbers_of(options);
  if (numbers.cache == Storage::q8 && !rule.causal) {
    throw Unsupported(
        "attention: cache_dtype q8 depends on positions, a query sees its own block of keys as it "
        "is and earlier ones rounded; it must be causal");
  }
  if (numbers.cache == Storage::f32) {
    throw InvalidArgument(
        "attention: cache_dtype f32 is what dtype f32 stores, which takes floats; with dtype bf16 "
        "keys and values have been rounded before, so leave it out");
  }
}

// The keys are those of a second input, so that there may be more or fewer than queries.
Case shape_of(const DotProductSizes& sizes) {
  Case shape;
  shape.batch = sizes.batch;
  shape.tokens = sizes.queries;
  shape.memory_tokens = sizes.keys;
  shape.heads = sizes.heads;
  shape.kv_heads = sizes.kv_heads;
  if (__builtin_mul_overflow(sizes.head_dim, sizes.heads, &shape.d_out)) {
    throw InvalidArgument("attention: heads * head_dim does not fit in 63 bits");
  }
  shape.d_in = shape.d_memory = 1;  // there are no products whose work would count
  shape.causal = false;
  shape.validate();
  return shape;
}

// Rows as a backend sees them, of all sequences one after the other.
struct Rows {
  explicit Rows(const ConstAnyHeads& view) : of(view) {
    // How far apart the tokens are means nothing where there is one.
    const bool one = of.tokens == 1;
    if (one) of.token_stride = std::max(of.batch_stride, of.heads * of.head_dim);
    between = of.tokens;
    if (of.batch > 1) {
      const bool whole = of.token_stride > 0 && of.batch_stride % of.token_stride == 0;
      between = whole ? of.batch_stride / of.token_stride : 0;
    }
  }

  // Backends turn queries and keys in place where there are rotary positions. Here there are none,
  // so nobody writes through the views of the others than the output.
  AnyBlockedView from(std::int64_t sequence, std::int64_t count) const {
    AnyBlockedView view(const_cast<void*>(of.data), of.dtype, count * of.tokens, of.token_stride,
                        of.heads, of.head_dim, of.head_stride);
    view.data = view.value(sequence * of.batch_stride);
    return view;
  }

  ConstAnyHeads of;
  std::int64_t between;  // rows from sequence to sequence; 0: no whole number of them
};

std::int64_t length_of(std::span<const std::int64_t> lengths, std::size_t sequence,
                       std::int64_t all) {
  return lengths.empty() ? all : lengths[sequence];
}

void check_lengths(const char* what, std::span<const std::int64_t> lengths,
                   const ConstAnyHeads& view) {
  if (lengths.empty()) return;
  if (static_cast<std::int64_t>(lengths.size()) != view.batch) {
    throw InvalidArgument(
        fmt::format("attention: {} {} lengths for {} sequences", lengths.size(), what, view.batch));
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] >= 0 && lengths[i] <= view.tokens) continue;
    throw InvalidArgument(
        fmt::format("attention: {} length {} is {}; the view has room for 0 to {}", what, i,
                    lengths[i], view.tokens));
  }
}

}  // namespace

DotProductAttention::Plan::Plan(const DotProductSizes& most, const ScoreRule& rule,
                                const AttentionOptions& options)
    : id(next_cache_owner()),
      stored(numbers_of(options).stored_cache()),
      rule_((check_sizes(most), check_rule(rule), rule)),
      shape_(shape_of(most)) {
  const auto start = std::chrono::steady_clock::now();
  if (options.weights_dtype) {
    throw InvalidArgument(
        "attention: weights_dtype is of layers; here are no weights, so leave it out");
  }
  check_cache_storage(rule, options);
  choice = choose_backend(shape_, shape_, options);
  // Without products only what attention is computed in counts.
  const Target target = select_target(options.isa, options.unit);
  const Numbers numbers = numbers_of(options, options.precision.value_or(choice.precision));
  if (options.precision) choice.precision_reason.clear();  // it was about products
  set_arithmetic(arithmetic_of(choice.backend, numbers, target).of_attention(), choice);
  dtype_ = options.dtype;
  backend_ = make_backend(resolve(options, choice), choice);
  // Of a layer this would be refused, as tokens of two inputs have no common order. Here they are
  // the last ones of the same sequence.
  shape_.causal = rule.causal;
  shape_.window = rule.window;
  shape_.scale = rule.scale;
  shape_.softcap = rule.softcap;
  attend_ = backend_->make_attention(shape_);
  all_.reserve(static_cast<std::size_t>(shape_.batch));
  sequences_.reserve(static_cast<std::size_t>(shape_.batch));
  if (dtype_ == Dtype::bf16 && !attend_->takes_bf16()) staged_ = StagedHeads(shape_);
  const auto made = attend_->costs();
  costs.workspace_bytes = made.workspace_bytes + staged_.bytes();
  costs.attend_provenance = made.provenance;
  costs.setup_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::unique_ptr<KeyValueStore> DotProductAttention::Plan::make_store(const CacheSize& size) {
  return headroom::make_store(*attend_, shape_, size);
}

void DotProductAttention::Plan::run(const ConstAnyHeads& q, const ConstAnyHeads& k,
                                    const ConstAnyHeads& v, const AnyHeads& out,
                                    const DotProductCall& given) {
  check_heads(q, k, v, out);
  check_fits(q, k);
  check_dtype("q", q.dtype);
  check_dtype("k", k.dtype);
  check_dtype("v", v.dtype);
  check_dtype("out", out.dtype);
  read(q, k, given);
  std::int64_t keys = given.cache == nullptr ? k.tokens : 0;
  for (const Sequence& sequence : all_) keys = std::max(keys, sequence.keys());
  const MaskMemory mask = check_mask("attention", given.mask, {q.batch, q.heads, q.tokens, keys});
  if (mask.bytes > 0) check_apart_from_output("the mask", mask.data, mask.bytes, out);
  check_mask_values("attention", given.mask);
  check_sinks(given.sinks);
  if (attend_->takes_bf16() || !any_bf16(q, k, v, out)) {
    attend(q, k, v, out, given);
  } else {
    staged_.run(q, k, v, out, given, [&](const auto&... views) { attend(views..., given); });
  }
  if (given.cache == nullptr) return;
  for (const Sequence& sequence : all_) {
    given.cache->state_->length(sequence.number) = sequence.keys();
  }
}

// The call's sequences, checked.
void DotProductAttention::Plan::read(const ConstAnyHeads& q, const ConstAnyHeads& k,
                                     const DotProductCall& given) {
  check_lengths("query", given.queries, q);
  check_lengths("key", given.keys, k);
  if (given.cache != nullptr) check_cache(*given.cache, q);
  all_.clear();
  for (std::int64_t b = 0; b < q.batch; ++b) {
    Sequence one;
    one.number = b;
    one.rows = length_of(given.queries, static_cast<std::size_t>(b), q.tokens);
    one.new_keys = length_of(given.keys, static_cast<std::size_t>(b), k.tokens);
    if (given.cache != nullptr) one.past = given.cache->length(b);
    // Without a mask positions mean nothing, and there may be more queries than keys.
    one.position = std::max<std::int64_t>(one.keys() - one.rows, 0);
    check_sequence(one, given.cache);
    all_.push_back(one);
  }
}

void DotProductAttention::Plan::attend(const ConstAnyHeads& q, const ConstAnyHeads& k,
                                       const ConstAnyHeads& v, const AnyHeads& out,
                                       const DotProductCall& given) {
  const Rows of_q(q), of_k(k), of_v(v), of_out(out);
  const bool together =
      of_q.between > 0 && of_k.between > 0 && of_out.between > 0 && of_v.between == of_k.between;
  const std::int64_t count = together ? q.batch : 1;
  AttendCall call;
  call.store = given.cache != nullptr ? given.cache->state_->store.get() : nullptr;
  call.any_order = true;
  call.mask = score_mask(given.mask);
  if (!given.sinks.empty()) call.parameters.sinks = given.sinks.data();
  for (std::int64_t first = 0; first < q.batch; first += count) {
    sequences_.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      Sequence one = all_[static_cast<std::size_t>(first + i)];
      one.first_row = i * of_q.between;
      one.first_out = i * of_out.between;
      one.first_key = i * of_k.between;
      // Without queries there is only a cache to append to.
      if (one.rows > 0 || (call.store != nullptr && one.new_keys > 0)) sequences_.push_back(one);
    }
    if (sequences_.empty()) continue;
    call.q = of_q.from(first, count);
    call.k = of_k.from(first, count);
    call.v = of_v.from(first, count);
    call.out = of_out.from(first, count);
    call.sequences = sequences_;
    attend_->run(call);
  }
}

void DotProductAttention::Plan::check_dtype(const char* name, Dtype found) const {
  if (found == Dtype::f32 || dtype_ == found) return;
  throw InvalidArgument(fmt::format(
      "attention: {} is of {}, and this was made for {}; with dtype bf16 it takes {}", name,
      to_string(found), to_string(dtype_), found == Dtype::bf16 ? "both" : "f32 and bf16"));
}

void DotProductAttention::Plan::check_fits(const ConstAnyHeads& q, const ConstAnyHeads& k) const {
  if (q.batch <= shape_.batch && q.tokens <= shape_.tokens && k.tokens <= shape_.memory_tokens &&
      q.heads == shape_.heads && k.heads == shape_.key_heads() && q.head_dim == shape_.head_dim()) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "attention: {} sequences of {} queries and {} keys, {} and {} heads of {}; this was made "
      "for up to {}, {} and {}, and for {} and {} heads of {}",
      q.batch, q.tokens, k.tokens, q.heads, k.heads, q.head_dim, shape_.batch, shape_.tokens,
      shape_.memory_tokens, shape_.heads, shape_.key_heads(), shape_.head_dim()));
}

void DotProductAttention::Plan::check_sinks(std::span<const float> sinks) const {
  if (sinks.empty() || static_cast<std::int64_t>(sinks.size()) == shape_.heads) return;
  throw InvalidArgument(fmt::format("attention: {} sinks for {} query heads; give one for each",
                                    sinks.size(), shape_.heads));
}

void DotProductAttention::Plan::check_cache(const KeyValueCache& cache,
                                            const ConstAnyHeads& q) const {
  if (cache.state_->owner != id) {
    throw InvalidArgument(
        "attention: the cache belongs to another object; a cache is made for one "
        "DotProductAttention, and attention() makes a new one for each call");
  }
  if (q.batch <= cache.sequences()) return;
  throw InvalidArgument(
      fmt::format("attention: {} sequences, and the cache has {}", q.batch, cache.sequences()));
}

void DotProductAttention::Plan::check_sequence(const Sequence& sequence,
                                               const KeyValueCache* cache) const {
  if (cache != nullptr && sequence.new_keys > cache->capacity() - sequence.past) {
    throw InvalidArgument(
        fmt::format("attention: sequence {} has {} tokens in the cache and {} new ones; there is "
                    "room for {}",
                    sequence.number, sequence.past, sequence.new_keys, cache->capacity()));
  }
  if (stored == Storage::q8 && sequence.rows > 0 &&
      cache_block(sequence.position) < cache_block(sequence.past)) {
    throw InvalidArgument(fmt::format(
        "attention: the first query of sequence {} stands at position {}, in a block of {} keys "
        "that was rounded when it was full; with a cache of q8 allowed are positions from {} on",
        sequence.number, sequence.position, kCacheBlock, cache_block(sequence.past)));
  }
  if (sequence.rows > 0 && sequence.keys() == 0) {
    throw InvalidArgument(
        fmt::format("attention: sequence {} has queries and no key", sequence.number));
  }
  if ((rule_.causal || rule_.window > 0) && sequence.rows > sequence.keys()) {
    throw InvalidArgument(fmt::format(
        "attention: sequence {} has {} queries and {} keys; with causal or a window the last query "
        "stands at the last key, so there must be a key for each",
        sequence.number, sequence.rows, sequence.keys()));
  }
}

}  // namespace headroom

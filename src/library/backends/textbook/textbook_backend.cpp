#include "backends/textbook/textbook_backend.hpp"

#include <algorithm>
#include <limits>

#include "core/element/cache_bytes.hpp"
#include "core/element/few_bits.hpp"
#include "core/side_by_side.hpp"

namespace headroom::HEADROOM_TEXTBOOK_NAMESPACE {

TextbookProduct::TextbookProduct(const textbook::Kernels& kernels, std::string provenance,
                                 const ProductSpec& spec, Storage storage)
    : kernels_(&kernels),
      provenance_(std::move(provenance)),
      depth_(spec.weights.front().rows),
      weights_(side_by_side(spec.weights)) {
  const std::int64_t cols = total_cols(spec.weights);
  round_weights(storage, {weights_.data(), depth_, cols, cols});
  if (!spec.biases.empty()) {
    bias_ = end_to_end(spec.biases, cols);
  }
}

void TextbookProduct::run(ConstMatrixView x, const BlockedView& y) {
  textbook::ProjectArgs args{};
  args.x = x.data;
  args.x_row_stride = x.row_stride;
  args.weights = weights_.data();
  args.bias = bias_.data();
  args.y = y.data;
  args.y_row_stride = y.row_stride;
  args.y_block_stride = y.block_stride;
  args.rows = x.rows;
  args.depth = depth_;
  args.blocks = y.blocks;
  args.block_cols = y.block_cols;
  kernels_->project(args);
}

OperationCosts TextbookProduct::costs() const {
  return {weights_.bytes() + bias_.bytes(), 0, provenance_};
}

TextbookAttention::TextbookAttention(const textbook::Kernels& kernels, std::string provenance,
                                     const Case& shape, Storage stored)
    : kernels_(kernels), provenance_(std::move(provenance)), shape_(shape), stored_(stored) {
  const std::int64_t keys = shape.values_in_keys() ? 0  // they are read from a store alone
                            : shape.d_memory > 0   ? shape.memory_tokens
                                                   : shape.tokens;
  weights_ = AlignedBuffer(shape.tokens * keys);
  if (shape.dropout > 0) factors_ = AlignedBuffer(keys);
  preparation_ = HeadPreparation(shape, shape.tokens);
  if (stored != Storage::f32 && keys > 0) own_ = make_heads(1, keys, 1);
}

std::unique_ptr<KeyValueStore> TextbookAttention::make_store(std::int64_t sequences,
                                                             std::int64_t capacity) {
  return make_heads(sequences * shape_.key_heads(), capacity, shape_.key_heads());
}

// @param heads of all sequences together
std::unique_ptr<TextbookStore> TextbookAttention::make_heads(std::int64_t heads,
                                                             std::int64_t capacity,
                                                             std::int64_t key_heads) const {
  auto store = std::make_unique<TextbookStore>();
  store->capacity = capacity;
  store->key_heads = key_heads;
  store->head_dim = shape_.head_dim();
  store->keys = AlignedBuffer(heads * capacity * store->head_dim);
  if (stored_ == Storage::q8) store->rounded_keys = AlignedBuffer(store->keys.size());
  if (!shape_.values_in_keys()) {
    store->value_dim = shape_.head_value_dim();
    store->values = AlignedBuffer(heads * capacity * store->value_dim);
  }
  store->weights = AlignedBuffer(shape_.tokens * capacity);
  if (shape_.dropout > 0) store->factors = AlignedBuffer(capacity);
  store->preparation = HeadPreparation(shape_, capacity);
  return store;
}

void TextbookStore::copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
                         std::int64_t tokens) {
  const auto& other = static_cast<const TextbookStore&>(from);
  for (std::int64_t head = 0; head < key_heads; ++head) {
    const std::int64_t to = (sequence * key_heads + head) * capacity;
    const std::int64_t at = (of * key_heads + head) * other.capacity;
    const auto copy = [&](AlignedBuffer& to_rows, const AlignedBuffer& from_rows,
                          std::int64_t width) {
      std::copy_n(from_rows.data() + at * width, tokens * width, to_rows.data() + to * width);
    };
    copy(keys, other.keys, head_dim);
    copy(values, other.values, value_dim);
    if (rounded_keys.size() > 0) copy(rounded_keys, other.rounded_keys, head_dim);
  }
}

void TextbookAttention::run(const AttendCall& call) {
  for (const Sequence& sequence : call.sequences) {
    for (std::int64_t head = 0; head < shape_.key_heads(); ++head) {
      run_key_head(call, sequence, head);
    }
  }
}

// Without one, keys and values that are rounded have room for one head.
TextbookStore* TextbookAttention::store_of(const AttendCall& call) const {
  return call.store != nullptr ? static_cast<TextbookStore*>(call.store) : own_.get();
}

// The new values, and the keys whose block is full now.
// @param head of all in the store
void TextbookAttention::round(TextbookStore& store, const Sequence& sequence,
                              std::int64_t head) const {
  const std::int64_t first = head * store.capacity;
  const auto row = [&](AlignedBuffer& rows, std::int64_t width, std::int64_t at) {
    return rows.data() + (first + at) * width;
  };
  for (std::int64_t at = sequence.past; at < sequence.keys(); ++at) {
    float* value = row(store.values, store.value_dim, at);
    if (stored_ == Storage::q8) {
      round_by_bytes(value, store.value_dim);
      continue;
    }
    round_weights(stored_, {value, 1, store.value_dim, store.value_dim});
    round_weights(stored_,
                  {row(store.keys, store.head_dim, at), 1, store.head_dim, store.head_dim});
  }
  if (stored_ != Storage::q8) return;
  for (std::int64_t at = cache_block(sequence.past); at + kCacheBlock <= sequence.keys();
       at += kCacheBlock) {
    float* keys = row(store.rounded_keys, store.head_dim, at);
    std::copy_n(row(store.keys, store.head_dim, at), kCacheBlock * store.head_dim, keys);
    for (std::int64_t c = 0; c < store.head_dim; ++c) {
      round_by_bytes(keys + c, kCacheBlock, store.head_dim);
    }
  }
}

// Appends the new keys and values of a head; the result says where all of them lie.
textbook::HeadArgs TextbookAttention::stored(const AttendCall& call, const Sequence& sequence,
                                             std::int64_t key_head) const {
  textbook::HeadArgs args{};
  args.head_dim = shape_.head_dim();
  args.value_dim = shape_.head_value_dim();
  TextbookStore* store = store_of(call);
  if (store == nullptr) {
    args.k = call.k.floats().at(sequence.first_key, key_head);
    args.v = call.v.floats().at(sequence.first_key, key_head);
    args.k_stride = call.k.row_stride;
    args.v_stride = call.v.row_stride;
    return args;
  }
  const std::int64_t head =
      call.store != nullptr ? sequence.number * shape_.key_heads() + key_head : 0;
  const std::int64_t first = head * store->capacity;
  float* keys = store->keys.data() + first * args.head_dim;
  float* values = shape_.values_in_keys() ? nullptr : store->values.data() + first * args.value_dim;
  for (std::int64_t i = 0; i < sequence.new_keys; ++i) {
    const std::int64_t at = sequence.past + i;
    std::copy_n(call.k.floats().at(sequence.first_key + i, key_head), args.head_dim,
                keys + at * args.head_dim);
    if (shape_.values_in_keys()) continue;
    std::copy_n(call.v.floats().at(sequence.first_key + i, key_head), args.value_dim,
                values + at * args.value_dim);
  }
  if (stored_ != Storage::f32) round(*store, sequence, head);
  args.k = keys;
  if (stored_ == Storage::q8) args.rounded_k = store->rounded_keys.data() + first * args.head_dim;
  args.k_stride = args.head_dim;
  args.v = shape_.values_in_keys() ? keys : values;
  args.v_stride = shape_.values_in_keys() ? args.head_dim : args.value_dim;
  return args;
}

void TextbookAttention::run_key_head(const AttendCall& call, const Sequence& sequence,
                                     std::int64_t key_head) {
  TextbookStore* store = store_of(call);
  const HeadPreparation& preparation = store != nullptr ? store->preparation : preparation_;
  preparation.keys(call, sequence, key_head);
  textbook::HeadArgs args = stored(call, sequence, key_head);
  args.q_stride = call.q.row_stride;
  args.out_stride = call.out.row_stride;
  args.rows = sequence.rows;
  args.position = sequence.position;
  args.keys = sequence.keys();
  args.rule = mask_rule(shape_);
  args.divisor = static_cast<float>(1 / shape_.score_scale());
  args.softcap = static_cast<float>(shape_.softcap);
  args.weights = (store != nullptr ? store->weights : weights_).data();
  float* factors = (store != nullptr ? store->factors : factors_).data();
  const std::int64_t group = shape_.heads / shape_.key_heads();
  for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
    preparation.queries(call, sequence, head);
    args.q = call.q.floats().at(sequence.first_row, head);
    args.out = call.out.floats().at(sequence.first_out, head);
    args.mask = call.mask_of(sequence, head);
    if (call.parameters.sinks != nullptr) args.sink = call.parameters.sinks + head;
    kernels_.attention_weights(args);
    if (shape_.dropout > 0) drop(args, sequence.pattern_head + head, factors);
    kernels_.weighted_values(args);
  }
}

void TextbookAttention::drop(const textbook::HeadArgs& args, std::int64_t head,
                             float* factors) const {
  const DropoutPattern pattern{shape_.dropout, shape_.dropout_seed};
  for (std::int64_t i = 0; i < args.rows; ++i) {
    const KeyRange seen = textbook::seen_keys(args, i);
    const std::int64_t count = seen.end - seen.begin;
    pattern.factors(dropout_row(head, args.position + i), seen.begin, count, factors);
    float* row = args.weights + i * args.keys + seen.begin;
    for (std::int64_t j = 0; j < count; ++j) row[j] *= factors[j];
  }
}

OperationCosts TextbookAttention::costs() const {
  const std::int64_t own = own_ != nullptr ? own_->bytes() : 0;
  return {0, weights_.bytes() + factors_.bytes() + preparation_.bytes() + own, provenance_};
}

Arithmetic computes(const Numbers& numbers, const Target&) {
  if (numbers.precision == Precision::f32 && numbers.dtype == Dtype::f32) {
    return {Precision::f32, ""};
  }
  return {std::nullopt, "it computes in f32 stored as f32 and nothing else"};
}

std::optional<std::string> declines(const Case& shape) {
  constexpr std::int64_t kLargest =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(float));
  if (shape.tokens == 0 || shape.context() <= kLargest / shape.tokens) return std::nullopt;
  return "the scores of one head, " + std::to_string(shape.tokens) + " x " +
         std::to_string(shape.context()) +
         " floats, have no 64-bit size; use a streaming backend such as xsimd";
}

double score_bytes(const Case& shape) {
  return static_cast<double>(shape.tokens) * static_cast<double>(shape.context()) * sizeof(float);
}

}  // namespace headroom::HEADROOM_TEXTBOOK_NAMESPACE

/// @file
/// Attention over queries, keys and values of the caller's own, without weights: what PyTorch calls
/// `scaled_dot_product_attention`. A layer with weights is `Attention`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "headroom/attention.hpp"
#include "headroom/export.h"
#include "headroom/mask_view.hpp"

namespace headroom {

/// Heads of sequences, where they lie in the caller's memory: value `c` of head `h` of token `t` of
/// sequence `b` is at `data + b * batch_stride + t * token_stride + h * head_stride + c`. Strides
/// count values, not bytes.
template <class T>
struct BasicHeadsView {
  T* data = nullptr;
  std::int64_t batch = 0;  ///< sequences
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t batch_stride = 0, token_stride = 0, head_stride = 0;

  /// The same values, read-only.
  // NOLINTNEXTLINE(google-explicit-constructor): as harmless as float* to const float*
  operator BasicHeadsView<const T>() const requires(!std::is_const_v<T>) {
    return {data, batch, tokens, heads, head_dim, batch_stride, token_stride, head_stride};
  }
};

using HeadsView = BasicHeadsView<float>;
using ConstHeadsView = BasicHeadsView<const float>;

/// The same of floats or of `Bf16`, as a call takes it; made of either.
template <class Void>
struct BasicAnyHeads {
  BasicAnyHeads() = default;
  BasicAnyHeads(Void* first, Dtype of, std::int64_t sequences, std::int64_t all_tokens,
                std::int64_t all_heads, std::int64_t width, std::int64_t between_sequences,
                std::int64_t between_tokens, std::int64_t between_heads)
      : data(first),
        dtype(of),
        batch(sequences),
        tokens(all_tokens),
        heads(all_heads),
        head_dim(width),
        batch_stride(between_sequences),
        token_stride(between_tokens),
        head_stride(between_heads) {}
  template <class T>
  requires std::is_convertible_v<T*, Void*>
  // NOLINTNEXTLINE(google-explicit-constructor): a view is a view
  BasicAnyHeads(const BasicHeadsView<T>& of)
      : BasicAnyHeads(of.data, kDtypeOf<std::remove_const_t<T>>, of.batch, of.tokens, of.heads,
                      of.head_dim, of.batch_stride, of.token_stride, of.head_stride) {}

  Void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t batch = 0;  ///< sequences
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t batch_stride = 0, token_stride = 0, head_stride = 0;  ///< values

  /// The same values, read-only.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator BasicAnyHeads<const void>() const requires(!std::is_const_v<Void>) {
    return {data, dtype, batch, tokens, heads, head_dim, batch_stride, token_stride, head_stride};
  }
};

using AnyHeads = BasicAnyHeads<void>;
using ConstAnyHeads = BasicAnyHeads<const void>;

/// `(batch, tokens, heads, head_dim)` without gaps, as products write it.
template <class T>
BasicHeadsView<T> token_major(T* data, std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                              std::int64_t head_dim) {
  const std::int64_t width = heads * head_dim;
  return {data, batch, tokens, heads, head_dim, tokens * width, width, head_dim};
}

/// `(batch, heads, tokens, head_dim)` without gaps, as PyTorch has it.
template <class T>
BasicHeadsView<T> head_major(T* data, std::int64_t batch, std::int64_t heads, std::int64_t tokens,
                             std::int64_t head_dim) {
  const std::int64_t one = tokens * head_dim;
  return {data, batch, tokens, heads, head_dim, heads * one, head_dim, one};
}

/// Which keys a query sees, and what becomes of its scores.
struct ScoreRule {
  /// The last query of a sequence sees all of its keys, the one before it all but the last, and so
  /// on: queries are the last tokens of those that the keys are of.
  bool causal = false;
  /// The most keys that a query sees back, its own included; without `causal` as many ahead. 0:
  /// all.
  std::int64_t window = 0;
  double scale = 0;    ///< of scores, above 0; 0 stands for `1 / sqrt(head_dim)`
  double softcap = 0;  ///< scaled scores become `c tanh(s / c)`, before any mask; 0: they stay

  bool operator==(const ScoreRule&) const = default;
};

/// The sizes of a call, or of the largest one.
struct DotProductSizes {
  std::int64_t batch = 1;     ///< sequences
  std::int64_t queries = 0;   ///< tokens of q and of the output
  std::int64_t keys = 0;      ///< tokens of k and v
  std::int64_t heads = 1;     ///< of q
  std::int64_t kv_heads = 0;  ///< of k and v, a divisor of `heads`; 0: as many
  std::int64_t head_dim = 0;
};

/// What a call brings beside its views.
struct DotProductCall {
  /// Tokens of each sequence that are there; rows after them are neither read nor written. Empty:
  /// all.
  std::span<const std::int64_t> queries = {};
  std::span<const std::int64_t> keys = {};
  /// Beside `causal` and `window`. The output of a query that sees no key is 0. Values behind a
  /// hidden key are multiplied by 0, so they must be finite.
  MaskView mask = {};
  /// One more logit for each query head, in the sum of its softmax and without a value. Empty:
  /// none.
  std::span<const float> sinks = {};
  /// Keys and values of earlier calls, made for this object. Those of the call are appended, and
  /// queries see all of both; k and v of no tokens are allowed. Sequence `b` of the views is
  /// sequence `b` there. Keys of a mask are then as many as the longest sequence has, or 1.
  KeyValueCache* cache = nullptr;
};

/// `softmax(scale q k^T) v` for each head of each sequence, by any backend. Made once for calls up
/// to some sizes, so that a call allocates nothing and starts no thread (`Attention::forward` names
/// the two exceptions). One object runs one call at a time. Bits of a row may depend on how many
/// rows a call has, though not on their values.
class HEADROOM_API DotProductAttention {
 public:
  /// @param most the sizes of the largest call; its heads and widths are those of all calls
  /// @param options backend, threads, precision and so on. Formulation and heads of a larger layer
  ///        do not matter. With dtype bf16 a call takes views of `Bf16`, each for itself; floats
  ///        of k and v are rounded to it as they are read, and those of q are used as they are.
  ///        Sums and scores are floats.
  /// @throws InvalidArgument for a size below 1, heads that are no multiple of `kv_heads`, or a
  ///         window, a scale or a cap that is negative or not finite; as `choose_backend` for
  ///         the options; ResourceError if the system refuses the threads; std::bad_alloc if memory
  ///         runs out.
  explicit DotProductAttention(const DotProductSizes& most, const ScoreRule& rule = {},
                               const AttentionOptions& options = {});
  ~DotProductAttention();
  DotProductAttention(DotProductAttention&&) noexcept;
  DotProductAttention& operator=(DotProductAttention&&) noexcept;

  /// @param q `batch` sequences of `tokens` queries
  /// @param k keys, `kv_heads` of each token
  /// @param v values, as many as keys
  /// @param out as q; its memory must not reach into that of the others
  /// @throws InvalidArgument naming the view, before `out` is touched: sizes that do not fit each
  ///         other or the object, `Bf16` where dtype is f32, a null pointer, strides that are
  ///         negative or reach beyond any memory, an output that overlaps itself or another view,
  ///         lengths, sinks or a mask that do not fit, a NaN in a mask, a sequence with queries and
  ///         no key, or with fewer keys than queries where `causal` or a window is set; a cache of
  ///         another object, with fewer sequences or too little room. The cache is as before then.
  void run(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
           const AnyHeads& out, const DotProductCall& call = {});

  /// Who computes it, and why. The formulation says nothing here.
  const Choice& choice() const;
  /// What it took to make it, and the memory that is kept between calls. Nothing is packed.
  const AttentionCosts& costs() const;

 private:
  friend class KeyValueCache;
  class Plan;
  std::unique_ptr<Plan> plan_;
};

/// One call without a cache, for which all is made and thrown away again; a program that calls more
/// than once keeps a `DotProductAttention`. @throws as that does.
HEADROOM_API void attention(const ConstAnyHeads& q, const ConstAnyHeads& k, const ConstAnyHeads& v,
                            const AnyHeads& out, const ScoreRule& rule = {},
                            const AttentionOptions& options = {}, const DotProductCall& call = {});

}  // namespace headroom

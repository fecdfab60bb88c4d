// The backend around the textbook loops, compiled for `naive` and for `autovec`, each in its own
// namespace, so that a program may link both. No extra instruction sets here, so it may use the
// standard library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/backend.hpp"
#include "backends/one_by_one.hpp"
#include "backends/textbook/textbook.hpp"
#include "core/aligned_buffer.hpp"
#include "core/call/preparation.hpp"
#include "headroom/dropout.hpp"

namespace headroom::HEADROOM_TEXTBOOK_NAMESPACE {

/// Owns a row-major copy of the matrices of a spec, side by side.
class TextbookProduct {
 public:
  TextbookProduct(const textbook::Kernels& kernels, std::string provenance, const ProductSpec& spec,
                  Storage storage);
  void run(ConstMatrixView x, const BlockedView& y);
  OperationCosts costs() const;

 private:
  const textbook::Kernels* kernels_;
  std::string provenance_;
  std::int64_t depth_ = 0;
  AlignedBuffer weights_;
  AlignedBuffer bias_;
};

/// Keys and values of earlier calls, row by row for each head, and room for a call's scores.
struct TextbookStore final : public KeyValueStore {
  std::int64_t capacity = 0;
  std::int64_t key_heads = 0, head_dim = 0;
  std::int64_t value_dim = 0;  ///< 0: values lie in keys
  AlignedBuffer keys, values;  ///< `sequences x key_heads x capacity`, rows of a head
  AlignedBuffer rounded_keys;  ///< likewise, full blocks of what is kept in eight bits
  AlignedBuffer weights;
  AlignedBuffer factors;
  HeadPreparation preparation;
  std::int64_t bytes() const override {
    return keys.bytes() + values.bytes() + rounded_keys.bytes() + weights.bytes() +
           factors.bytes() + preparation.bytes();
  }
  void copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
            std::int64_t tokens) override;
};

/// Keeps the `T x T` attention weights of one head at a time, as the textbook does.
class TextbookAttention final : public HeadAttention {
 public:
  TextbookAttention(const textbook::Kernels& kernels, std::string provenance, const Case& shape,
                    Storage stored);
  std::unique_ptr<KeyValueStore> make_store(std::int64_t sequences, std::int64_t capacity) override;
  void run(const AttendCall& call) override;
  OperationCosts costs() const override;

 private:
  std::unique_ptr<TextbookStore> make_heads(std::int64_t heads, std::int64_t capacity,
                                            std::int64_t key_heads) const;
  void run_key_head(const AttendCall& call, const Sequence& sequence, std::int64_t key_head);
  textbook::HeadArgs stored(const AttendCall& call, const Sequence& sequence,
                            std::int64_t key_head) const;
  void round(TextbookStore& store, const Sequence& sequence, std::int64_t head) const;
  TextbookStore* store_of(const AttendCall& call) const;
  void drop(const textbook::HeadArgs& args, std::int64_t head, float* factors) const;

  const textbook::Kernels& kernels_;
  std::string provenance_;
  Case shape_;
  Storage stored_;                      ///< what keys and values are rounded to
  std::unique_ptr<TextbookStore> own_;  ///< for a head of a call without one, where that is not f32
  AlignedBuffer weights_;
  AlignedBuffer factors_;
  HeadPreparation preparation_;
};

class TextbookBackend final : public Backend {
 public:
  TextbookBackend(const textbook::Kernels& kernels, std::string provenance, Storage cache)
      : kernels_(kernels), provenance_(std::move(provenance)), cache_(cache) {}

  HeadLayout head_layout() const override { return HeadLayout::token_major; }
  std::unique_ptr<Projection> make_projection(const ProjectionSpec& spec) override {
    return one_by_one(spec, [&](const ProductSpec& product) {
      return TextbookProduct(kernels_, provenance_, product, spec.weights.value_or(Storage::f32));
    });
  }
  std::unique_ptr<HeadAttention> make_attention(const Case& shape) override {
    return std::make_unique<TextbookAttention>(kernels_, provenance_, shape, cache_);
  }

 private:
  const textbook::Kernels& kernels_;
  std::string provenance_;
  Storage cache_;
};

/// Float32 alone; weights, keys and values are rounded to what they are stored as elsewhere, and
/// kept as floats.
Arithmetic computes(const Numbers& numbers, const Target& target);

/// Declines only sequences whose `T x T` scores have no 64-bit size in bytes.
std::optional<std::string> declines(const Case& shape);

/// Bytes of one head's scores, which the textbook keeps in full.
double score_bytes(const Case& shape);

}  // namespace headroom::HEADROOM_TEXTBOOK_NAMESPACE

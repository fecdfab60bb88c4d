// A layer with its input, and every value on the way through it as the oracle computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "headroom/weights.hpp"
#include "lesson/subject.hpp"
#include "lesson/value.hpp"
#include "reference/intermediates.hpp"

namespace headroom::lesson {

struct Layer {
  Case shape;
  SplitWeights weights;
  Matrix x;                        ///< `B * T x d_in`
  std::vector<std::string> words;  ///< one per token of a sequence
};

/// A layer over the subject's tokens, without weights.
Layer layer_over(const Subject& subject);

class LayerTrace {
 public:
  explicit LayerTrace(Layer layer);

  const Layer& layer() const { return layer_; }
  const Case& shape() const { return layer_.shape; }
  const reference::Intermediates& seen() const { return seen_; }

  /// How far query and key are on their way to the scores.
  enum class Stage {
    projected,
    between,  ///< after the first of norm and turn, where the layer has both
    scored,
  };

  Value x() const;
  Value query(Stage stage = Stage::scored) const {
    return projected("query", at(stage).query);
  }  ///< `(B, T, d_out)`
  Value key(Stage stage = Stage::scored) const {
    return keyed("key", at(stage).key);
  }  ///< `(B, T, kv_width)`
  Value value() const { return keyed("value", seen_.value); }
  /// `(B, H, T, T)`: every pair of tokens, masked or not
  Value scores() const { return pairs("scores", unmasked_.scores); }
  /// With -inf where the layer masks.
  Value masked_scores() const { return pairs("masked scores", seen_.scores); }
  Value scaled_scores() const;
  /// After softmax, before dropout.
  Value attention_weights() const;
  Value dropped_weights() const;
  Value context() const;        ///< `(B, T, d_out)`, or as wide as all values: heads merged
  Value context_heads() const;  ///< `(B, H, T, head_dim)`, or `value_dim`
  Value y() const;              ///< `(B, T, d_proj)`, or the context
  Value weight(const std::string& name, const Matrix& matrix) const;
  Value bias(const std::string& name, const std::vector<float>& bias) const;
  /// Matrices and biases of query, key and value.
  std::vector<Value> projections() const;

  Axis batch_axis() const { return {"B", layer_.shape.batch}; }
  Axis heads_axis() const { return {"H", layer_.shape.heads}; }
  Axis head_dim_axis() const { return {"head_dim", layer_.shape.head_dim()}; }
  Axis tokens_axis() const { return {"T", layer_.shape.tokens, layer_.words}; }
  Axis width_axis() const { return {"d_out", layer_.shape.d_out}; }
  /// Those of what heads give; without values of another width the same as the query's.
  Axis value_dim_axis() const;
  Axis context_axis() const;
  /// Those of key and value; without groups of heads the same as the query's.
  Axis key_heads_axis() const;
  Axis kv_width_axis() const;

 private:
  const reference::Intermediates& at(Stage stage) const;
  Value projected(const char* name, const std::vector<double>& data) const;
  Value keyed(const char* name, const std::vector<double>& data) const;
  Value pairs(const char* name, const std::vector<double>& data) const;

  Layer layer_;
  reference::Intermediates seen_;
  reference::Intermediates unmasked_;
  // Where the layer has norms or rotary positions.
  std::optional<reference::Intermediates> projected_, between_;
};

}  // namespace headroom::lesson

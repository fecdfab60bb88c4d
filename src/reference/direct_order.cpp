#include "reference/layer.hpp"

namespace headroom::reference {

DirectOrder::DirectOrder(const Layer& layer, std::int64_t first, std::int64_t count)
    : layer_(layer),
      first_(first),
      key_(count * layer.shape.d_out),
      value_(count * layer.shape.d_out) {
  const SplitWeights& w = layer.weights;
  parallel_for(layer.threads, count, [&](std::int64_t t) {
    const float* x = layer.x.row(first + t);
    const std::int64_t at = t * layer.shape.d_out;
    apply(x, w.key, w.key_bias, key_.values.data() + at, key_.sizes.data() + at);
    apply(x, w.value, w.value_bias, value_.values.data() + at, value_.sizes.data() + at);
  });
}

MergedRow DirectOrder::attend(std::int64_t row) const {
  const std::int64_t width = layer_.shape.d_out;
  const std::int64_t head_dim = layer_.shape.head_dim();
  const std::int64_t first = layer_.sequence(row) * layer_.shape.tokens - first_;
  MergedRow merged(layer_.shape);
  Sized query(width);
  apply(layer_.x.row(row), layer_.weights.query, layer_.weights.query_bias, query.values.data(),
        query.sizes.data());
  const std::int64_t seen = layer_.visible(row);
  Doubles scores(index(seen));
  Doubles logits(index(seen));
  for (std::int64_t head = 0; head < layer_.shape.heads; ++head) {
    const std::int64_t column = head * head_dim;
    const std::int64_t start = first * width + column;
    const double* q = query.values.data() + column;
    const double* q_size = query.sizes.data() + column;
    for (std::int64_t j = 0; j < seen; ++j) {
      const std::int64_t at = start + j * width;
      const SizedDot score =
          sized_dot(q, q_size, key_.values.data() + at, key_.sizes.data() + at, head_dim);
      scores[index(j)] = layer_.scale * score.value;
      logits[index(j)] = layer_.scale / 2 * score.size;
    }
    weigh(layer_, row, head, scores, logits);
    const Block<double> value{value_.values.data() + start, seen, head_dim, width};
    const Block<double> size{value_.sizes.data() + start, seen, head_dim, width};
    add_product<kSigned>(scores.data(), value, merged.context.data() + column);
    add_product<kSigned>(logits.data(), size, merged.bound.data() + column);
  }
  return merged;
}

}  // namespace headroom::reference

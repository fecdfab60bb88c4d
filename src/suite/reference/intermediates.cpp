#include "reference/intermediates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "headroom/error.hpp"
#include "reference/layer.hpp"
#include "reference/oracle.hpp"

namespace headroom::reference {
namespace {

void copy_into(Doubles& table, std::int64_t at, const Doubles& values) {
  std::copy(values.begin(), values.end(), table.begin() + at);
}

void check_plain(const Case& shape) {
  if (shape.past == 0 && shape.d_memory == 0 && shape.lengths.empty()) return;
  throw InvalidArgument(
      fmt::format("oracle: the intermediate values of {} have no common shape; use a call without "
                  "a past, lengths or a second input",
                  shape.id()));
}

}  // namespace

Intermediates intermediates(const Case& shape, const SplitWeights& weights, ConstMatrixView x) {
  check_plain(shape);
  Intermediates all;
  all.y = attention(shape, weights, x, all_rows(shape), 1).y;  // checks its arguments as well
  const std::int64_t table = shape.batch * shape.heads * shape.tokens * shape.tokens;
  all.query.resize(index(shape.rows() * shape.d_out));
  all.context.resize(index(shape.rows() * shape.context_width()));
  all.scores.assign(index(table), -std::numeric_limits<double>::infinity());
  all.weights.resize(index(table));
  all.dropped.resize(index(table));
  if (shape.rows() == 0) return all;
  const Inputs inputs{.x = x};
  const Layer layer{shape, weights, inputs, 1};
  const DirectOrder order(layer, 0, shape.batch);
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    RowTrace trace;
    copy_into(all.context, row * shape.context_width(), order.attend(row, &trace).context);
    copy_into(all.query, row * shape.d_out, trace.query);
    const Place place = layer.place(row);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t line = (place.sequence * shape.heads + head) * shape.tokens;
      const std::int64_t at = (line + place.position) * shape.tokens + place.first_key;
      copy_into(all.scores, at, trace.scores[index(head)]);
      copy_into(all.weights, at, trace.weights[index(head)]);
      copy_into(all.dropped, at, trace.dropped[index(head)]);
    }
  }
  // With a window shorter than a call, every key is still seen by some row.
  all.key = order.keys();
  all.value = order.values();
  return all;
}

}  // namespace headroom::reference

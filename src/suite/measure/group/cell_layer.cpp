#include "measure/group/cell_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/call/cache_lengths.hpp"
#include "core/case_layer.hpp"
#include "core/element/convert.hpp"
#include "measure/group/past_chunks.hpp"

namespace headroom::measure {

using Clock = std::chrono::steady_clock;

std::optional<Choice> settle_auto(const Case& shape, AttentionOptions& options) {
  if (options.backend != kAuto) return std::nullopt;
  Choice choice = choose_for(shape, options);
  options.backend = choice.backend;
  options.formulation = choice.formulation;
  if (!options.precision) options.precision = choice.precision;
  return choice;
}

void require_cut(const Case& shape, const Numbers& numbers) {
  if (shape.past == 0 || shape.batch == 0 || numbers.stored_cache() != Storage::q8) return;
  for (std::int64_t i = 0; i < shape.batch; ++i) {
    try {
      check_rounded_truncation(i, shape.past + shape.length(i), shape.past);
    } catch (const InvalidArgument& error) {
      throw Unsupported(fmt::format("{}; choose a --past that is one", error.what()));
    }
  }
}

LocalLayer::LocalLayer(const Problem& problem, AttentionOptions options, std::int64_t fill_tokens)
    : problem_(problem),
      // The layer is made for more rows than the cell has.
      choice_(problem.shape.past == 0 ? std::nullopt : settle_auto(problem.shape, options)),
      attention_(layer_for(plan::layer_shape(problem.shape), problem.weights, options)) {
  const Case& shape = problem.shape;
  require_cut(shape, numbers());
  if (numbers().dtype == Dtype::bf16) {
    x_.resize(problem.x.values.size());
    y_.resize(static_cast<std::size_t>(shape.rows() * shape.output_width()));
    to_bf16(problem.x.values.data(), static_cast<std::int64_t>(x_.size()), x_.data());
  }
  if (shape.past == 0 || shape.batch == 0) return;
  cache_.emplace(attention_, CacheSize{shape.batch, shape.context()});
  const auto start = Clock::now();
  fill(fill_tokens);
  fill_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
}

void LocalLayer::fill(std::int64_t tokens) {
  for_each_chunk_of_past(problem_.shape, tokens,
                         [&](std::int64_t first, std::int64_t count, Call call) {
                           call.cache = &*cache_;
                           attention_.append(problem_.past.view().slice(first, count), call);
                         });
}

void LocalLayer::call(ConstMatrixView x, MatrixView y, PhaseTimes* times) {
  const Case& shape = problem_.shape;
  Call call;
  call.times = times;
  call.lengths = shape.lengths;
  call.context = shape.context();
  if (shape.d_memory > 0) call.memory = problem_.memory.view();
  if (cache_) {
    for (std::int64_t i = 0; i < shape.batch; ++i) cache_->truncate({i, shape.past});
    call.cache = &*cache_;
  }
  if (numbers().dtype == Dtype::bf16) {
    attention_.forward({x_.data(), shape.rows(), shape.d_in, shape.d_in},
                       {y_.data(), y.rows, y.cols, y.cols}, call);
  } else {
    attention_.forward(x, y, call);
  }
}

void LocalLayer::take(ConstMatrixView y) {
  if (y_.empty()) return;
  for (std::int64_t r = 0; r < y.rows; ++r) to_bf16(y.row(r), y.cols, y_.data() + r * y.cols);
}

void LocalLayer::give(MatrixView y) const {
  if (y_.empty()) return;
  for (std::int64_t r = 0; r < y.rows; ++r) from_bf16(y_.data() + r * y.cols, y.cols, y.row(r));
}

}  // namespace headroom::measure

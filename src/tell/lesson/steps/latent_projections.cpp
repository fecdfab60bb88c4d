#include "lesson/steps/latent_projections.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lesson/steps/rule_steps.hpp"
#include "lesson/texts/latent_texts.hpp"
#include "reference/latents.hpp"

namespace headroom::lesson {
namespace {

using Doubles = std::vector<double>;

// Columns of a matrix, head by head: `(H, rows, width)`.
Value by_heads(const LayerTrace& trace, const char* name, const Matrix& matrix, Axis rows,
               Axis width) {
  Value wide = make_value(name, {std::move(rows), {"width", matrix.cols}}, matrix.view());
  return swapped(unrolled(std::move(wide), 1, trace.heads_axis(), std::move(width)), 0);
}

/// The axes and values of one lesson.
class Latents {
 public:
  explicit Latents(const LayerTrace& trace)
      : trace_(trace),
        shape_(trace.shape()),
        rank_{"rank", shape_.latent.rank},
        shared_{"shared", shape_.latent.shared},
        query_rank_{"query_rank", shape_.latent.query_rank},
        own_{"own_dim", shape_.own_key_dim()},
        seen_(reference::latents(shape_, trace.layer().weights, trace.layer().x.view())) {}

  bool has_query_latent() const { return query_rank_.size > 0; }

  std::vector<Value> weights() const {
    const SplitWeights& w = trace_.layer().weights;
    const Axis d_in{"d_in", shape_.d_in};
    std::vector<Value> values{make_value(
        "W_latent", {d_in, {"rank + shared", shape_.latent_width()}}, w.key_down.view())};
    if (has_query_latent()) {
      values.push_back(make_value("W_query_latent", {d_in, query_rank_}, w.query_down.view()));
    }
    values.push_back(by_heads(trace_, "W_query", w.query, has_query_latent() ? query_rank_ : d_in,
                              trace_.head_dim_axis()));
    values.push_back(by_heads(trace_, "W_key", w.key, rank_, own_));
    values.push_back(by_heads(trace_, "W_value", w.value, rank_, trace_.value_dim_axis()));
    return values;
  }

  Value latent() const { return of_tokens("latent", seen_.key, 0, rank_); }
  Value normed_latent() const {
    return of_tokens("latent after its norm", seen_.normed_key, 0, rank_);
  }
  Value shared_key() const { return of_tokens("shared key", seen_.key, rank_.size, shared_); }
  Value turned_shared_key() const {
    return named(picked(part_of(key(), 3, own_.size, shared_), 1, 0), "turned shared key");
  }
  Value norm(const char* name, const std::vector<float>& weights, const Axis& axis) const {
    return make_value(name, {axis}, weights);
  }
  Step latent_norm() const {
    return make_step(
        texts::kLatentNorm,
        {norm("g_latent", trace_.layer().weights.key_down_norm, rank_), on_path(normed_latent())});
  }
  Step query_latent() const {
    return make_step(
        texts::kQueryLatent,
        {of_tokens("query latent", seen_.query, 0, query_rank_),
         norm("g_query_latent", trace_.layer().weights.query_down_norm, query_rank_),
         of_tokens("query latent after its norm", seen_.normed_query, 0, query_rank_)});
  }

  Value query(LayerTrace::Stage stage, const char* name) const {
    return named(
        swapped(unrolled(trace_.query(stage), 2, trace_.heads_axis(), trace_.head_dim_axis()), 1),
        name);
  }
  Value key() const {
    return swapped(unrolled(trace_.key(), 2, trace_.heads_axis(), trace_.head_dim_axis()), 1);
  }
  Value own_key() const { return named(part_of(key(), 3, 0, own_), "own key"); }
  Value value() const {
    return swapped(make_value("value",
                              {trace_.batch_axis(), trace_.tokens_axis(), trace_.heads_axis(),
                               trace_.value_dim_axis()},
                              trace_.seen().value),
                   1);
  }

 private:
  // Some columns of a row for each token.
  Value of_tokens(const char* name, const Doubles& rows, std::int64_t first,
                  const Axis& part) const {
    const std::int64_t width = static_cast<std::int64_t>(rows.size()) / shape_.rows();
    return part_of(
        make_value(name, {trace_.batch_axis(), trace_.tokens_axis(), {"width", width}}, rows), 2,
        first, part);
  }

  const LayerTrace& trace_;
  const Case& shape_;
  Axis rank_, shared_, query_rank_, own_;
  reference::Latents seen_;
};

}  // namespace

void add_latent_projections(Lesson& lesson, const LayerTrace& trace, const Text& weights) {
  using Stage = LayerTrace::Stage;
  const Latents latents(trace);
  std::vector<Step>& steps = lesson.steps;
  steps.push_back(make_step(weights, latents.weights()));
  steps.push_back(make_step(texts::kToLatent, {on_path(latents.latent()), latents.shared_key()}));
  steps.push_back(latents.latent_norm());
  if (latents.has_query_latent()) steps.push_back(latents.query_latent());
  steps.push_back(make_step(texts::kLatentQueries, {latents.query(Stage::projected, "query")}));
  steps.push_back(make_step(texts::kExpand, {on_path(latents.own_key()), latents.value()}));
  steps.push_back(make_step(
      texts::kTurnShared,
      {angles(trace), latents.query(Stage::scored, "turned query"), latents.turned_shared_key()}));
  add_stretch(lesson, trace);
  steps.push_back(make_step(texts::kJoinKeys, {on_path(latents.key())}));
}

}  // namespace headroom::lesson

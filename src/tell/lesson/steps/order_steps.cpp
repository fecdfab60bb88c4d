#include "lesson/steps/order_steps.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lesson/texts/latent_texts.hpp"
#include "plan/shapes/models.hpp"
#include "reference/latents.hpp"

namespace headroom::lesson {
namespace {

constexpr const char* kPublished = "DeepSeek V3";
constexpr std::int64_t kPublishedTokens = 8192;

LayerConfig published() {
  const plan::ShapeSeed seed = plan::model_shape("deepseek-v3");
  LayerConfig config = seed.rules;
  config.d_in = config.d_proj = seed.d_model;
  config.heads = seed.heads;
  config.d_out = seed.heads * seed.head_dim;
  return config;
}

std::string times_less(std::int64_t more, std::int64_t less) {
  return fmt::format("{:.1f}", static_cast<double>(more) / static_cast<double>(less));
}

std::int64_t plain_width(const LayerConfig& layer) {
  return layer.heads * (layer.head_dim() + layer.head_value_dim());
}

/// A column of the table of what a cache keeps.
std::vector<std::string> cache_of(const LayerConfig& layer) {
  return {fmt::format("{} + {} = {}", layer.latent.rank, layer.latent.shared, layer.latent_width()),
          fmt::format("{} x ({} + {}) = {}", layer.heads, layer.head_dim(), layer.head_value_dim(),
                      plain_width(layer)),
          times_less(plain_width(layer), layer.latent_width())};
}

/// Multiply-adds of a new token's attention over `tokens`, its own included, but for those that
/// both orders have: x to latents and queries, and the output projection.
struct StepWork {
  std::int64_t expanded, absorbed;

  StepWork(const LayerConfig& layer, std::int64_t tokens) {
    const std::int64_t rank = layer.latent.rank;
    const std::int64_t both = layer.own_key_dim() + layer.head_value_dim();
    const std::int64_t key_and_value = layer.head_dim() + layer.head_value_dim();
    expanded = layer.heads * tokens * (rank * both + key_and_value);
    absorbed = layer.heads * (rank * both + tokens * (layer.latent_width() + rank));
  }
};

std::vector<std::string> work_of(const LayerConfig& layer, std::int64_t tokens) {
  const StepWork work(layer, tokens);
  return {fmt::format("{}", work.expanded), fmt::format("{}", work.absorbed),
          times_less(work.expanded, work.absorbed)};
}

// Rows of what is counted, a column for each layer.
Table side_by_side(std::string caption, const std::vector<std::string>& columns,
                   const std::vector<std::string>& rows,
                   const std::vector<std::vector<std::string>>& counted) {
  Table table{std::move(caption), {""}, {}};
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::string>& row = table.rows.emplace_back(1, rows[r]);
    for (const std::vector<std::string>& column : counted) row.push_back(column[r]);
  }
  return table;
}

Value difference(const std::vector<double>& a, const std::vector<double>& b) {
  return make_value("largest difference", {}, std::vector{largest_difference(a, b)});
}

// What the layer shows of the first sequence's last token.
std::vector<double> context_of(const LayerTrace& trace, std::int64_t row) {
  const Value rows = flattened(trace.context(), 0, {"rows", trace.shape().rows()});
  return picked(rows, 0, row).data;
}

}  // namespace

void add_absorbed_order(Lesson& lesson, const LayerTrace& trace) {
  const Case& shape = trace.shape();
  const Layer& layer = trace.layer();
  const std::int64_t last = shape.tokens - 1;
  const reference::AbsorbedRow row =
      reference::absorbed_row(shape, layer.weights, trace.seen(),
                              reference::latents(shape, layer.weights, layer.x.view()), last);
  const Axis heads = trace.heads_axis(), rank{"rank", shape.latent.rank};
  const std::vector<Axis> by_token{trace.tokens_axis(), heads};
  lesson.steps.push_back(make_step(texts::kAbsorbedScores,
                                   {make_value("q W_key^T", {heads, rank}, row.query),
                                    make_value("q (latent W_key)^T", by_token, row.expanded_scores),
                                    make_value("(q W_key^T) latent^T", by_token, row.scores),
                                    difference(row.expanded_scores, row.scores)}));
  const std::vector<Axis> of_values{heads, trace.value_dim_axis()};
  const std::vector<double> context = context_of(trace, last);
  lesson.steps.push_back(make_step(texts::kAbsorbedContext,
                                   {make_value("weights latent", {heads, rank}, row.latent),
                                    make_value("weights (latent W_value)", of_values, context),
                                    make_value("(weights latent) W_value", of_values, row.context),
                                    difference(context, row.context)}));
  const LayerConfig model = published();
  Step cache = make_step(texts::kCacheOfLatents, {});
  cache.table =
      side_by_side("Numbers that a cache keeps of a token", {"this layer", kPublished},
                   {"latent and shared key", "keys and values of all heads", "times less"},
                   {cache_of(shape), cache_of(model)});
  lesson.steps.push_back(std::move(cache));
  Step work = make_step(texts::kTwoOrders, {});
  work.table = side_by_side("Multiply-adds of a step's attention",
                            {fmt::format("this layer, {} tokens", shape.tokens),
                             fmt::format("{}, {} tokens", kPublished, kPublishedTokens)},
                            {"expanded", "absorbed", "times less"},
                            {work_of(shape, shape.tokens), work_of(model, kPublishedTokens)});
  lesson.steps.push_back(std::move(work));
}

}  // namespace headroom::lesson

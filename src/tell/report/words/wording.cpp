#include "report/words/wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "judge/core_rate.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"

namespace headroom::report {
namespace {

std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string in_words(const nlohmann::ordered_json& value, const char* otherwise) {
  if (value.is_null()) return otherwise;
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (!value.is_structured()) return headroom::to_text(value);
  std::vector<std::string> parts;
  for (const auto& [name, field] : value.items()) {
    parts.push_back((value.is_object() ? name + " " : "") + in_words(field, otherwise));
  }
  return fmt::format("{}", fmt::join(parts, value.is_object() ? "; " : ", "));
}

std::string times(double ratio) { return three_digits(ratio) + " ×"; }

std::string range(const statistics::Interval& interval) {
  return fmt::format("{} to {}", three_digits(interval.low), three_digits(interval.high));
}

std::string name_of(const record::CellResult& result) {
  std::string name = fmt::format("{}/{}", result.cell.backend, result.way());
  if (result.cell.numbers == Numbers{}) return name;
  return fmt::format("{} {}", name, headroom::to_string(result.cell.numbers));
}

std::string rows_checked(const record::CellResult& result) {
  if (!result.error || result.checked_rows >= result.shape.rows()) return "";
  return fmt::format("{} of {} rows", result.checked_rows, result.shape.rows());
}

namespace {

// What models add, as far as shapes of a page may differ in nothing else.
std::string rules_of(const Case& shape) {
  std::string rules;
  if (shape.chunk > 0) rules += fmt::format(", chunk {}", shape.chunk);
  if (shape.scale > 0) rules += fmt::format(", scale {}", shape.scale);
  if (shape.softcap > 0) rules += fmt::format(", cap {}", shape.softcap);
  if (shape.sinks) rules += ", sinks";
  if (shape.norm.over != QueryKeyNorm::Over::none) rules += ", normalised";
  if (shape.position_bias.kind != PositionBias::Kind::none) rules += ", biased by position";
  if (shape.gate) rules += ", gated";
  if (shape.outliers > 0) rules += fmt::format(", outliers of {}", shape.outliers);
  return rules;
}

// @param width what is said of it
std::string named(const Case& shape, const std::string& width) {
  std::string name = counted(shape.tokens, "token");
  if (shape.past > 0) name += fmt::format(" after {}", shape.past);
  name += ", " + width;
  if (shape.key_heads() != shape.heads) name += ", " + counted(shape.key_heads(), "key head");
  if (shape.window > 0) name += fmt::format(", window {}", shape.window);
  name += rules_of(shape);
  if (shape.batch != 1) fmt::format_to(std::back_inserter(name), ", batch {}", shape.batch);
  if (!shape.has_projections()) {
    name += ", attention alone";
  } else if (shape.d_in != shape.d_out) {
    fmt::format_to(std::back_inserter(name), ", input {}", shape.d_in);
  }
  return name;
}

}  // namespace

std::string name_of(const Case& shape) {
  return named(shape, fmt::format("width {}", shape.d_out));
}

std::string name_of(const SplitGains& series) {
  const Case& first = series.by_heads.front().shape->shape;
  if (series.of_width) return name_of(first);
  return named(first, fmt::format("heads of {}", first.head_dim()));
}

std::string name_with_heads(const Case& shape) {
  return fmt::format("{}, {}", counted(shape.heads, "head"), name_of(shape));
}

std::string name_of(const ShapeFindings& shape) {
  std::string name = name_with_heads(shape.shape);
  Numbers exact = shape.numbers;
  exact.weights.reset();
  if (exact != Numbers{}) name += fmt::format(", as exact as {}", headroom::to_string(exact));
  if (shape.numbers.weights) {
    name += fmt::format(", weights stored as {}", to_string(*shape.numbers.weights));
  }
  return name;
}

Prose listed(const std::vector<std::string>& names, Piece (*mark)(std::string)) {
  Prose prose;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) prose.push_back(plain(i + 1 == names.size() ? " and " : ", "));
    prose.push_back(mark(names[i]));
  }
  return prose;
}

void append(Prose& prose, Prose more) {
  prose.insert(prose.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

std::optional<Share> share_of_limit(const record::ResultsFolder& folder,
                                    const record::CellResult& result, const record::Peaks& roofs) {
  const std::optional<Roof> roof = roof_of(folder, result, roofs);
  if (roof && roof->memory_bound) {
    Share share{result.gflops / roof->gflops, true};
    share.of_working_set = roof->of_working_set;
    return share;
  }
  // The rate measured beside each sample, not the one measured once: the clock drifts.
  if (result.control && result.cell.numbers.precision == Precision::f32) {
    Share share{record::share_of_rates(result.shape.flops().total() / result.cell.ranks,
                                       result.time.samples, result.control->gflops)};
    share.of_tiles = result.tile_fraction;
    share.limit = show::Limit::beside;
    return share;
  }
  if (!roof) return std::nullopt;
  Share share{result.gflops / roof->fma_gflops, false};
  share.precision = result.cell.numbers.precision;
  share.limit = show::arithmetic_limit(result);
  return share;
}

std::string arithmetic_words(const Share& share) {
  if (share.precision == Precision::f32) return "multiply-adds";
  return fmt::format("products of {}", to_string(share.precision));
}

std::string limit_words(const Share& share, show::Shares& shares) {
  std::string words = fmt::format("{} of {}", shares.text(share.value, share.limit),
                                  share.of_memory ? "memory" : arithmetic_words(share));
  if (!share.of_tiles) return words;
  return fmt::format("{}, {} of tiles", words, shares.text(*share.of_tiles, share.limit));
}

std::string threads_words(const record::CellResult& result, const record::Peaks& roofs) {
  const auto cores = judge::too_few_cores(result, roofs);
  if (!cores) return fmt::format("{}", result.threads);
  return fmt::format("{} (as {:.1f} cores)", result.threads, *cores);
}

statistics::Interval share_ci95(const Share& share, const record::CellResult& result) {
  const bool by_control =
      !share.of_memory && result.control && result.cell.numbers.precision == Precision::f32;
  const statistics::SamplesByProcess work = record::samples_of(result, by_control);
  const statistics::Interval ci95 = statistics::bootstrap_median_ci95(work, 1);
  const double middle = statistics::pooled_median(work);
  return {share.value * middle / ci95.high, share.value * middle / ci95.low};
}

}  // namespace headroom::report

#include "pick/candidates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/call/demand.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "judge/competes.hpp"
#include "program/exit_code.hpp"
#include "program/numbers.hpp"
#include "tuning/distance.hpp"

namespace headroom::pick {
namespace {

using record::CellResult;
using record::Status;

template <class T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

template <class T>
bool allowed(const std::vector<T>& values, const T& value) {
  return values.empty() || contains(values, value);
}

// The option that excludes a result; empty if none does.
std::string kept_out_by(const CellResult& result, const Filters& filters) {
  const plan::Cell& cell = result.cell;
  if (!allowed(filters.backends, cell.backend)) return "--backend";
  if (contains(filters.without, cell.backend)) return "--without";
  if (!allowed(filters.formulations, cell.formulation)) return "--formulation";
  if (result.threads > 1 && !allowed(filters.threads, result.threads)) return "--threads";
  if (!allowed(filters.precisions, cell.numbers.precision)) return "--precision";
  if (filters.max_error) {
    if (result.error && !(result.whole_error() <= *filters.max_error)) return "--max-error";
  } else if (filters.precisions.empty() &&
             accuracy_class(cell.numbers.precision) != Precision::f32) {
    return "the accuracy of f32 (--max-error allows less)";
  }
  if (!filters.isa.empty() && result.isa != "baseline" && result.isa != filters.isa) return "--isa";
  if (!filters.unit.empty() && result.unit != "none" && result.unit != filters.unit) {
    return "--unit";
  }
  if (filters.max_packed_bytes && result.costs &&
      result.costs->packed_bytes > *filters.max_packed_bytes) {
    return "--max-packed-bytes";
  }
  return "";
}

bool stores(const CellResult& result, const Filters& filters) {
  return contains(filters.stored, result.cell.numbers.as_stored());
}

// What is picked has a formulation, and is linked as one process.
bool is_of_layer(const CellResult& result, const Filters& filters) {
  return stores(result, filters) && result.cell.ranks == 1 && result.shape.has_projections();
}

[[noreturn]] void fail_missing(const record::ResultsFolder& folder, const Case& wanted,
                               std::vector<Case> shapes) {
  constexpr std::size_t kMost = 3;
  const auto how_far = [&](const Case& shape) {
    return std::make_pair(demand_of(shape) != demand_of(wanted), tuning::distance(shape, wanted));
  };
  std::stable_sort(shapes.begin(), shapes.end(),
                   [&](const Case& a, const Case& b) { return how_far(a) < how_far(b); });
  std::vector<std::string> names;
  for (const Case& shape : shapes) {
    if (names.size() < kMost) names.push_back(shape.id());
  }
  throw InvalidArgument(
      fmt::format("{} has no results for {}; nearest {}: {}; choose one of them or omit --from",
                  shown_path(folder.path), wanted.id(), names.size() == 1 ? "is" : "are",
                  fmt::join(names, ", ")));
}

std::string text_of(const std::map<std::string, int>& kept_out) {
  std::string text;
  for (const auto& [option, count] : kept_out) {
    text += fmt::format("{}{} {}", text.empty() ? "excluded by " : ", by ", option, count);
  }
  return text;
}

// There is no candidate. The cause decides the exit code.
[[noreturn]] void fail_empty(const Case& shape, const std::vector<const CellResult*>& without_time,
                             const std::map<std::string, int>& kept_out) {
  if (without_time.empty()) {
    throw InvalidArgument(
        fmt::format("no candidate for {} remains: {}; allow more", shape.id(), text_of(kept_out)));
  }
  const auto severity = [](const CellResult* result) {
    if (record::is_broken(result->status)) return 2;
    return result->status == Status::skipped ? 1 : 0;
  };
  const CellResult& told = **std::max_element(
      without_time.begin(), without_time.end(),
      [&](const CellResult* a, const CellResult* b) { return severity(a) < severity(b); });
  const std::string why = told.has_time()
                              ? judge::why_not_verified(told)
                              : fmt::format("{} ({})", to_string(told.status), told.reason);
  std::string message = fmt::format("no candidate for {} has a verified time: {} {}; {} have none",
                                    shape.id(), told.cell.id, why, without_time.size());
  if (!kept_out.empty()) message += "; " + text_of(kept_out);
  if (severity(&told) == 2) throw std::runtime_error(message);
  if (severity(&told) == 1) throw ResourceError(message);
  throw Unavailable(message);
}

// What is picked is written into CMake and C++, so that nothing else may stand in a name.
void require_name(const record::ResultsFolder& folder, const CellResult& result) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (result.cell.backend.find_first_not_of(kAllowed) == std::string::npos) return;
  throw FileError(
      fmt::format("{}: the backend of {} is '{}'; a name has letters, digits, '_' and '-'; restore "
                  "the folder from a copy or measure again",
                  shown_path(folder.path), result.cell.id, result.cell.backend));
}

std::string words_of(const std::vector<Numbers>& stored) {
  std::vector<std::string> words;
  for (const Numbers& numbers : stored) words.push_back(stored_words(numbers));
  return fmt::format("{}", fmt::join(words, " or "));
}

[[noreturn]] void fail_without_shapes(const record::ResultsFolder& folder, const Filters& filters) {
  const auto has = [&](const auto& what) {
    return std::any_of(folder.results.begin(), folder.results.end(), [&](const CellResult& result) {
      return stores(result, filters) && what(result);
    });
  };
  if (has([](const CellResult& result) { return !result.shape.has_projections(); })) {
    throw InvalidArgument(
        fmt::format("{} has only cells of attention alone that pick could judge, and pick chooses "
                    "for layers; measure --op layer as well, or read its report",
                    shown_path(folder.path)));
  }
  if (has([](const CellResult& result) { return result.cell.ranks > 1; })) {
    throw InvalidArgument(
        fmt::format("{} has only cells of several ranks, and pick judges those of one, because "
                    "a program is linked as one process; measure --ranks 1 as well",
                    shown_path(folder.path)));
  }
  throw InvalidArgument(fmt::format(
      "{} has no results that store {}; choose another --dtype, --weights-dtype or --cache-dtype",
      shown_path(folder.path), words_of(filters.stored)));
}

}  // namespace

Collector::Collector(const record::ResultsFolder& folder, const Filters& filters)
    : folder_(&folder), filters_(&filters) {
  std::set<std::string> known;
  for (const CellResult* result : in_order(folder)) {
    std::string id = result->shape.id();
    if (is_of_layer(*result, filters) && known.insert(id).second) shapes_.push_back(result->shape);
    by_shape_[std::move(id)].push_back(result);
  }
}

bool Collector::has(const Case& shape) const { return by_shape_.contains(shape.id()); }

ShapePick Collector::of(const Case& shape) const {
  const record::ResultsFolder& folder = *folder_;
  const Filters& filters = *filters_;
  ShapePick found;
  found.shape = shape;
  std::vector<const CellResult*> without_time;
  std::map<std::string, int> kept_out;
  bool any = false;
  const auto own = by_shape_.find(shape.id());
  for (const CellResult* result : own == by_shape_.end() ? Results{} : own->second) {
    // The backend that auto chose is in the results under its own name as well.
    if (result->cell.backend == kAuto) continue;
    if (!stores(*result, filters) || result->cell.ranks > 1) continue;
    if (result->peer) {
      if (result->has_time()) found.peers.push_back(result);
      continue;
    }
    any = true;
    const std::string option = kept_out_by(*result, filters);
    if (!option.empty()) {
      ++kept_out[option];
      const double storing = result->storage_error.value_or(0);
      if (filters.max_error && storing > *filters.max_error) {
        found.too_far.emplace(result->cell.numbers.as_stored(), storing);
      }
    } else if (judge::verified(*result)) {
      require_name(folder, *result);
      found.candidates.push_back({result, {}});
    } else {
      without_time.push_back(result);
      found.left_out.push_back(
          fmt::format("{} {}", result->cell.id, judge::why_not_verified(*result)));
    }
  }
  if (!any) fail_missing(folder, shape, shapes_);
  if (found.candidates.empty()) fail_empty(shape, without_time, kept_out);
  return found;
}

std::vector<ShapePick> collect(const record::ResultsFolder& folder, const std::vector<Case>& shapes,
                               const Filters& filters) {
  const Collector collector(folder, filters);
  if (collector.shapes().empty()) fail_without_shapes(folder, filters);
  std::vector<ShapePick> picks;
  for (const Case& shape : shapes.empty() ? collector.shapes() : shapes) {
    picks.push_back(collector.of(shape));
  }
  return picks;
}

}  // namespace headroom::pick

#include "plan/axes/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/nearest.hpp"
#include "core/text/trimmed.hpp"
#include "headroom/attention.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "json/shape_json.hpp"
#include "plan/axis.hpp"
#include "plan/cell.hpp"
#include "processor/cores.hpp"

namespace headroom::plan {
namespace {

// Every length is part of the name of a cell.
constexpr std::size_t kMaxLengths = 1000;

// One of `known`. @param what it is, for the message
template <class Value, class ParseName>
Value one_of(std::string_view option, std::string_view what, const std::string& name,
             ParseName parse_name, const std::vector<std::string>& known) {
  const std::optional<Value> value = parse_name(name);
  if (value) return *value;
  throw InvalidArgument(
      fmt::format("{}: unknown {} '{}'; {}", option, what, name, suggest(name, known)));
}

template <class Value>
std::vector<std::string> or_all(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value each : values) names.emplace_back(to_string(each));
  names.emplace_back("all");
  return names;
}

const std::vector<Formulation> kEveryFormulation{Formulation::wrapper, Formulation::split,
                                                 Formulation::fused};
const std::vector<Precision> kEveryPrecision{kAllPrecisions.begin(), kAllPrecisions.end()};
const std::vector<Dtype> kEveryDtype{Dtype::f32, Dtype::bf16};
const std::vector<Storage> kEveryStorage{Storage::f32, Storage::bf16, Storage::q8, Storage::q4};
const std::vector<Storage> kEveryCache{Storage::f32, Storage::bf16, Storage::q8};
const std::vector<Op> kEveryOp{Op::layer, Op::attention};
const std::vector<std::string> kPairs{"none", "halves", "neighbours"};
const std::vector<std::string> kOvers{"none", "head", "width"};
const std::vector<std::string> kIsas{"sse4.2", "avx2", "avx512", "neon"};
const std::vector<std::string> kOrders{"out-in", "in-out"};

// Names of values, or `all` for every one of them.
template <class Value, class ParseName>
std::vector<Value> some_of(std::string_view option, std::string_view what, const std::string& text,
                           const std::vector<Value>& all, ParseName parse_name) {
  const std::vector<std::string> known = or_all(all);
  std::vector<Value> chosen;
  for (const std::string& name : split_names(option, text)) {
    if (name == "all") return all;
    chosen.push_back(one_of<Value>(option, what, name, parse_name, known));
  }
  return chosen;
}

std::optional<Storage> parse_cache(std::string_view name) {
  const std::optional<Storage> storage = parse_storage(name);
  return storage == Storage::q4 ? std::nullopt : storage;
}

}  // namespace

std::vector<std::string> op_names() { return or_all(kEveryOp); }
std::vector<std::string> pairs_names() { return kPairs; }
std::vector<std::string> over_names() { return kOvers; }
std::vector<std::string> formulation_names() { return or_all(kEveryFormulation); }
std::vector<std::string> dtype_names() { return or_all(kEveryDtype); }
std::vector<std::string> storage_names() { return or_all(kEveryStorage); }
std::vector<std::string> cache_names() { return or_all(kEveryCache); }
std::vector<std::string> isa_names() { return kIsas; }
std::vector<std::string> order_names() { return kOrders; }

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendInfo& info : backends()) names.push_back(info.name);
  names.insert(names.end(), {std::string(kAuto), "all"});
  return names;
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names = or_all(kEveryPrecision);
  names.insert(std::prev(names.end()), std::string(kAnyLikeF32));
  return names;
}

std::vector<std::vector<std::int64_t>> lengths_of(std::string_view option,
                                                  const std::string& text) {
  std::vector<std::int64_t> lengths = parse_numbers(option, text, 0);
  if (lengths.size() > kMaxLengths) {
    throw InvalidArgument(fmt::format("{}: there are {} lengths; the limit is {}", option,
                                      lengths.size(), kMaxLengths));
  }
  return {std::move(lengths)};
}

std::vector<Op> ops_of(std::string_view option, const std::string& text) {
  return some_of(option, "operation", text, kEveryOp, parse_op);
}

std::vector<Rotary::Pairs> pairs_of(std::string_view option, const std::string& text) {
  return {one_of<Rotary::Pairs>(option, "pairs", text, parse_pairs, kPairs)};
}

std::vector<QueryKeyNorm::Over> over_of(std::string_view option, const std::string& text) {
  return {one_of<QueryKeyNorm::Over>(option, "norm", text, parse_over, kOvers)};
}

std::vector<double> positives_of(std::string_view option, const std::string& text) {
  const double value = parse_real(option, text);
  if (value > 0) return {value};
  throw InvalidArgument(
      fmt::format("{}: '{}' is not allowed; give a number above 0", option, text));
}

std::vector<Formulation> formulations_of(std::string_view option, const std::string& text) {
  return some_of(option, "formulation", text, kEveryFormulation, parse_formulation);
}

std::vector<std::optional<Precision>> precisions_of(std::string_view option,
                                                    const std::string& text) {
  std::vector<std::optional<Precision>> chosen;
  for (const std::string& name : split_names(option, text)) {
    if (name == "all") return {kEveryPrecision.begin(), kEveryPrecision.end()};
    chosen.push_back(one_of<std::optional<Precision>>(option, "precision", name,
                                                      parse_asked_precision, precision_names()));
  }
  return chosen;
}

std::vector<Dtype> dtypes_of(std::string_view option, const std::string& text) {
  return some_of(option, "dtype", text, kEveryDtype, parse_dtype);
}

std::vector<Storage> storages_of(std::string_view option, const std::string& text) {
  return some_of(option, "dtype", text, kEveryStorage, parse_storage);
}

std::vector<Storage> caches_of(std::string_view option, const std::string& text) {
  return some_of(option, "dtype", text, kEveryCache, parse_cache);
}

std::vector<Isa> isa_of(std::string_view option, const std::string& text) {
  const std::vector<std::string>& units = unit_names();
  if (std::find(units.begin(), units.end(), lower_case(text)) != units.end()) {
    throw InvalidArgument(fmt::format(
        "{}: '{}' is not an instruction set but a unit that multiplies parts; give --unit {}",
        option, text, lower_case(text)));
  }
  return {one_of<Isa>(option, "instruction set", text, parse_isa, kIsas)};
}

std::vector<Unit> unit_of(std::string_view option, const std::string& text) {
  if (std::find(kIsas.begin(), kIsas.end(), lower_case(text)) != kIsas.end()) {
    throw InvalidArgument(
        fmt::format("{}: '{}' is not a unit but an instruction set; give --isa {}", option, text,
                    lower_case(text)));
  }
  return {one_of<Unit>(option, "unit", text, parse_unit, unit_names())};
}

std::vector<double> probability_of(std::string_view option, const std::string& text) {
  const double probability = parse_real(option, text);
  if (probability >= 0 && probability < 1) return {probability};
  throw InvalidArgument(fmt::format(
      "{}: '{}' is not a valid probability; give at least 0 and less than 1", option, text));
}

std::vector<ShapeSeed> models_of(std::string_view option, const std::string& text) {
  std::vector<ShapeSeed> seeds;
  for (const std::string& name : split_names(option, text)) seeds.push_back(model_shape(name));
  return seeds;
}

std::vector<ShapeSeed> presets_of(std::string_view option, const std::string& text) {
  std::vector<ShapeSeed> seeds;
  for (const std::string& name : split_names(option, text)) {
    for (ShapeSeed& seed : preset_shapes(name)) seeds.push_back(std::move(seed));
  }
  return seeds;
}

std::vector<std::string> as_typed(std::string_view /*option*/, const std::string& text) {
  return {text};
}

std::vector<std::pair<std::string, std::string>> part_of(std::string_view option,
                                                         const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw InvalidArgument(
        fmt::format("{}: '{}' is not PART=NAME, such as query=layer.0.wq", option, text));
  }
  return {{text.substr(0, equals), text.substr(equals + 1)}};
}

std::vector<Stored> order_of(std::string_view option, const std::string& text) {
  const auto parse = [](const std::string& name) {
    return name == "out-in"   ? std::optional(Stored::out_in)
           : name == "in-out" ? std::optional(Stored::in_out)
                              : std::nullopt;
  };
  return {one_of<Stored>(option, "order", text, parse, kOrders)};
}

std::vector<std::string> split_names(std::string_view option, std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view name = trimmed(text.substr(start, comma - start));
    if (name.empty()) {
      throw InvalidArgument(fmt::format(
          "{}: '{}' contains an empty name; give names separated by commas, or all", option, text));
    }
    if (const std::size_t blank = name.find_first_of(kBlanks); blank != std::string_view::npos) {
      throw InvalidArgument(
          fmt::format("{}: '{}' has a blank where a comma must be; give names as in {},{}", option,
                      text, name.substr(0, blank), name.substr(name.find_last_of(kBlanks) + 1)));
    }
    names.emplace_back(name);
    start = comma + 1;
  }
  return names;
}

}  // namespace headroom::plan

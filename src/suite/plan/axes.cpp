#include "plan/axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/nearest.hpp"
#include "core/text/trimmed.hpp"
#include "headroom/attention.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "json/shape_json.hpp"
#include "plan/cell.hpp"
#include "processor/cores.hpp"
#include "program/numbers.hpp"

namespace headroom::plan {
namespace {

// Every length is part of the name of a cell.
constexpr std::size_t kMaxLengths = 1000;

template <std::int64_t least>
std::vector<std::int64_t> numbers(std::string_view option, const std::string& text) {
  return parse_numbers(option, text, least);
}

template <int most>
std::vector<int> counts(std::string_view option, const std::string& text) {
  std::vector<int> all;
  for (const std::int64_t count : parse_numbers(option, text)) {
    if (count > most) {
      throw InvalidArgument(
          fmt::format("{}: {} is too many; the limit is {}", option, count, most));
    }
    all.push_back(static_cast<int>(count));
  }
  return all;
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

std::vector<std::string> backend_choices() {
  std::vector<std::string> names;
  for (const BackendInfo& info : backends()) names.push_back(info.name);
  names.insert(names.end(), {std::string(kAuto), "all"});
  return names;
}

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

std::vector<BackendChoice> backends_of(std::string_view option, const std::string& text) {
  std::vector<BackendChoice> chosen;
  for (const std::string& name : split_names(option, text)) {
    if (name == "all") {
      for (BackendChoice& each : every_backend()) chosen.push_back(std::move(each));
    } else if (name == kAuto) {
      chosen.push_back({std::string(kAuto), true, true});
    } else {
      const BackendInfo info = find_backend(name);
      chosen.push_back({info.name, info.threaded, info.uses_isa});
    }
  }
  return chosen;
}

std::vector<Formulation> formulations_of(std::string_view option, const std::string& text) {
  return some_of(option, "formulation", text, kEveryFormulation, parse_formulation);
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names = or_all(kEveryPrecision);
  names.insert(std::prev(names.end()), std::string(kAnyLikeF32));
  return names;
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

std::optional<Storage> parse_cache(std::string_view name) {
  const std::optional<Storage> storage = parse_storage(name);
  return storage == Storage::q4 ? std::nullopt : storage;
}

std::vector<Storage> caches_of(std::string_view option, const std::string& text) {
  return some_of(option, "dtype", text, kEveryCache, parse_cache);
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

std::vector<Isa> isa_of(std::string_view option, const std::string& text) {
  const std::vector<std::string>& units = unit_names();
  if (std::find(units.begin(), units.end(), lower_case(text)) != units.end()) {
    throw InvalidArgument(fmt::format(
        "{}: '{}' is no instruction set but a unit that multiplies parts; give --unit {}", option,
        text, lower_case(text)));
  }
  return {one_of<Isa>(option, "instruction set", text, parse_isa, kIsas)};
}

std::vector<Unit> unit_of(std::string_view option, const std::string& text) {
  if (std::find(kIsas.begin(), kIsas.end(), lower_case(text)) != kIsas.end()) {
    throw InvalidArgument(fmt::format("{}: '{}' is no unit but an instruction set; give --isa {}",
                                      option, text, lower_case(text)));
  }
  return {one_of<Unit>(option, "unit", text, parse_unit, unit_names())};
}

std::vector<Stored> order_of(std::string_view option, const std::string& text) {
  const auto parse = [](const std::string& name) {
    return name == "out-in"   ? std::optional(Stored::out_in)
           : name == "in-out" ? std::optional(Stored::in_out)
                              : std::nullopt;
  };
  return {one_of<Stored>(option, "order", text, parse, kOrders)};
}

std::vector<double> positives_of(std::string_view option, const std::string& text) {
  const double value = parse_real(option, text);
  if (value > 0) return {value};
  throw InvalidArgument(
      fmt::format("{}: '{}' is not allowed; give a number above 0", option, text));
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

AxisWords list(const char* name, const char* help) {
  return {.name = name, .help = help, .value = "LIST"};
}

AxisWords size_list(const char* name, const char* help) {
  return {.name = name, .help = help, .value = "LIST", .sets_size = true};
}

AxisWords of_weights(const char* name, const char* help) {
  return {.name = name, .help = help, .says_weights = true};
}

constexpr const char* kSome = "NAMES";  // separated by commas

}  // namespace

Axes::Axes()
    : op({.name = "op",
          .help = "layer (default), attention over queries, keys and values that are given, or all",
          .choices = or_all(kEveryOp),
          .op = true},
         ops_of),
      heads(size_list("heads", "heads H"), numbers<1>),
      tokens(size_list("tokens", "tokens T per sequence"), numbers<0>),
      batch(size_list("batch", "sequences B (default 1)"), numbers<0>),
      d_model(size_list("d-model", "total width of all heads"), numbers<1>),
      head_dim(size_list("head-dim", "width of one head (default 64 if only --heads is given)"),
               numbers<1>),
      d_in({.name = "d-in",
            .help = "width of the input (default: the model's width)",
            .value = "LIST",
            .sets_size = true,
            .of_layer = true},
           numbers<1>),
      kv_heads(size_list("kv-heads",
                         "heads of keys and values, a divisor of the heads (default: the model's, "
                         "or as many)"),
               numbers<1>),
      window(size_list("window",
                       "keys that a token sees at most, its own included (default: the model's, or "
                       "all)"),
             numbers<1>),
      past(size_list("past", "tokens that are in the cache before the call (default 0)"),
           numbers<0>),
      lengths({.name = "lengths",
               .help = "tokens of each sequence of one ragged batch, such as 1,17,64; not an axis, "
                       "and given instead of --batch and --tokens",
               .value = "LIST",
               .sets_size = true,
               .of_layer = true},
              lengths_of),
      rotary({.name = "rotary",
              .help = "rotary positions of queries and keys: none, halves or neighbours (default: "
                      "the model's, or none)",
              .choices = kPairs,
              .of_layer = true},
             pairs_of),
      qk_norm(
          {.name = "qk-norm",
           .help = "root-mean-square norm of queries and keys: none, head or width (default: the "
                   "model's, or none)",
           .choices = kOvers,
           .of_layer = true},
          over_of),
      scale({.name = "scale",
             .help = "what scores are multiplied by (default: the model's, or 1 / sqrt(head_dim))",
             .value = "S"},
            positives_of),
      softcap({.name = "softcap",
               .help = "cap of scores, c * tanh(score / c) (default: the model's, or none)",
               .value = "C"},
              positives_of),
      outliers(
          list("outliers",
               "how many times as large as others one channel in 64 of x and of each head's keys "
               "is, such as 1,300,10000; what it is multiplied with is as many times smaller "
               "(default 1: no outliers)"),
          numbers<1>),
      threads(list("threads", "threads (default: every allowed core)"), counts<kMaxThreads>),
      ranks({.name = "ranks",
             .help = "processes that share the heads, started by mpirun -n (default 1)",
             .value = "LIST",
             .of_layer = true},
            counts<kMaxRanks>),
      backend({.name = "backend",
               .help = "backends, separated by commas, or all (default); auto adds one more rival",
               .value = kSome,
               .choices = backend_choices()},
              backends_of),
      formulation({.name = "formulation",
                   .help = "wrapper, split, fused or all (default)",
                   .value = kSome,
                   .choices = or_all(kEveryFormulation),
                   .of_layer = true},
                  formulations_of),
      precision(
          {.name = "precision",
           .help =
               "what products compute with: f32 (default), bf16x9, bf16x6, fp16x3, bf16x3, "
               "bf16, int8 (with --weights-dtype q8 or q4; of attention with --cache-dtype q8), "
               "all, or auto: whatever is as exact as f32 and faster here; sums, softmax, inputs "
               "and outputs stay f32",
           .value = kSome,
           .choices = precision_names()},
          precisions_of),
      dtype({.name = "dtype",
             .help = "what x, y, weights and cache are stored as: f32 (default), bf16 or all",
             .value = kSome,
             .choices = or_all(kEveryDtype)},
            dtypes_of),
      weights_dtype({.name = "weights-dtype",
                     .help = "what weights are stored as: f32, bf16, q8, q4 or all (default: as "
                             "--dtype); q8 and q4 are groups of 32 with a scale, as in GGUF's Q8_0 "
                             "and Q4_0",
                     .value = kSome,
                     .choices = or_all(kEveryStorage),
                     .of_layer = true},
                    storages_of),
      cache_dtype({.name = "cache-dtype",
                   .help = "what keys and values are stored as: f32, bf16, q8 or all (default: as "
                           "--dtype); of q8 a token's values share a scale, and 64 keys of a "
                           "channel",
                   .value = kSome,
                   .choices = or_all(kEveryCache)},
                  caches_of),
      isa({.name = "isa",
           .help = "force an instruction set: sse4.2, avx2, avx512 or neon",
           .choices = kIsas},
          isa_of),
      unit({.name = "unit",
            .help = "force who multiplies parts: none, avx512_bf16, amx or emulated (default: the "
                    "fastest here)",
            .choices = unit_names()},
           unit_of),
      dropout({.name = "dropout",
               .help = "probability that an attention weight is dropped (default 0)",
               .value = "P",
               .of_layer = true},
              probability_of),
      model({.name = "model",
             .help = fmt::format("sizes of a model: {}", fmt::join(model_names(), ", ")),
             .value = kSome,
             .choices = model_names(),
             .sets_size = true},
            models_of),
      preset({.name = "preset",
              .help = fmt::format("sets of shapes, separated by commas: {}; other axes override "
                                  "them",
                                  fmt::join(preset_names(), ", ")),
              .value = kSome,
              .choices = preset_names()},
             presets_of),
      weights({.name = "weights",
               .help = "a layer of trained weights in place of random ones: a safetensors file, a "
                       "folder with one or with the index of several, a GGUF file, or a folder of "
                       ".npy files; sizes come from it",
               .value = "PATH",
               .sets_size = true,
               .says_weights = true,
               .of_layer = true},
              as_typed),
      config({.name = "config",
              .help = "a model's config.json: its layer with random weights, or with those of "
                      "--weights (default for these: the config.json beside them)",
              .value = "FILE",
              .sets_size = true,
              .of_layer = true},
             as_typed),
      layer({.name = "layer",
             .help = "number of the layer among those of --weights or --config, or what the names "
                     "of its tensors share (default: the lowest number)",
             .value = "NAME",
             .says_weights = true},
            as_typed),
      tensor({.name = "tensor",
              .help = "PART=NAME, for tensors whose names are not recognised: query, key and value "
                      "or qkv, and output; each also with _bias; repeat the option for each",
              .value = "PART=NAME",
              .says_weights = true,
              .may_repeat = true},
             part_of),
      stored({.name = "stored",
              .help = "how matrices lie: out-in as nn.Linear has them, or in-out (default: as "
                      "the layout has it, out-in for named tensors)",
              .choices = kOrders,
              .says_weights = true},
             order_of),
      causal(of_weights("causal", "a token attends to none after it, whatever the model does")),
      strict(of_weights("strict", "NaN and infinity in weights are errors, not warnings")),
      no_causal({.name = "no-causal", .help = "every token attends to every token"}),
      qkv_bias({.name = "qkv-bias",
                .help = "add a bias to the query, key and value projections",
                .of_layer = true}),
      no_out_proj(
          {.name = "no-out-proj", .help = "leave the output projection out", .of_layer = true}),
      sinks({.name = "sinks",
             .help = "each head has one more logit in the sum of its softmax",
             .of_layer = true}) {}

std::string AxisWords::value_text() const {
  return value.empty() ? fmt::format("{}", fmt::join(choices, "|")) : value;
}

bool Axes::sizes_given() const {
  bool given = false;
  each(*this,
       [&](const auto& axis) { given |= axis.words().sets_size && static_cast<bool>(axis); });
  return given;
}

bool Axes::only_quick() const { return !sizes_given() && (!preset || preset.text() == "quick"); }

std::vector<std::string> Axes::notes() const {
  std::vector<std::string> notes;
  each(*this, [&](const auto& axis) {
    if constexpr (!kIsFlag<decltype(axis)>) {
      if (axis.repeated() == 0) return;
      notes.push_back(fmt::format("{} {}: {} repeated; each is measured once", axis.option(),
                                  axis.text(), axis.repeated()));
    }
  });
  return notes;
}

std::vector<BackendChoice> every_backend() {
  std::vector<BackendChoice> all;
  for (const BackendInfo& info : backends()) {
    all.push_back({info.name, info.threaded, info.uses_isa});
  }
  return all;
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

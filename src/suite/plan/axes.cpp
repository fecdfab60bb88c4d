#include "plan/axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/nearest.hpp"
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
constexpr const char* kNumbers = "; lists and ranges such as 1,2,8 or 1-8+1 or 1-64*2";

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

// Names of values, or `all` for every one of them.
template <class Value, class ParseName>
std::vector<Value> some_of(std::string_view option, std::string_view what, const std::string& text,
                           const std::vector<Value>& all, ParseName parse_name) {
  std::vector<std::string> known;
  for (const Value each : all) known.emplace_back(to_string(each));
  known.emplace_back("all");
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
  return some_of<Formulation>(option, "formulation", text,
                              {Formulation::wrapper, Formulation::split, Formulation::fused},
                              parse_formulation);
}

std::vector<Precision> precisions_of(std::string_view option, const std::string& text) {
  return some_of<Precision>(option, "precision", text,
                            {kAllPrecisions.begin(), kAllPrecisions.end()}, parse_precision);
}

std::vector<Dtype> dtypes_of(std::string_view option, const std::string& text) {
  return some_of<Dtype>(option, "dtype", text, {Dtype::f32, Dtype::bf16}, parse_dtype);
}

std::vector<Op> ops_of(std::string_view option, const std::string& text) {
  return some_of<Op>(option, "operation", text, {Op::layer, Op::attention}, parse_op);
}

std::vector<Rotary::Pairs> pairs_of(std::string_view option, const std::string& text) {
  return {
      one_of<Rotary::Pairs>(option, "pairs", text, parse_pairs, {"none", "halves", "neighbours"})};
}

std::vector<Isa> isa_of(std::string_view option, const std::string& text) {
  return {one_of<Isa>(option, "instruction set", text, parse_isa,
                      {"sse4.2", "avx2", "avx512", "neon"})};
}

std::vector<Unit> unit_of(std::string_view option, const std::string& text) {
  return {one_of<Unit>(option, "unit", text, parse_unit, unit_names())};
}

std::vector<Stored> order_of(std::string_view option, const std::string& text) {
  const auto parse = [](const std::string& name) {
    return name == "out-in"   ? std::optional(Stored::out_in)
           : name == "in-out" ? std::optional(Stored::in_out)
                              : std::nullopt;
  };
  return {one_of<Stored>(option, "order", text, parse, {"out-in", "in-out"})};
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
  return {.name = name, .help = std::string(help) + kNumbers};
}

AxisWords size(const char* name, const std::string& help) {
  return {.name = name, .help = help, .sets_size = true};
}

AxisWords size_list(const char* name, const char* help) {
  return size(name, std::string(help) + kNumbers);
}

AxisWords of_weights(const char* name, const char* help) {
  return {.name = name, .help = help, .says_weights = true};
}

}  // namespace

Axes::Axes()
    : op({.name = "op",
          .help = "layer (default), attention over queries, keys and values that are given, or all",
          .op = true},
         ops_of),
      heads(size_list("heads", "heads H"), numbers<1>),
      tokens(size_list("tokens", "tokens T per sequence"), numbers<0>),
      batch(size_list("batch", "sequences B (default 1)"), numbers<0>),
      d_model(size_list("d-model", "total width of all heads"), numbers<1>),
      head_dim(size("head-dim", "width of one head (default 64 if only --heads is given)"),
               numbers<1>),
      d_in({.name = "d-in",
            .help = "width of the input (default: the model's width)",
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
               .sets_size = true,
               .of_layer = true},
              lengths_of),
      rotary({.name = "rotary",
              .help = "rotary positions of queries and keys: none, halves or neighbours (default: "
                      "the model's, or none)",
              .of_layer = true},
             pairs_of),
      threads(list("threads", "threads (default: every allowed core)"), counts<kMaxThreads>),
      ranks(
          {.name = "ranks",
           .help = std::string("processes that share the heads, started by mpirun -n (default 1)") +
                   kNumbers,
           .of_layer = true},
          counts<kMaxRanks>),
      backend({.name = "backend",
               .help = "backends, separated by commas, or all (default); auto adds one more rival"},
              backends_of),
      formulation({.name = "formulation",
                   .help = "wrapper, split, fused or all (default)",
                   .of_layer = true},
                  formulations_of),
      precision(
          {.name = "precision",
           .help = "what products compute with: f32 (default), bf16x9, bf16x6, fp16x3, bf16x3, "
                   "bf16 or all; sums, softmax, inputs and outputs stay f32"},
          precisions_of),
      dtype({.name = "dtype",
             .help = "what x, y, weights and cache are stored as: f32 (default), bf16 or all"},
            dtypes_of),
      isa({.name = "isa", .help = "force an instruction set: sse4.2, avx2, avx512 or neon"},
          isa_of),
      unit({.name = "unit",
            .help = "force who multiplies parts: none, avx512_bf16, amx or emulated (default: the "
                    "fastest here)"},
           unit_of),
      dropout({.name = "dropout",
               .help = "probability that an attention weight is dropped (default 0)",
               .of_layer = true},
              probability_of),
      model(size("model", fmt::format("sizes of a model: {}", fmt::join(model_names(), ", "))),
            models_of),
      preset({.name = "preset",
              .help = fmt::format("sets of shapes, separated by commas: {}; other axes override "
                                  "them",
                                  fmt::join(preset_names(), ", "))},
             presets_of),
      weights({.name = "weights",
               .help = "a layer of trained weights in place of random ones: a safetensors file, a "
                       "folder with one or with the index of several, or a folder of .npy files; "
                       "sizes come from it",
               .sets_size = true,
               .says_weights = true,
               .of_layer = true},
              as_typed),
      layer(of_weights("layer",
                       "number of the layer among those of --weights, or what the names of its "
                       "tensors share (default: the lowest number)"),
            as_typed),
      tensor({.name = "tensor",
              .help = "PART=NAME, for tensors whose names are not recognised: query, key and value "
                      "or qkv, and output; each also with _bias; repeat the option for each",
              .says_weights = true,
              .may_repeat = true},
             part_of),
      stored(of_weights("stored",
                        "how matrices lie: out-in as nn.Linear has them, or in-out (default: as "
                        "the layout has it, out-in for named tensors)"),
             order_of),
      causal(of_weights("causal", "a token attends to none after it, whatever the model does")),
      strict(of_weights("strict", "NaN and infinity in weights are errors, not warnings")),
      no_causal({.name = "no-causal", .help = "every token attends to every token"}),
      qkv_bias({.name = "qkv-bias",
                .help = "add a bias to the query, key and value projections",
                .of_layer = true}),
      no_out_proj(
          {.name = "no-out-proj", .help = "leave the output projection out", .of_layer = true}) {}

bool Axes::sizes_given() const {
  bool given = false;
  each(*this,
       [&](const auto& axis) { given |= axis.words().sets_size && static_cast<bool>(axis); });
  return given;
}

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
    names.emplace_back(text.substr(start, comma - start));
    if (names.back().empty()) {
      throw InvalidArgument(fmt::format(
          "{}: '{}' contains an empty name; give names separated by commas, or all", option, text));
    }
    start = comma + 1;
  }
  return names;
}

}  // namespace headroom::plan

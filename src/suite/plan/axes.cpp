#include "plan/axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "headroom/attention.hpp"
#include "headroom/backend.hpp"
#include "plan/axes/values.hpp"
#include "plan/axis.hpp"
#include "plan/cell.hpp"
#include "processor/cores.hpp"

namespace headroom::plan {
namespace {

AxisWords list(const char* name, const char* help) {
  return {.name = name, .help = help, .value = "LIST"};
}

AxisWords size_list(const char* name, const char* help) {
  return {.name = name, .help = help, .value = "LIST", .sets_size = true};
}

AxisWords of_weights(const char* name, const char* help) {
  return {.name = name, .help = help, .says_weights = true};
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

constexpr const char* kSome = "NAMES";  // separated by commas

}  // namespace

Axes::Axes()
    : op({.name = "op",
          .help = "layer (default), attention over given queries, keys and values, or all",
          .choices = op_names(),
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
      window(
          size_list(
              "window",
              "the most keys that a token sees, its own included (default: the model's, or all)"),
          numbers<1>),
      past(size_list("past", "tokens in the cache before the call (default 0)"), numbers<0>),
      lengths({.name = "lengths",
               .help = "tokens of each sequence of one ragged batch, such as 1,17,64; not an axis, "
                       "and it replaces --batch and --tokens",
               .value = "LIST",
               .sets_size = true,
               .of_layer = true},
              lengths_of),
      rotary({.name = "rotary",
              .help = "rotary positions of queries and keys: none, halves or neighbours (default: "
                      "the model's, or none)",
              .choices = pairs_names(),
              .of_layer = true},
             pairs_of),
      qk_norm(
          {.name = "qk-norm",
           .help = "root-mean-square norm of queries and keys: none, head or width (default: the "
                   "model's, or none)",
           .choices = over_names(),
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
               "how many times larger than the others one channel in 64 of x and of each "
               "head's keys is, such as 1,300,10000; what multiplies it is as many times smaller "
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
               .choices = backend_names()},
              backends_of),
      formulation({.name = "formulation",
                   .help = "wrapper, split, fused or all (default)",
                   .value = kSome,
                   .choices = formulation_names(),
                   .of_layer = true},
                  formulations_of),
      precision(
          {.name = "precision",
           .help =
               "what products compute with: f32 (default), bf16x9, bf16x6, fp16x3, bf16x3, "
               "bf16, int8 (with --weights-dtype q8 or q4; for attention, with --cache-dtype q8), "
               "all, or auto: whatever is as exact as f32 and faster here; sums, softmax, inputs "
               "and outputs stay f32",
           .value = kSome,
           .choices = precision_names()},
          precisions_of),
      dtype({.name = "dtype",
             .help = "what x, y, weights and cache are stored as: f32 (default), bf16 or all",
             .value = kSome,
             .choices = dtype_names()},
            dtypes_of),
      weights_dtype({.name = "weights-dtype",
                     .help = "what weights are stored as: f32, bf16, q8, q4 or all (default: as "
                             "--dtype); q8 and q4 are groups of 32 with a scale, as in GGUF's Q8_0 "
                             "and Q4_0",
                     .value = kSome,
                     .choices = storage_names(),
                     .of_layer = true},
                    storages_of),
      cache_dtype(
          {.name = "cache-dtype",
           .help = "what keys and values are stored as: f32, bf16, q8 or all (default: as "
                   "--dtype); in q8 a token's values share a scale, and so do 64 keys of a channel",
           .value = kSome,
           .choices = cache_names()},
          caches_of),
      isa({.name = "isa",
           .help = "force an instruction set: sse4.2, avx2, avx512 or neon",
           .choices = isa_names()},
          isa_of),
      unit({.name = "unit",
            .help = "force the unit that multiplies parts: none, avx512_bf16, amx or emulated "
                    "(default: the fastest here)",
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
                                  "them; split asks what one wide matrix wins over one per head: "
                                  "widths 768 and 1536, 16 and 128 tokens, 1 to 96 heads",
                                  fmt::join(preset_names(), ", ")),
              .value = kSome,
              .choices = preset_names()},
             presets_of),
      weights({.name = "weights",
               .help = "a layer of trained weights instead of random ones: a safetensors file, a "
                       "folder with one or with the index of several, a GGUF file, or a folder of "
                       ".npy files; sizes come from it",
               .value = "PATH",
               .sets_size = true,
               .says_weights = true,
               .of_layer = true},
              as_typed),
      config({.name = "config",
              .help = "a model's config.json: its layer with random weights, or with those of "
                      "--weights (default with these: the config.json beside them)",
              .value = "FILE",
              .sets_size = true,
              .of_layer = true},
             as_typed),
      layer({.name = "layer",
             .help = "number of the layer among those of --weights or --config, or what the names "
                     "of its tensors share, such as decoder.3 (default: the lowest number)",
             .value = "NAME",
             .says_weights = true},
            as_typed),
      family({.name = "family",
              .help = "the family of models, such as llama, whose layers compute what this one "
                      "does, where --weights or --config name one that is not known",
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
              .help = "how matrices are stored: out-in, as in nn.Linear, or in-out (default: as in "
                      "the layout; out-in for named tensors)",
              .choices = order_names(),
              .says_weights = true},
             order_of),
      causal(of_weights("causal", "no token attends to a later one, whatever the model does")),
      strict(of_weights("strict", "NaN and infinity in weights are errors, not warnings")),
      no_causal({.name = "no-causal", .help = "every token attends to every token"}),
      qkv_bias({.name = "qkv-bias",
                .help = "add a bias to the query, key and value projections",
                .of_layer = true}),
      no_out_proj(
          {.name = "no-out-proj", .help = "leave the output projection out", .of_layer = true}),
      sinks({.name = "sinks",
             .help = "give each head one more logit in the sum of its softmax",
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

}  // namespace headroom::plan

#include "plan/axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "plan/shapes/models.hpp"

namespace headroom::plan {

void add_weights_options(CLI::App& app, Axes& axes) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->group("Weights")->type_name("");
  };
  add("--weights", axes.weights,
      "a layer of trained weights in place of random ones: a safetensors file, a folder with one "
      "or with the index of several, or a folder of .npy files; sizes come from it");
  add("--layer", axes.layer,
      "number of the layer among those of --weights, or what the names of its tensors share "
      "(default: the lowest number)");
  add("--tensor", axes.tensors,
      "PART=NAME, for tensors whose names are not recognised: query, key and value or qkv, and "
      "output; each also with _bias; repeat the option for each")
      ->allow_extra_args(false);
  add("--stored", axes.stored,
      "how matrices lie: out-in as nn.Linear has them, or in-out (default: as the layout has it, "
      "out-in for named tensors)");
  app.add_flag("--causal", axes.causal, "a token attends to none after it, whatever the model does")
      ->group("Weights");
  app.add_flag("--strict", axes.strict, "NaN and infinity in weights are errors, not warnings")
      ->group("Weights");
}

void add_axes_options(CLI::App& app, Axes& axes) {
  const std::string numbers = "; lists and ranges such as 1,2,8 or 1-8+1 or 1-64*2";
  const auto add = [&](const char* name, std::optional<std::string>& value,
                       const std::string& help) {
    return app.add_option(name, value, help)->group("Axes")->type_name("");
  };
  add("--heads", axes.heads, "heads H" + numbers);
  add("--tokens", axes.tokens, "tokens T per sequence" + numbers);
  add("--batch", axes.batch, "sequences B (default 1)" + numbers);
  CLI::Option* d_model = add("--d-model", axes.d_model, "total width of all heads" + numbers);
  add("--head-dim", axes.head_dim, "width of one head (default 64 if only --heads is given)")
      ->excludes(d_model);
  add("--d-in", axes.d_in, "width of the input (default: the model's width)");
  add("--kv-heads", axes.kv_heads,
      "heads of keys and values, a divisor of the heads (default: the model's, or as many)" +
          numbers);
  add("--window", axes.window,
      "keys that a token sees at most, its own included (default: the model's, or all)" + numbers);
  add("--past", axes.past, "tokens that are in the cache before the call (default 0)" + numbers);
  add("--lengths", axes.lengths,
      "tokens of each sequence of one ragged batch, such as 1,17,64; not an axis, and stands in "
      "place of --batch and --tokens");
  add("--rotary", axes.rotary,
      "rotary positions of queries and keys: none, halves or neighbours (default: the model's, or "
      "none)");
  add("--threads", axes.threads, "threads (default: every allowed core)" + numbers);
  add("--ranks", axes.ranks,
      "processes that share the heads, started by mpirun -n (default 1)" + numbers);
  add("--backend", axes.backend,
      "backends, separated by commas, or all (default); auto adds one more rival");
  add("--formulation", axes.formulation, "wrapper, split, fused or all (default)");
  add("--precision", axes.precision,
      "what products compute with: f32 (default), bf16x9, bf16x6, fp16x3, bf16x3, bf16 or "
      "all; sums, softmax, inputs and outputs stay f32");
  add("--dtype", axes.dtype,
      "what x, y, weights and cache are stored as: f32 (default), bf16 or all");
  add("--isa", axes.isa, "force an instruction set: sse4.2, avx2, avx512 or neon");
  add("--unit", axes.unit,
      "force who multiplies parts: none, avx512_bf16, amx or emulated (default: the fastest here)");
  app.add_flag("--no-causal", axes.no_causal, "every token attends to every token")->group("Axes");
  app.add_flag("--qkv-bias", axes.qkv_bias, "add a bias to the query, key and value projections")
      ->group("Axes");
  app.add_flag("--no-out-proj", axes.no_out_proj, "leave the output projection out")->group("Axes");
  add_weights_options(app, axes);
  add("--dropout", axes.dropout, "probability that an attention weight is dropped (default 0)");
  add("--model", axes.model, fmt::format("sizes of a model: {}", fmt::join(model_names(), ", ")));
  add("--preset", axes.preset,
      fmt::format("sets of shapes, separated by commas: {}; other axes override them",
                  fmt::join(preset_names(), ", ")));
}

}  // namespace headroom::plan

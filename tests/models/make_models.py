#!/usr/bin/env python3
"""Makes tests/data/models: the attention layers of 23 families of models, with expected outputs.

    pip install torch==2.13.* transformers==5.24.* safetensors numpy && make_models.py [FAMILY ...]

Every family is a tiny model of the transformers library with random weights, made without a
network. Written with torch 2.13.0 (CPU), transformers 5.24.0, safetensors 0.8.0, Python 3.11. Each
folder has

    published.json       the configuration as the family's published checkpoints spell it
    config.json          the same as `save_pretrained` of this version writes it
    model.safetensors    float32, names as `save_pretrained` writes them; what has nothing to do
                         with attention (embeddings, feed-forward layers) is left out
    layer<N>.safetensors per kind of layer: `x` (tokens x width), `memory` if it is cross
                         attention, and `expected`, the output of the projection, in float64,
                         before any residual

and `models.json` says for every kind of layer which features it has, which tensors, and how they
are stored; `check_models.py` computes `expected` from these alone. The `notes` of a family stand
with its first layer.

The models run in float64 from the stored float32 values. Their code has places that say float32
(softmax, norms, rotary angles); they are widened for the run, so `expected` has no rounding but
float64's, and differs from the model's own float32 run by that run's rounding alone.
"""

import copy
import importlib
import inspect
import json
import pathlib
import shutil
import sys
import tempfile

import decoders
import encoders
import torch
import transformers
from notes import notes_of
from safetensors.torch import load_file, save_file
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

FOLDER = pathlib.Path(__file__).parents[1] / "data" / "models"
FAMILIES = [
    decoders.llama3(), decoders.llama4(), decoders.qwen3(), decoders.qwen3_next(),
    decoders.gemma2(), decoders.gemma3(), decoders.gpt_oss(), decoders.deepseek_v3(),
    decoders.deepseek_plain(), decoders.deepseek_v2(), decoders.mistral(), decoders.phi4(),
    decoders.olmo2(), decoders.glm4_moe(), decoders.granite(), encoders.modernbert(),
    encoders.t5(), encoders.bert(), encoders.roberta(), encoders.vit(), encoders.whisper(),
    decoders.falcon(), decoders.falcon_new(), decoders.falcon_rw(), decoders.bloom(),
    decoders.mpt(),
]  # fmt: skip
RELEVANT = ("attn", "attention", "Attention", "norm", "Norm", "ln_")


class WideTorch:
    """The module torch, where float32 is float64."""

    def __getattr__(self, name):
        return torch.float64 if name in ("float", "float32") else getattr(torch, name)


def widen(model_type):
    """Lets the code of a model compute in float64 where it says float32."""
    folder = CONFIG_MAPPING[model_type].__module__.rsplit(".", 1)[0]
    name = folder.rsplit(".", 1)[1]
    for module in (f"{folder}.modeling_{name}", "transformers.modeling_rope_utils"):
        importlib.import_module(module).torch = WideTorch()
    torch.Tensor.float = torch.Tensor.double


def round_to_f32(tensor):
    return tensor.to(torch.float32).to(torch.float64)


def normal(*shape):
    return round_to_f32(torch.randn(shape, dtype=torch.float64))


def make(family):
    """The model in float64."""
    config = CONFIG_MAPPING[family.model_type].from_dict(copy.deepcopy(family.published))
    auto = getattr(transformers, family.auto)
    model = auto.from_config(
        config, attn_implementation=family.implementation, experts_implementation="eager"
    )
    return model.double().eval()


def draw(model, gain):
    """Random values of which every part shows in the result: scores that differ by 1 to 3, norms
    and biases that are not trivial. A norm's weight is drawn about what it is at first, 1 or 0."""
    for name, weights in model.named_parameters():
        noise = torch.randn(weights.shape, dtype=torch.float64)
        if "sinks" in name or "relative_attention_bias" in name:
            drawn = noise
        elif weights.dim() > 1:
            drawn = noise * gain / weights.shape[-1] ** 0.5
        elif name.endswith("weight"):
            spread = 0.5 if name.endswith(("q_norm.weight", "k_norm.weight")) else 0.3
            drawn = weights.data.mean().round() + spread * noise
        elif name.endswith("bias"):
            drawn = 0.1 * noise
        else:
            drawn = weights.data
        weights.data = round_to_f32(drawn)


def inputs_of(model, tokens, memory_tokens):
    """What the model is called with; only how long it is matters."""
    config, words = model.config, torch.arange(tokens)[None] % 90 + 3
    if config.model_type == "vit":
        return {"pixel_values": normal(1, 3, config.image_size, config.image_size)}
    if config.model_type == "whisper":
        sound = normal(1, config.num_mel_bins, 2 * config.max_source_positions)
        return {"input_features": sound, "decoder_input_ids": words}
    if config.is_encoder_decoder:
        encoder = torch.arange(memory_tokens)[None] % 90 + 3
        return {"input_ids": encoder, "decoder_input_ids": words}
    return {"input_ids": words}


def replace_inputs(module, layer, kept):
    """A hook that gives `module` random inputs of the shape of what the model would give it."""

    def hook(_, args, kwargs):
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        given = bound.arguments
        kept["x"] = given["hidden_states"] = normal(*given["hidden_states"].shape)
        if layer.kind == "cross":
            kept["memory"] = normal(*given["key_value_states"].shape)
            given["key_value_states"] = kept["memory"]
        if "residual" in given:
            given["residual"] = torch.zeros_like(given["residual"])
        return bound.args, bound.kwargs

    return hook


def keep_output(kept):
    def hook(_, args, output):
        kept["expected"] = output[0] if isinstance(output, tuple) else output

    return hook


def run_layer(model, layer):
    """What the attention module of this layer makes of a random x, with the masks and the angles
    that the model gives it."""
    module, kept = model.get_submodule(layer.path), {}
    last = model.get_submodule(layer.output_path or layer.path)
    hooks = [
        module.register_forward_pre_hook(replace_inputs(module, layer, kept), with_kwargs=True),
        last.register_forward_hook(keep_output(kept)),
    ]
    with torch.no_grad():
        model(**inputs_of(model, layer.tokens, layer.memory_tokens))
    for hook in hooks:
        hook.remove()
    kept = {name: tensor[0].clone() for name, tensor in kept.items()}
    return {n: t if n == "expected" else t.to(torch.float32) for n, t in kept.items()}


def save_model(model, folder):
    """As `save_pretrained` does; returns all tensors by their saved names."""
    with tempfile.TemporaryDirectory() as temporary:
        copy.deepcopy(model).to(torch.float32).save_pretrained(temporary)
        shutil.copy(pathlib.Path(temporary) / "config.json", folder / "config.json")
        tensors = load_file(pathlib.Path(temporary) / "model.safetensors")
    tensors = {n: t for n, t in tensors.items() if "linear_attn" not in n}
    relevant = {n: t for n, t in tensors.items() if any(word in n for word in RELEVANT)}
    save_file(relevant, folder / "model.safetensors", {"format": "pt"})
    return relevant


def saved_name(parameter, saved):
    """The name that a parameter has in the file; a few models rename when they save."""
    if parameter is None:
        return None
    values = parameter.data.to(torch.float32)
    same = [n for n, t in saved.items() if t.shape == values.shape and torch.equal(t, values)]
    assert len(same) == 1, same
    return same[0]


def tensors_of(model, layer, saved):
    """The names of the layer's tensors, with how they are put together."""

    def name(path):
        return None if path is None else saved_name(model.get_parameter(path), saved)

    def linear(path):
        module = model.get_submodule(path)
        return {"weight": name(path + ".weight"),
                "bias": None if module.bias is None else name(path + ".bias")}  # fmt: skip

    prefix = layer.path + "."
    projections = [
        {**linear(prefix + p.name), "input": p.input, "groups": p.groups, "parts": p.parts}
        for p in layer.projections
    ]
    tensors = {"projections": projections}
    tensors["output"] = linear(layer.output_path or prefix + layer.output)
    for part, local in layer.vectors.items():
        tensors[part] = name(prefix + local)
    for part, path in layer.elsewhere.items():
        tensors[part] = name(path)
    return tensors


def file_of(layer):
    return f"{layer.name or 'layer' + str(layer.index)}.safetensors"


def make_family(family):
    """Writes the folder of a family; returns its entries of models.json."""
    torch.manual_seed(34)
    widen(family.model_type)
    folder = FOLDER / family.folder
    folder.mkdir(parents=True, exist_ok=True)
    model = make(family)
    draw(model, family.gain)
    (folder / "published.json").write_text(json.dumps(family.published, indent=1) + "\n")
    saved = save_model(model, folder)
    entries = []
    for layer in family.layers(model):
        save_file(run_layer(model, layer), folder / file_of(layer))
        entries.append({
            "family": family.name, "folder": family.folder, "layer": layer.index,
            "file": file_of(layer), "kind": layer.kind, "module": layer.path,
            "class": type(model.get_submodule(layer.path)).__name__,
            "features": layer.features, "tensors": tensors_of(model, layer, saved),
            "notes": [] if entries else notes_of(family.folder),
        })  # fmt: skip
    return entries


def main(names):
    path = FOLDER / "models.json"
    kept = json.loads(path.read_text()) if names and path.exists() else []
    entries = {}
    for entry in kept:
        entries.setdefault(entry["folder"], []).append(entry)
    for family in FAMILIES:
        if not names or family.folder in names:
            entries[family.folder] = make_family(family)
            print(family.folder, len(entries[family.folder]), "layers")
    order = [family.folder for family in FAMILIES]
    ordered = [e for folder in order for e in entries.get(folder, [])]
    path.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

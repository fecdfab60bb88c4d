#!/usr/bin/env python3
"""Holds every model of transformers that can be made without a network against headroom.

    pip install torch==2.13.* transformers==5.24.* safetensors numpy
    every_model.py --program build/headroom [--page FILE] [--keep FOLDER] [KIND ...]

Each kind of model is made tiny, with random weights, and computed by its own eager code in float64.
Then three ways are tried, as far as they are there:

    run     each layer that `headroom run --weights` finds in the folder that `save_pretrained`
            wrote, with the input that the model gave it
    hook    the model with `attn_implementation="headroom"`, in float32
    layers  the model with `headroom.torch.accelerate`, in float32

With `--keep` each layer that `run` has right is kept in FOLDER, as tests/data/families has them.

A way is right (nrmse at most 5e-6), refused (with the program's message), or wrong, and then the
script fails. The ways in Python need the package; without it they are left out, and that is said.
"""

import argparse
import collections
import contextlib
import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python/tests"))
import tiny_models  # noqa: E402

LIMIT = 5e-6
TOKENS = 12
QUERIES = ("q_proj", "c_attn", "query_key_value", "qkv_proj", "Wqkv", "q", "self.query",
           "attention.query", "q_lin", "kv_a_proj_with_mqa", "wq")  # fmt: skip
OUTPUTS = ("o_proj", "c_proj", "dense", "out_proj", "o", "Wo", "output.dense", "out_lin", "wo")
UNKNOWN_LAYOUT = "no tensor has a name of a known layout"


def nrmse(expected, found):
    spread = (expected - expected.mean()).pow(2).mean().sqrt()
    if expected.numel() < 8:  # such as the one similarity of CLIP
        spread = expected.pow(2).mean().sqrt()
    return float((expected - found).double().pow(2).mean().sqrt() / spread)


# --- Models


MOST_WEIGHTS = 30_000_000
LAYERS = 4
# Beside the sizes of tiny_models, in every part of a model.
MORE = {
    "num_hidden_layers": LAYERS, "image_size": 32, "patch_size": 8, "depth": 2, "embed_dim": 32,
    "dim": 32, "hidden_dim": 48, "max_window_layers": 2, "max_source_positions": 64,
    "max_target_positions": 64, "num_mel_bins": 16, "projection_dim": 32,
}  # fmt: skip
# What is 1 where a file leaves it out, so that it shows.
FACTORS = {"key_multiplier": 0.6, "attention_multiplier": 0.3}
SECTIONS = [2, 1, 1]  # of the 4 pairs of a head


def shrink(fields):
    """Makes the fields of a configuration small, and those of its parts."""
    layers, kind = fields.get("num_hidden_layers"), fields.get("model_type", "")
    if isinstance(fields.get("rope_parameters"), dict) and ("_vl" in kind or "omni" in kind):
        fields["rope_parameters"].setdefault("mrope_section", SECTIONS)
    for name, value in fields.items():
        if isinstance(value, dict):
            shrink(value)
        elif name == "mrope_section":
            fields[name] = SECTIONS
        elif name in FACTORS:
            fields[name] = FACTORS[name]
        elif name == "head_dim":
            fields[name] = tiny_models._SIZES[name]
        elif isinstance(value, list) and len(value) == layers:
            fields[name] = value[:LAYERS]
        elif isinstance(value, int) and not isinstance(value, bool):
            fields[name] = {**tiny_models._SIZES, **MORE}.get(name, value)


def config_of(kind):
    make = CONFIG_MAPPING[kind]
    fields = make().to_dict()
    shrink(fields)
    for way in (lambda: make.from_dict(copy.deepcopy(fields)), lambda: tiny_models.config_of(kind)):
        with contextlib.suppress(Exception):
            return way()
    return make()


def make(kind):
    """In float64, with eager attention. Raises an error where it cannot be made here."""
    torch.manual_seed(62)
    config = config_of(kind)
    generates = type(config) in AutoModelForCausalLM._model_mapping
    auto = AutoModelForCausalLM if generates else AutoModel
    ways = {"attn_implementation": "eager", "experts_implementation": "eager"}
    with torch.device("meta"):
        planned = auto.from_config(copy.deepcopy(config), **ways)
    if sum(weights.numel() for weights in planned.parameters()) > MOST_WEIGHTS:
        raise ValueError("its sizes cannot be made small")
    model = auto.from_config(config, **ways)
    tiny_models.draw(model)
    return model.double().eval()


def inputs_of(model):
    """One of what models take, which this one takes."""
    words = torch.arange(TOKENS)[None] % 40 + 3
    config = model.config
    size, channels = getattr(config, "image_size", 32), getattr(config, "num_channels", 3)
    sides = size if isinstance(size, (list, tuple)) else (size, size)
    bins = getattr(config, "num_mel_bins", 80)
    tries = [
        {"input_ids": words},
        {"input_ids": words, "decoder_input_ids": words},
        {"pixel_values": torch.randn(1, channels, *sides, dtype=torch.float64)},
        {"input_ids": words, "pixel_values": torch.randn(1, channels, *sides, dtype=torch.float64)},
        {"input_features": torch.randn(1, bins, 100, dtype=torch.float64)},
        {"input_values": torch.randn(1, 4000, dtype=torch.float64)},
    ]
    if config.is_encoder_decoder:
        tries = tries[1:] + tries[:1]
    reasons = []
    for given in tries:
        with torch.no_grad(), contextlib.suppress(Exception):
            try:
                model(**given)
                return given
            except Exception as error:
                reasons.append(str(error).splitlines()[0][:80] if str(error) else repr(error))
    raise ValueError(f"takes none of the inputs tried ({reasons[0]})")


def result_of(model, given):
    """The largest floating-point output."""
    torch.manual_seed(62)  # some draw what they leave out
    with torch.no_grad():
        out = model(**given)
    values = out.values() if hasattr(out, "values") else out
    values = [v for v in values if torch.is_tensor(v) and v.is_floating_point()]
    if not values:
        raise ValueError("gives nothing to compare")
    return max(values, key=torch.numel)


# --- Layers of the saved model


def module_of(model, tensor):
    """The linear layer that has these weights."""
    for name, weights in model.named_parameters():
        if weights.shape == tensor.shape and torch.equal(weights.float(), tensor.float()):
            return model.get_submodule(name.rpartition(".")[0])
    return None


def seen(model, given, tensors, prefix):
    """What goes into the query's products of a layer, what the key's get, and what it gives."""
    found = {}

    def first(names):
        names = [f"{prefix}{name}.weight" for name in names]
        name = next((n for n in names if n in tensors), None)
        return None if name is None else module_of(model, tensors[name])

    query, key, output = first(QUERIES), first(("k_proj", "k", "self.key")), first(OUTPUTS)
    if query is None or output is None:
        return None

    def keep_input(name):
        return lambda _, args: found.setdefault(name, args[0].detach().clone())

    hooks = [
        query.register_forward_pre_hook(keep_input("x")),
        output.register_forward_hook(
            lambda _, args, y: found.setdefault("y", (y[0] if isinstance(y, tuple) else y).clone())
        ),
    ]
    if key is not None:
        hooks.append(key.register_forward_pre_hook(keep_input("memory")))
    with torch.no_grad():
        model(**given)
    for hook in hooks:
        hook.remove()
    if "x" not in found or "y" not in found:
        return None
    memory = found.get("memory", found["x"])
    if memory.shape != found["x"].shape or not torch.equal(memory, found["x"]):
        return None  # attention across
    rows = found["x"].reshape(-1, found["x"].shape[-1])
    return rows, found["y"].reshape(-1, found["y"].shape[-1])


def keep_layer(saved, tensors, prefix, pair, folder):
    """Writes what tests/data/families has of a layer."""
    folder.mkdir(parents=True)
    own = {name: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    save_file(own, folder / "model.safetensors")
    shutil.copy(saved / "config.json", folder)
    (folder / "layer.txt").write_text(prefix.rstrip(".") + "\n")
    np.save(folder / "x.npy", pair[0].float().numpy())
    np.save(folder / "expected.npy", pair[1].float().numpy())


def run_layers(program, kind, model, given, keep=None):
    """[(layer, verdict, words)] of the saved model."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        single(model, given)[0].save_pretrained(folder, max_shard_size="100GB")
        tensors = load_file(pathlib.Path(folder) / "model.safetensors")
        for prefix in prefixes_of(tensors):
            pair = seen(model, given, tensors, prefix)
            if pair is None or pair[0].shape[0] > 4096:
                continue
            np.save(f"{folder}/x.npy", pair[0].float().numpy())
            done = subprocess.run(
                [program, "run", "--weights", f"{folder}/model.safetensors", "--layer",
                 prefix.rstrip("."), "--input", f"{folder}/x.npy", "--output", f"{folder}/y.npy",
                 "--backend", "naive", "--formulation", "split"],
                capture_output=True, text=True)  # fmt: skip
            if done.returncode != 0:
                words = re.sub(r"/\S*/", "", done.stderr.strip().splitlines()[-1])
                results.append((prefix, "refused", words))
                continue
            y = torch.from_numpy(np.load(f"{folder}/y.npy")).double()
            if y.shape != pair[1].shape:
                results.append((prefix, "wrong", f"shape {tuple(y.shape)}"))
                continue
            error = nrmse(pair[1], y)
            if keep is not None and error <= LIMIT:
                keep_layer(
                    pathlib.Path(folder), tensors, prefix, pair, keep / f"{kind}_{len(results)}"
                )
            results.append((prefix, "right" if error <= LIMIT else "wrong", f"{error:.2g}"))
    return results


def prefixes_of(tensors):
    found = set()
    for name in tensors:
        for query in QUERIES:
            if name.endswith(f".{query}.weight"):
                prefix = name[: -len(f"{query}.weight")]
                if any(f"{prefix}{o}.weight" in tensors for o in OUTPUTS):
                    found.add(prefix)
    kept = {}
    for prefix in sorted(found):  # two of each stack
        kept.setdefault(re.sub(r"\d+", "N", prefix), []).append(prefix)
    return [p for same in kept.values() for p in same[:2] + same[3:4]]


# --- Ways of Python


def single(model, given):
    """A copy of both in float32: what headroom computes."""
    return copy.deepcopy(model).float(), {
        name: value.float() if value.is_floating_point() else value for name, value in given.items()
    }


def outcome(expected, compute):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            found = compute()
        except (ValueError, NotImplementedError, RuntimeError, KeyError, TypeError) as error:
            return "refused", (str(error) or repr(error)).splitlines()[0]
    error = nrmse(expected, found)
    return ("right" if error <= LIMIT else "wrong"), f"{error:.2g}"


def with_hook(model, given, expected):
    from headroom.torch import fallbacks, register_transformers
    from transformers import AttentionInterface

    register_transformers()
    ours = AttentionInterface()["headroom"]
    calls = 0

    def counted(*args, **options):
        nonlocal calls
        calls += 1
        return ours(*args, **options)

    def compute():
        copied, inputs = single(model, given)
        copied.set_attn_implementation("headroom")
        return result_of(copied, inputs).double()

    fallbacks(reset=True)
    AttentionInterface.register("headroom", counted)
    try:
        verdict, words = outcome(expected, compute)
    finally:
        AttentionInterface.register("headroom", ours)
    if verdict != "refused" and calls == 0:
        return "own", "attention is the model's own code"
    if verdict == "wrong":
        # Beside attention there may be what float32 is too little for.
        own = result_of(*single(model, given)).double()
        return outcome(own, compute)
    if verdict == "right" and fallbacks():
        return "fallback", "; ".join(sorted(fallbacks()))
    return verdict, words


def with_layers(model, given, expected):
    from headroom.torch import accelerate

    def compute():
        copied, inputs = single(model, given)
        with accelerate(copied):
            return result_of(copied, inputs).double()

    return outcome(expected, compute)


# --- All of them


def try_kind(kind, program, python, keep):
    """What came of it: {way: (verdict, words)}."""
    try:
        model = make(kind)
        given = inputs_of(model)
        expected = result_of(model, given)
        layers = run_layers(program, kind, model, given, keep)
    except Exception as error:
        return {"made": ("no", str(error).splitlines()[0][:100] if str(error) else repr(error))}
    found = {}
    for verdict in ("wrong", "refused", "right"):
        of_it = [(prefix, words) for prefix, each, words in layers if each == verdict]
        if of_it:
            found.setdefault("run", (verdict, f"{of_it[0][0]}: {of_it[0][1]}"))
    if not layers:
        found["run"] = ("own", "no layer of a known layout, or none without a second input")
    if python:
        found["hook"] = with_hook(model, given, expected)
        found["layers"] = with_layers(model, given, expected)
    return found


MANUAL, PYTHON = "../" + "docs/run.md", "../" + "docs/python.md"  # from where the page lies
PAGE = """# Every model of transformers

<!-- Made by tests/models/every_model.py; do not edit. -->

All {kinds} kinds of model that transformers 5.24 knows were made tiny, with random weights and
without a network, and computed by their own eager code in float64. Of {made} that could be made so:

| | right (nrmse at most 5e-6) | refused by name | own code | wrong |
|---|---|---|---|---|
{counts}

`run` is `headroom run --weights` on the saved folder, layer by layer; its own code has tensors of
other names, so that it finds no layer. A model that it refuses for its family alone runs with
`--family`, where its user knows that it computes what a known one does ([what a file
means]({manual})). `hook` is `attn_implementation="headroom"` in float32; a model with code of its
own does not ask for an implementation, which a warning says once. `accelerate` replaces whole
layers of [the families that it knows]({python}) and refuses all others.

| kind | `run` | `hook` | `accelerate` | what `run` says |
|---|---|---|---|---|
"""
WAYS = {"run": "run", "hook": "hook", "layers": "accelerate"}


def page_of(results):
    made = {kind: found for kind, found in results.items() if "run" in found}
    counts = []
    for way, name in WAYS.items():
        of_way = collections.Counter(found[way][0] for found in made.values() if way in found)
        cells = [str(of_way[verdict]) for verdict in ("right", "refused", "own", "wrong")]
        counts.append(f"| `{name}` | {' | '.join(cells)} |")
    text = PAGE.format(kinds=len(results), made=len(made), manual=MANUAL, python=PYTHON,
                       counts="\n".join(counts))  # fmt: skip
    for kind, found in sorted(made.items()):
        words = found["run"][1].partition("headroom: error: ")[2] or found["run"][1]
        words = re.split("; to run the layer|; where it is what|, so what the layer", words)[0]
        verdicts = " | ".join(found.get(way, ("",))[0] for way in WAYS)
        text += f"| {kind} | {verdicts} | {words[:160].replace('|', ' ')} |\n"
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("kinds", nargs="*")
    asked = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    try:
        import headroom.torch  # noqa: F401

        python = True
    except ImportError:
        python = False
        print("not tried: hook and layers, as the package headroom is not installed")
    results = {}
    for kind in asked.kinds or sorted(CONFIG_MAPPING):
        results[kind] = try_kind(kind, asked.program, python, asked.keep)
        line = "; ".join(f"{way} {verdict} ({words})" for way, (verdict, words) in
                         results[kind].items())  # fmt: skip
        print(f"{kind}: {line}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1))
    if asked.page:
        asked.page.write_text(page_of(results))
    counts = collections.Counter(
        (way, verdict) for kind in results.values() for way, (verdict, _) in kind.items()
    )
    for (way, verdict), count in sorted(counts.items()):
        print(f"{way}: {count} {verdict}")
    if any(verdict == "wrong" for _, verdict in counts):
        sys.exit("some are wrong")


if __name__ == "__main__":
    main()

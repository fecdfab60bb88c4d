#!/usr/bin/env python3
"""Makes docs/models.md of what was run: every family with the hook for transformers.

    pip install . torch==2.13.* transformers==5.24.*
    python3 tests/models/hook_page.py >docs/models.md

The runs are those of python/tests/test_families.py and test_accelerate.py; the features are those of
tests/data/models/models.json; the times are those that hook_times.py left in times.json. Two minutes.
"""

# The page's own lines are longer.
# ruff: noqa: E501

import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import families  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from headroom.torch import register_transformers  # noqa: E402

HEAD = """# Every model's attention

<!-- Made by tests/models/hook_page.py; do not edit. -->

What families of models need of attention, where the repository shows it, and what was found with
[`attn_implementation="headroom"`]({guide}#models-of-transformers) and with
[`headroom.torch.accelerate`]({guide}#whole-layers-of-a-model), which replaces whole layers. Each family is a tiny model with random weights,
made by transformers without a network; [tests/models]({words}) says what each feature means.

| column | what was run |
|---|---|
| nrmse | logits of the model in float32 with our attention against the same model with its own eager attention in float64, the largest of: a batch of {batch}, the same padded left, padded right, and left-padded in three parts after a dynamic and after a static cache; allowed are 2e-6 |
| bf16 | the same error of a bfloat16 model with our attention, as a part of that with eager attention, the largest of the batches. Its other products are of bfloat16 in both |
| kernels | calls that our kernels computed in all of these runs, and calls that went to another function |
| generate | {new} tokens, greedy, in float32: the same as with eager attention; alone, as a left-padded batch of {batch}, and that with a static cache. {none}: the model generates nothing |
| whole layers | the same with whole layers of ours, in pieces of 16 rows: the largest nrmse, calls that our layers computed and that went to the model's own, and generate. A cache of Phi's short contexts does not become long |

Made with torch {torch} and transformers {transformers}.

| family | attention | shown by | nrmse | bf16 | kernels | generate | whole layers |
|---|---|---|---|---|---|---|---|
"""

TAIL = """
Families that compute attention themselves, and never ask transformers for an implementation, are refused with a
`ValueError` that names the model, because their masks would be lost.

| family | attention | shown by | with the hook | whole layers |
|---|---|---|---|---|
"""

TIMES = """
## Times

One attention layer, with its products, in float32 and with the sizes of a published model: how many times faster
than the model's own code in transformers, `hook` with our attention and `layer` as a whole. A prompt of
1,024 tokens, and one token after 4,096, whose cache transformers copies at every step; the layer sees all keys.
Each number is the ratio of medians of at least {rounds} rounds in which all ways took turns, on {threads} of an AMD EPYC
with AVX-512 (Zen 4 class), a virtual machine; differences of less than a tenth say nothing. Of a prompt most is products,
which all ways compute at the same pace: where the model's width is small beside its heads, more is won.
`OMP_NUM_THREADS=1 python3 tests/models/hook_times.py tests/models/times.json` repeats it.

| layer of | other | prompt, ms | hook | layer | step, ms | hook | layer |
|---|---|---|---|---|---|---|---|
"""

TIMES_END = """
`other` is what our time is compared with, and the times in ms are its own. SDPA of PyTorch has neither caps nor sinks, and BLOOM
computes eagerly alone; Falcon-RW's eager code adds its bias twice, and flex_attention is the best that transformers has
for Gemma 2's cap. Hooks are for models that ask for an implementation.
"""

TILES = """
### On a core with AMX

The same on an Intel core of the Granite Rapids class, a virtual machine, where our whole layer takes part a second time, computed with
[`precision="bf16x6"`]({precision}): products by tiles of bf16 parts, as exact as float32. With `accelerate(model, precision="bf16x6")` a model has it.
`OMP_NUM_THREADS=1 python3 tests/models/hook_times.py tests/models/times-amx.json --precision bf16x6` repeats it.

| layer of | other | prompt, ms | hook | layer | bf16x6 | step, ms | hook | layer | bf16x6 |
|---|---|---|---|---|---|---|---|---|---|
"""


def norm_words(layer):
    words = {"head": "norms of q and k by head", "width": "norms of q and k over the width",
             "l2": "L2 norms of q and k", "none": None}[layer["qk_norm"]]  # fmt: skip
    if words and layer["norm_after_rotation"]:
        words += " after rotation"
    return words + " with weight 1 + w" if words and layer["norm_plus_one"] else words


def rotary_words(layer):
    if not layer["rotary_dim"]:
        return None
    kind = "" if layer["rope_type"] == "default" else f" scaled as {layer['rope_type']}"
    pairs = " of neighbours" if layer["rotary_interleaved"] else ""
    whole = layer["rotary_dim"] == layer["head_dim"]
    part = "" if whole else f" on {layer['rotary_dim']} of {layer['head_dim']}"
    return f"rotary{pairs}{part}{kind}"


def words_of(layer):
    """What a layer has, in the order in which it is computed."""
    grouped = layer["kv_heads"] != layer["heads"]
    latent = "latent keys and values" if layer["mla"] else None
    window = layer["window"] and ("window on both sides" if layer["window_both"] else "window")
    narrow = layer["value_dim"] != layer["head_dim"]
    return [
        latent,
        "grouped heads" if grouped else None,
        "values of another width" if narrow else None,
        "clipped q, k, v" if layer["clip_qkv"] else None,
        norm_words(layer),
        rotary_words(layer),
        "temperature by position" if layer["temperature"] else None,
        "own scale" if abs(layer["scale"] - layer["head_dim"] ** -0.5) > 1e-9 else None,
        "ALiBi" if layer["alibi"] else None,
        "bias by buckets of distance" if layer["buckets"] else None,
        "cap" if layer["softcap"] else None,
        window,
        "chunks" if layer["chunk"] else None,
        "sinks" if layer["sinks"] else None,
        "output gate" if layer["gate"] else None,
        "cross-attention" if layer["cross"] else None,
        None if layer["causal"] or layer["cross"] else "not causal",
    ]


def features_of(entries):
    found = dict.fromkeys(word for one in entries for word in words_of(one["features"]) if word)
    return ", ".join(found) or "nothing else"


def links_of(entries):
    folder = "../tests/data/models/" + entries[0]["folder"]
    return ", ".join(
        f"[{one['file'].removesuffix('.safetensors')}]({folder}/{one['file']})" for one in entries
    )


def same_words(result):
    if not result.same and not result.lost:
        return "-"
    other = [name for name, same in result.same.items() if not same]
    refused = [name for name, why in result.lost.items() if why.startswith("headroom")]
    theirs = [name for name in result.lost if name not in refused]
    said = [
        "the same" if result.same and not other else None,
        other and "other: " + ", ".join(other),
        refused and "refused: " + ", ".join(refused),
        theirs and "the model itself fails: " + ", ".join(theirs),
    ]
    return "; ".join(one for one in said if one)


def row(*cells):
    return "| " + " | ".join(cells) + " |\n"


def whole_words(name, family):
    result = families.measure_whole(family)
    error = f"{max(result.errors.values()):.1e}".replace("e-0", "e-")
    others = sum(result.fallbacks.values())
    return f"{error}; {result.calls}, {others} others; {same_words(result)}"


def times_rows(file, all_of_ours):
    """A row for each thing that ours is compared with."""
    path = pathlib.Path(__file__).with_name(file)
    for one in json.loads(path.read_text()).values():
        for other in one["prompt"]:
            if other in all_of_ours:
                continue
            cells = [one["model"], other.replace("sdpa", "SDPA")]
            for kind in ("prompt", "step"):
                times = one.get(kind, {})
                ms = times.get(other, 0)
                cells.append((f"{ms:.0f}" if ms >= 100 else f"{ms:.3g}") if times else "-")
                for ours in all_of_ours:
                    cells.append(f"{times[other] / times[ours]:.2f}" if ours in times else "-")
            yield row(*cells)


def times_words():
    rows = "".join(times_rows("times.json", ("hook", "layer")))
    by_tiles = "".join(times_rows("times-amx.json", ("hook", "layer", "layer bf16x6")))
    return TIMES.format(rounds=9, threads="one thread") + rows + TIMES_END + TILES.format(precision="precision" + ".md") + by_tiles


def measured_row(name, entries):
    result = families.measure(families.FAMILIES[name])
    others = sum(result.fallbacks.values())
    return row(
        title(name, entries),
        features_of(entries),
        links_of(entries),
        f"{max(result.errors.values()):.1e}".replace("e-0", "e-"),
        f"{max(result.half.values()):.2f}",
        f"{result.calls}, {others} others",
        same_words(result),
        whole_words(name, families.FAMILIES[name]),
    )


def refused_row(name, entries):
    try:
        families.make(families.ALONE[name], "headroom")
    except ValueError as error:
        said = "refused: " + str(error).split(",")[0]
    else:
        said = "taken"
    whole = whole_words(name, families.ALONE[name])
    return row(title(name, entries), features_of(entries), links_of(entries), said, whole)


def title(name, entries):
    plain = {"deepseek_plain": " (plain q)", "falcon_new": " 40B", "falcon_rw": "-RW"}
    return entries[0]["family"] + plain.get(name, "")


def main():
    assert families.LIMIT == 2e-6
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    register_transformers()
    entries = {}
    for entry in json.loads((ROOT / "tests/data/models/models.json").read_text()):
        entries.setdefault(entry["folder"], []).append(entry)
    page = HEAD.format(
        guide="python" + ".md", words="../tests/models/README" + ".md", batch=families.BATCH, new=families.NEW, none="-",
        torch=torch.__version__.split("+")[0], transformers=transformers.__version__,
    )  # fmt: skip
    page += "".join(measured_row(name, entries[name]) for name in families.FAMILIES)
    page += TAIL + "".join(refused_row(name, entries[name]) for name in families.ALONE)
    page += times_words()
    sys.stdout.write(page)


if __name__ == "__main__":
    main()

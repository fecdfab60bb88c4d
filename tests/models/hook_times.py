#!/usr/bin/env python3
"""Times of one attention layer of each family: ours beside the model's own, for docs/models.md.

    OMP_NUM_THREADS=1 python3 tests/models/hook_times.py times.json [--precision bf16x6] [FAMILY ...]

The layer has the sizes of a published model, float32 and random weights, and is called as the model
calls it: a prompt, and a token after 4,096. All ways take turns, on one thread. With --precision our whole
layer takes part a second time, computed so. Results are added to the file; some minutes for each of the
largest families.
"""

import argparse
import json
import os
import pathlib
import statistics
import time
import warnings

import torch
import transformers
from headroom.torch import accelerate, fallbacks, register_transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

ROUNDS, PROMPT, PAST = 9, 1024, 4096
THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))

_LITTLE = {
    "vocab_size": 64, "num_hidden_layers": 2, "intermediate_size": 64, "pad_token_id": 0, "max_position_embeddings": 8192,
}  # fmt: skip


def llama(model, width, heads, kv_heads, head_dim, **more):
    sizes = {
        "hidden_size": width, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim,
    }  # fmt: skip
    return model, {**_LITTLE, **sizes, **more}


_FULL = {"layer_types": ["sliding_attention", "full_attention"]}
_LONG = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
_BERT = {**_LITTLE, "hidden_size": 768, "num_attention_heads": 12, "max_position_embeddings": 1026}

# By folder of tests/data/models: which published model has these sizes, and its configuration.
SIZES = {
    "llama3": llama("Llama 3.2 1B", 2048, 32, 8, 64, rope_parameters=_LONG),
    "qwen3": llama("Qwen3 0.6B", 1024, 16, 8, 128),
    "qwen3_next": llama(
        "Qwen3-Next 80B-A3B", 2048, 16, 2, 256, layer_types=["full_attention"] * 2, num_experts=2,
        num_experts_per_tok=1, moe_intermediate_size=8, shared_expert_intermediate_size=8,
    ),
    "gemma2": llama("Gemma 2 2B", 2304, 8, 4, 256, query_pre_attn_scalar=256, **_FULL),
    "gemma3": llama("Gemma 3 1B", 1152, 4, 1, 256, query_pre_attn_scalar=256, sliding_window=512, **_FULL),
    "gpt_oss": llama(
        "gpt-oss 20B", 2880, 64, 8, 64, num_local_experts=2, num_experts_per_tok=1, **_FULL
    ),
    "mistral": llama("Mistral 7B v0.3", 4096, 32, 8, 128, sliding_window=None),
    "phi4": llama("Phi-4-mini without longrope", 3072, 24, 8, 128),
    "olmo2": llama("OLMo 2 1B", 2048, 16, 16, 128),
    "granite": llama("Granite 3.3 2B", 2048, 32, 8, 64, attention_multiplier=0.015625),
    "modernbert": ("ModernBERT base", {**_LITTLE, "hidden_size": 768, "num_attention_heads": 12}),
    "bert": ("BERT base", _BERT),
    "roberta": ("RoBERTa base", _BERT),
    "vit": (
        "ViT base, 1,025 patches",
        {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 64, "num_hidden_layers": 2,
         "image_size": 512, "patch_size": 16, "num_labels": 2},
    ),
    "falcon_rw": (
        "Falcon-RW 1B",
        {"vocab_size": 64, "hidden_size": 2048, "num_attention_heads": 32, "num_hidden_layers": 2, "ffn_hidden_size": 64,
         "alibi": True, "multi_query": False, "parallel_attn": False, "bias": True},
    ),
    "bloom": ("BLOOM 560M", {"vocab_size": 64, "hidden_size": 1024, "n_head": 16, "n_layer": 2}),
}  # fmt: skip
KINDS = {
    "llama3": "llama", "gemma3": "gemma3_text", "phi4": "phi3", "falcon_rw": "falcon",
}  # fmt: skip
AUTOS = {
    "modernbert": "AutoModelForMaskedLM", "bert": "AutoModelForMaskedLM", "roberta": "AutoModelForMaskedLM",
    "vit": "AutoModelForImageClassification",
}  # fmt: skip


def make(name, way):
    config = CONFIG_MAPPING[KINDS.get(name, name)](**SIZES[name][1])
    auto = getattr(transformers, AUTOS.get(name, "AutoModelForCausalLM"))
    return auto.from_config(config, attn_implementation=way).eval()


def attention_of(model):
    """The second layer's, which has no window in any of these."""
    found = [m for n, m in model.named_modules() if type(m).__name__.endswith("Attention") and "1." in n]
    selves = [m for n, m in model.named_modules() if type(m).__name__.endswith("SelfAttention") and "1." in n]
    inside = [m for n, m in model.named_modules() if n.endswith("1.attention")]
    return (inside if selves else found)[0]


class Way:
    """One way to compute the layer: its module and what the model hands it."""

    def __init__(self, name, state, way):
        self.way = way
        kind, _, precision = way.partition(" ")
        self.whole = kind == "layer"
        self.model = make(name, {"hook": register_transformers(threads=THREADS), "layer": others_of(name)[0]}.get(kind, way))
        self.model.load_state_dict(state)
        if self.whole:
            self.made = accelerate(self.model, rows=PROMPT, threads=THREADS, precision=precision or "f32")
        self.module = attention_of(self.model)
        self.given = None

    def capture(self, **given):
        kept = []
        hook = self.module.register_forward_pre_hook(lambda _, args, kwargs: kept.append((args, dict(kwargs))),
                                                     with_kwargs=True)  # fmt: skip
        self.model(**given)
        hook.remove()
        self.given = kept[0]

    def prompt(self, tokens):
        given = {"pixel_values": torch.randn(1, 3, 512, 512)} if tokens is None else {"input_ids": tokens}
        if tokens is not None and self.model.can_generate():
            given["use_cache"] = False
        self.capture(**given)

    def step(self, tokens):
        """After a cache that the layer itself fills, with what it sees at every place."""
        if self.way == "flex_attention":  # what it compiles for several shapes does not compile
            torch._dynamo.reset()
        config = self.model.config
        self.cache = transformers.DynamicCache(config=config)
        if self.whole:
            for first in range(0, PAST, PROMPT):
                self.model(input_ids=tokens[:, first : first + PROMPT], cache=self.cache)
        else:
            heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
            dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
            if type(self.module).__name__ == "FalconAttention" and not config.multi_query:
                heads = config.num_attention_heads
            for layer in range(config.num_hidden_layers):
                self.cache.update(*torch.randn(2, 1, heads, PAST, dim), layer)
        self.capture(input_ids=tokens[:, :1], cache=self.cache)
        self.cache.layers[1].crop(-1)

    def call(self, crop):
        args, kwargs = self.given
        begin = time.perf_counter()
        self.module(*args, **kwargs)
        spent = time.perf_counter() - begin
        if crop:
            layer = self.cache.layers[1]
            layer.crop(-1)
        return spent


def interleaved(ways, crop, most):
    """Milliseconds by way: medians of rounds in which all take turns, after one that does not count."""
    times = {way.way: [] for way in ways}
    rounds = 0
    begin = time.perf_counter()
    while rounds <= ROUNDS or (time.perf_counter() - begin < most and rounds <= 10 * ROUNDS):
        for way in ways:
            spent = way.call(crop)
            if rounds:
                times[way.way].append(1e3 * spent)
        rounds += 1
    return {way: statistics.median(all_of) for way, all_of in times.items()}


def others_of(name):
    if name == "gemma2":
        return ["eager", "flex_attention"]  # sdpa cannot cap
    if name == "gpt_oss":
        return ["eager"]  # nothing else has sinks
    if name == "bloom":
        return ["eager"]
    if name == "falcon_rw":
        return ["sdpa"]  # eager adds the bias twice
    return ["eager", "sdpa"]


def ours_of(name):
    return ["layer"] if name in ("falcon_rw", "bloom") else ["hook", "layer"]


@torch.inference_mode()
def measure(name, precision):
    torch.manual_seed(1)
    state = make(name, others_of(name)[0]).state_dict()
    more = [f"layer {precision}"] if precision else []
    ways = [Way(name, state, way) for way in (*others_of(name), *ours_of(name), *more)]
    tokens = None if name == "vit" else torch.randint(3, 60, (1, PAST))
    fallbacks(reset=True)
    for way in ways:
        way.prompt(None if tokens is None else tokens[:, :PROMPT])
    found = {"model": SIZES[name][0], "prompt": interleaved(ways, False, 3)}
    if name not in AUTOS:
        for way in ways:
            way.step(tokens)
        found["step"] = interleaved(ways, True, 2)
    assert not fallbacks(), fallbacks()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("family", nargs="*", help="all by default", metavar="FAMILY")
    parser.add_argument("--precision", help="of our layer, beside f32")
    given = parser.parse_intermixed_args()
    if unknown := [name for name in given.family if name not in SIZES]:
        parser.error(f"unknown: {', '.join(unknown)}; allowed are {', '.join(SIZES)}")
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    torch.set_num_threads(THREADS)
    for name in given.family or SIZES:
        all_of = json.loads(given.file.read_text()) if given.file.exists() else {}
        all_of[name] = {**measure(name, given.precision), "threads": THREADS}
        given.file.write_text(json.dumps(all_of, indent=1) + "\n")
        print(name, json.dumps(all_of[name]), flush=True)


if __name__ == "__main__":
    main()

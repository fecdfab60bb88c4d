"""What a call from Python costs, in alternating rounds.

    calls.py overhead   the layer called from Python beside the same calls from C++
    calls.py modules    headroom.torch beside the nn.MultiheadAttention that it was made from

Needs the package headroom, and for tensors and modules PyTorch. Others that use the machine
meanwhile lengthen all times; ratios of neighbours suffer least.
"""

import argparse
import statistics
import time

import numpy as np
from headroom import Attention

# Of the page of peers: batch, tokens, width, heads.
SHAPES = [
    (1, 128, 768, 12),
    (1, 1024, 768, 12),
    (1, 2048, 768, 12),
    (1, 512, 4096, 32),
    (1, 16, 768, 12),
    (1, 1, 4096, 32),
    (1, 16, 6144, 96),
    (1, 128, 6144, 96),
]


def seconds(call, calls, clock=time.perf_counter):
    start = clock()
    for _ in range(calls):
        call()
    return (clock() - start) / calls


def own_seconds(call, calls):
    """Processor time of this thread, which is the only one that works."""
    return seconds(call, calls, time.thread_time)


def overhead(rounds):
    width, calls = 64, 5000
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((4, width, width), dtype=np.float32) / 8
    layer = Attention(*weights, heads=4, tokens=1, threads=1)
    x = rng.standard_normal((1, width), dtype=np.float32)
    out = np.empty_like(x)
    ways = {
        "C++": lambda: layer._core.seconds(x, out, calls),
        "numpy, out=": lambda: own_seconds(lambda: layer(x, out), calls),
        "numpy": lambda: own_seconds(lambda: layer(x), calls),
    }
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None:
        tensor, result = torch.from_numpy(x), torch.from_numpy(out)
        ways["torch, out="] = lambda: own_seconds(lambda: layer(tensor, result), calls)
        ways["torch"] = lambda: own_seconds(lambda: layer(tensor), calls)
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(way())
    print(
        f"one token of width {width}, {layer.choice['backend']}, {rounds} rounds of {calls} calls"
    )
    base = times["C++"]
    for name, taken in times.items():
        over = [a - b for a, b in zip(taken, base)]
        print(
            f"  {name:12} median {1e6 * statistics.median(taken):6.2f} us, least"
            f" {1e6 * min(taken):6.2f} us; over C++ of the same round: median"
            f" {1e6 * statistics.median(over):6.2f} us"
        )


def modules(rounds):
    import torch
    from headroom.torch import MultiheadAttention

    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {rounds} rounds")
    print("  shape                     PyTorch      ours   ratio (median of the rounds, least)")
    for batch, tokens, width, heads in SHAPES:
        torch.manual_seed(0)
        module = torch.nn.MultiheadAttention(width, heads, batch_first=True).eval()
        ours = MultiheadAttention.from_module(module)
        mask = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        x = torch.randn(batch, tokens, width)
        options = {"need_weights": False, "attn_mask": mask, "is_causal": True}
        with torch.inference_mode():
            ours(x, x, x, **options), module(x, x, x, **options)
            once = seconds(lambda: module(x, x, x, **options), 2)  # noqa: B023
            calls = max(1, int(0.1 / once))
            pairs = []
            for i in range(rounds):
                both = {}
                for one in (module, ours) if i % 2 else (ours, module):
                    both[one] = seconds(lambda: one(x, x, x, **options), calls)  # noqa: B023
                pairs.append((both[module], both[ours]))
        ratios = [a / b for a, b in pairs]
        a, b = (statistics.median(column) for column in zip(*pairs))
        shape = f"B{batch}_T{tokens}_D{width}_H{heads}"
        print(
            f"  {shape:22} {1e3 * a:8.3f} ms {1e3 * b:8.3f} ms   {statistics.median(ratios):5.2f}"
            f" {min(ratios):5.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["overhead", "modules"])
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()
    {"overhead": overhead, "modules": modules}[arguments.what](arguments.rounds)


if __name__ == "__main__":
    main()

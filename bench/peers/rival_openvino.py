"""OpenVINO's CPU plugin, held to f32, or told that bf16 will do: rival_openvino.py [bf16]. Attention
alone where the problem has no weights; with cq8 over a cache of u8. With q8 | q4 [int8] weights are
compressed in groups of 32, and the plugin may multiply int8, if asked for."""
import math
import sys
from typing import Any, Dict, List, Tuple

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from few_bits import BITS, GROUP, grouped, nibbles
from openvino_cache import is_step, step_of
from peer import Layer, Problem, Rival, Variant, each_way, serve


STORED = next((name for name in sys.argv[1:] if name in BITS), "")
INT8 = "int8" in sys.argv[1:]
HINT = ov.Type.bf16 if "bf16" in sys.argv[1:] else ov.Type.f32
CACHE = ov.Type.u8 if "cq8" in sys.argv[1:] else HINT


class OpenVino(Rival):
    def about(self) -> Tuple[str, Dict[str, Any]]:
        settings = {key: str(value) for key, value in config(1).items()}
        settings["INFERENCE_NUM_THREADS"] = "the threads of the cell"
        version = f"openvino {ov.__version__.split('-')[0]}"
        return f"{version}, {few_bits_note()}" if STORED else version, settings

    def variants(self, problem: Problem) -> List[Variant]:
        if problem.shape["d_in"] == 0:
            return alone(problem)
        return each_way(
            ("operator", "products"),
            lambda fused, choice: compiled(problem, fused, choice == "operator"),
        )


def alone(problem: Problem) -> List[Variant]:
    def cache() -> Layer:
        return step_of(problem, config(problem.threads), CACHE)

    kept = [Variant("cache", "attention", cache)]
    if CACHE != HINT:
        return kept
    given = [
        Variant("operator", "attention", lambda: attention_of(problem, True)),
        Variant("products", "attention", lambda: attention_of(problem, False)),
    ]
    return given + (kept if is_step(problem) else [])


def config(threads: int) -> Dict[str, Any]:
    # Activations rounded to int8, by groups of this size; 0 for none.
    rounded = {"DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP if INT8 else 0} if STORED else {}
    return {
        **rounded,
        "INFERENCE_PRECISION_HINT": HINT,  # by itself bf16 where the processor has it
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,  # the process is pinned
        "ENABLE_HYPER_THREADING": True,  # all cores that it is pinned to
    }


def few_bits_note() -> str:
    return f"weights compressed to {STORED}, {'int8' if INT8 else 'float32'} products"


KEPT: List[Any] = []  # a tensor that shares an array's memory does not keep the array


def tensor_of(values: Any) -> Any:
    KEPT.append(values)
    return ov.Tensor(values, shared_memory=True)


def attended(
    query: Any, key: Any, value: Any, head_dim: int, tokens: int, past: int, operator: bool
) -> Any:
    """The context of heads, (batch, heads, tokens, head_dim)."""
    if operator and past == 0:
        return ops.scaled_dot_product_attention(query, key, value, causal=True)
    # Its causal mask counts from the first key.
    mask = np.triu(np.full((tokens, past + tokens), -np.inf, np.float32), past + 1)[None, None]
    if operator:
        given = [] if tokens == 1 else [ops.constant(mask)]
        return ops.scaled_dot_product_attention(query, key, value, *given)
    # The plugin may make an operator of these, or a faster sequence.
    scale = ops.constant(np.float32(1 / math.sqrt(head_dim)))
    scores = ops.multiply(ops.matmul(query, key, False, True), scale)
    weights = ops.softmax(ops.add(scores, ops.constant(mask)), 3)
    return ops.matmul(weights, value, False, False)


def attention_of(problem: Problem, operator: bool) -> Layer:
    """Keys and values are inputs like the queries, for a constant might be prepared beforehand."""
    batch, tokens, width, heads = problem.sizes
    head_dim, keys = width // heads, problem.past + tokens
    order = np.array([0, 2, 1, 3], np.int64)
    # Where ours lie: after a past head by head, as OpenVINO has them.
    rows = [batch, tokens, heads, head_dim]
    by_head = problem.past > 0
    of_key = [batch, heads, keys, head_dim] if by_head else [batch, keys, heads, head_dim]
    q = ops.parameter(rows, ov.Type.f32, name="q")
    k = ops.parameter(of_key, ov.Type.f32, name="k")
    v = ops.parameter(of_key, ov.Type.f32, name="v")
    key, value = (k, v) if by_head else (ops.transpose(k, order), ops.transpose(v, order))
    context = attended(ops.transpose(q, order), key, value, head_dim, tokens, problem.past, operator)
    model = ov.Model([ops.result(ops.transpose(context, order))], [q, k, v], "attention")

    def placed(name: str) -> Any:
        read = problem.heads(name)
        lies = read.transpose(0, 2, 1, 3) if by_head and not name.startswith("x") else read
        return tensor_of(np.ascontiguousarray(lies))

    fixed = {1: placed("key"), 2: placed("value")}
    inputs = [placed(f"x{i}") for i in range(problem.inputs)]
    return request_of(model, problem, inputs, fixed, operator)


def model_of(problem: Problem, fused: bool, operator: bool) -> ov.Model:
    batch, tokens, width, heads = problem.sizes
    head_dim = width // heads
    x = ops.parameter([batch, tokens, width], ov.Type.f32, name="x")

    def product(node: Any, weight: Any) -> Any:
        if STORED:
            return ops.matmul(node, compressed(weight), False, True)
        return ops.matmul(node, ops.constant(weight), False, False)

    def by_head(node: Any) -> Any:
        split = ops.reshape(node, np.array([batch, tokens, heads, head_dim], np.int64), False)
        return ops.transpose(split, np.array([0, 2, 1, 3], np.int64))

    if fused:
        parts = ops.split(product(x, problem.fused()), ops.constant(np.int64(2)), 3)
        query, key, value = (by_head(parts.output(i)) for i in range(3))
    else:
        names = ("query", "key", "value")
        query, key, value = (by_head(product(x, problem.matrix(n))) for n in names)
    context = attended(query, key, value, head_dim, tokens, 0, operator)
    rows = ops.transpose(context, np.array([0, 2, 1, 3], np.int64))
    merged = ops.reshape(rows, np.array([batch, tokens, width], np.int64), False)
    y = ops.add(product(merged, problem.matrix("output")), ops.constant(problem.bias()))
    return ov.Model([ops.result(y)], [x], "layer")


def compressed(weight: Any) -> Any:
    """(out, in), in the operations by which the plugin knows compressed weights."""
    values, scales = grouped(weight, BITS[STORED])
    shape = list(values.shape)
    if STORED == "q8":
        constant = ops.constant(values)
    else:
        packed = nibbles(values.astype(np.uint8) & 15).reshape(-1)
        KEPT.append(packed)  # the constant shares its memory
        constant = ops.constant(ov.Tensor(packed, shape, ov.Type.i4))
    as_half = ops.convert(constant, "f16")
    scaled = ops.multiply(as_half, ops.constant(scales[..., None].astype(np.float16)))
    depth, width = weight.shape
    whole = ops.reshape(scaled, np.array([width, depth], np.int64), False)
    return ops.convert(whole, "f32")


def compiled(problem: Problem, fused: bool, operator: bool) -> Layer:
    inputs = [tensor_of(x) for x in problem.xs()]
    return request_of(model_of(problem, fused, operator), problem, inputs, {}, operator)


def request_of(
    graph: ov.Model, problem: Problem, inputs: List[Any], fixed: Dict[int, Any], operator: bool
) -> Layer:
    model = ov.Core().compile_model(graph, "CPU", config(problem.threads))
    precision = model.get_property("INFERENCE_PRECISION_HINT")
    threads = model.get_property("INFERENCE_NUM_THREADS")
    if precision != HINT or threads != problem.threads:
        raise RuntimeError(f"OpenVINO took {precision} and {threads} threads")
    request = model.create_infer_request()
    for index, tensor in fixed.items():
        request.set_input_tensor(index, tensor)
    # The binding below the Python class: no inputs to convert, no outputs to copy.
    infer = super(type(request), request).infer

    def call(i: int) -> None:
        request.set_input_tensor(0, inputs[i])
        infer({}, True, False)

    def output(i: int) -> Any:
        call(i)
        return np.array(request.get_output_tensor(0).data, np.float32)

    output(0)
    note = "SDPA operator" if operator else "MatMul, Softmax, MatMul"
    return Layer(call, output, f"{few_bits_note()}, {note}" if STORED else note)


if __name__ == "__main__":
    serve(OpenVino)

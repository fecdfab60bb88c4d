"""Attention alone in ONNX Runtime: operators over prompts, and GroupQueryAttention, which also
appends to a cache of floats or of eight bits and attends to all of it."""
from typing import Any, Dict, List, Tuple

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from peer import Layer, Problem, Variant

CONTRIB = "com.microsoft"
SCALES = {"tensor": "PER_TENSOR", "channel": "PER_CHANNEL"}
PAST = {"past_key": "key", "past_value": "value"}


def options_of(threads: int) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    return options


def model_of(nodes: List[Any], inputs: List[Any], outputs: List[Any], constants: List[Any]) -> Any:
    graph = helper.make_graph(nodes, "layer", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 11
    return model


def on_cpu(values: Any) -> ort.OrtValue:
    return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(values), "cpu")


def bound_layer(session: ort.InferenceSession, bound: List[Any], y: ort.OrtValue, note: str) -> Layer:
    """@param bound: of each input, with `y` as its output"""

    def call(i: int) -> None:
        session.run_with_iobinding(bound[i])

    def output(i: int) -> Any:
        call(i)
        return y.numpy().copy()

    output(0)
    return Layer(call, output, note)


def variants(problem: Problem, cached: bool) -> List[Variant]:
    """@param cached: keys and values of eight bits"""

    def one(name: str, scales: str = "") -> Variant:
        return Variant(name, "attention", lambda: alone(problem, name, scales))

    if cached:
        return [one(f"contrib-GroupQueryAttention-{scales}", scales) for scales in SCALES]
    prompts = [one("contrib-MultiHeadAttention"), one("onnx-Attention")]
    return [one("contrib-GroupQueryAttention")] + (prompts if problem.past == 0 else [])


def rounded(rows: Any, scales: str) -> Tuple[Any, Any]:
    """Bytes of (batch, heads, keys, head_dim), and scales that have seen all of them: an operator
    takes them as they were found beforehand."""
    axes = None if scales == "tensor" else (0, 2)
    largest = np.abs(rows).max(axis=axes, keepdims=axes is not None)
    scale = np.atleast_1d(np.maximum(largest, np.float32(1e-30)) / np.float32(127))
    return np.clip(np.rint(rows / scale), -128, 127).astype(np.int8), scale.astype(np.float32)


def graph_of(problem: Problem, name: str, scales: Dict[str, Any]) -> onnx.ModelProto:
    batch, tokens, width, heads = problem.sizes
    keys, value = problem.past + tokens, helper.make_tensor_value_info
    rows = [batch, tokens, width]
    inputs = [value(short, TensorProto.FLOAT, rows) for short in "qkv"]
    outputs = [value("y", TensorProto.FLOAT, rows)]
    if name == "contrib-MultiHeadAttention":
        kind = {"domain": CONTRIB, "num_heads": heads, "unidirectional": 1}
        node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], **kind)
        return model_of([node], inputs, outputs, [])
    if name == "onnx-Attention":
        kind = {"is_causal": 1, "q_num_heads": heads, "kv_num_heads": heads}
        node = helper.make_node("Attention", ["q", "k", "v"], ["y"], **kind)
        return model_of([node], inputs, outputs, [])
    constant = numpy_helper.from_array
    constants = [constant(np.full(batch, keys - 1, np.int32), "lengths")]
    constants += [constant(np.array(keys, np.int32), "total")]
    constants += [constant(scale, of) for of, scale in scales.items()]
    cache, kept = [batch, heads, keys, width // heads], TensorProto.FLOAT
    names = ["q", "k", "v", *PAST, "lengths", "total"]
    kind = {"domain": CONTRIB, "num_heads": heads, "kv_num_heads": heads}
    if scales:
        kept = TensorProto.INT8
        names += [""] * 5 + list(scales)
        type_ = SCALES[name.rpartition("-")[2]]
        kind.update(k_quant_type=type_, v_quant_type=type_, kv_cache_bit_width=8)
    inputs += [value(past, kept, cache) for past in PAST]
    outputs += [value(f"{past}_and_new", kept, cache) for past in PAST]
    results = [output.name for output in outputs]
    node = helper.make_node("GroupQueryAttention", names, results, **kind)
    return model_of([node], inputs, outputs, constants)


def alone(problem: Problem, name: str, scales: str) -> Layer:
    """A cache is bound as what was and as what will be, so that a call writes its own keys where
    the call before it wrote the same ones."""
    batch, tokens, width, _ = problem.sizes
    caches, scale_of = {}, {}
    if "GroupQuery" in name:
        for past, short in PAST.items():
            rows = problem.heads(short).transpose(0, 2, 1, 3).copy()
            if scales:
                rows, scale_of[f"{short}_scale"] = rounded(rows, scales)
            rows[:, :, problem.past :] = 0  # for the call to write
            caches[past] = on_cpu(rows)
    model = graph_of(problem, name, scale_of).SerializeToString()
    session = ort.InferenceSession(
        model, options_of(problem.threads), providers=["CPUExecutionProvider"]
    )
    rows = [batch, tokens, width]
    new = {
        short: on_cpu(problem.heads(of)[:, problem.past :].reshape(rows))
        for short, of in (("k", "key"), ("v", "value"))
    }
    y = ort.OrtValue.ortvalue_from_shape_and_type(rows, np.float32, "cpu")
    bound = []
    for i in range(problem.inputs):
        binding = session.io_binding()
        inputs = {"q": on_cpu(problem.heads(f"x{i}").reshape(rows)), **new, **caches}
        for of, tensor in inputs.items():
            binding.bind_ortvalue_input(of, tensor)
        binding.bind_ortvalue_output("y", y)
        for past, tensor in caches.items():
            binding.bind_ortvalue_output(f"{past}_and_new", tensor)
        bound.append(binding)
    return bound_layer(session, bound, y, f"{name}{', int8 cache' if scales else ''}")

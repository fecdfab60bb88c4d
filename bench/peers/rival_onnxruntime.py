"""ONNX Runtime: one graph per attention operator, bound inputs and outputs. With
rival_onnxruntime.py q8 | q4 [int8] the four products are MatMulNBits: weights in groups of 32, and
products of float32 or, if asked for, of int8. Attention alone where the problem has no weights; with
cq8 over a cache of int8."""
import os
import sys
from typing import Any, Dict, List, Tuple

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from few_bits import BITS, GROUP, grouped, nibbles
from onnxruntime_attention import CONTRIB, bound_layer, model_of, on_cpu, options_of
from onnxruntime_attention import variants as variants_alone
from peer import Layer, Problem, Rival, Variant, serve

STORED = next((name for name in sys.argv[1:] if name in BITS), "")
INT8 = "int8" in sys.argv[1:]
LARGEST = 2**31 - 2**20  # of a model in one piece
# Name, formulation, and whether q, k, v come from one product.
OPERATORS = [
    ("contrib-Attention", "fused"),
    ("contrib-GroupQueryAttention-packed", "fused"),
    ("contrib-MultiHeadAttention", "split"),
    ("contrib-GroupQueryAttention", "split"),
    ("onnx-Attention", "split"),
]


class OnnxRuntime(Rival):
    def about(self) -> Tuple[str, Dict[str, Any]]:
        return f"onnxruntime {ort.__version__}{', ' + few_bits_note() if STORED else ''}", {
            "onnx": onnx.__version__,
            "execution": "sequential, all optimisations, CPUExecutionProvider",
            "binding": "inputs and output bound once, nothing is copied",
        }

    def variants(self, problem: Problem) -> List[Variant]:
        if problem.shape["d_in"] == 0:
            return variants_alone(problem, "cq8" in sys.argv[1:])
        return [
            Variant(name, formulation, lambda name=name: session_layer(problem, name))
            for name, formulation in OPERATORS
            if not (STORED and name == "contrib-Attention")  # it does the product itself
        ]


def few_bits_note() -> str:
    return f"MatMulNBits {STORED}, {'int8' if INT8 else 'float32'} products"


def product(weight: Any, source: str, to: str) -> Tuple[Any, List[Any]]:
    """The node of `to = source weight`, and its constants."""
    constant = numpy_helper.from_array
    name = f"w-{to}"
    if not STORED:
        node = helper.make_node("MatMul", [source, name], [to])
        return node, [constant(weight, name)]
    bits = BITS[STORED]
    values, scales = grouped(weight, bits)
    # Unsigned, and by themselves from the middle of their range.
    stored = (values.astype(np.int16) + 2 ** (bits - 1)).astype(np.uint8)
    stored = stored if bits == 8 else nibbles(stored)
    depth, width = weight.shape
    node = helper.make_node(
        "MatMulNBits",
        [source, name, f"{name}-scales"],
        [to],
        domain=CONTRIB,
        K=depth,
        N=width,
        bits=bits,
        block_size=GROUP,
        accuracy_level=4 if INT8 else 1,
    )
    return node, [constant(stored, name), constant(scales, f"{name}-scales")]


def graph_of(problem: Problem, name: str) -> onnx.ModelProto:
    batch, tokens, width, heads = problem.sizes
    node, weight = helper.make_node, numpy_helper.from_array
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, tokens, width])]
    constants, nodes = [weight(problem.bias(), "bo")], []

    def multiply(matrix: Any, source: str, to: str) -> None:
        added, needs = product(matrix, source, to)
        nodes.append(added)
        constants.extend(needs)

    if name.endswith("-packed"):
        multiply(problem.fused(), "x", "qkv")
    elif name != "contrib-Attention":
        for short, n in {"q": "query", "k": "key", "v": "value"}.items():
            multiply(problem.matrix(n), "x", short)
    if name == "contrib-Attention":  # does the product itself
        constants.append(weight(problem.fused(), "wqkv"))
        constants.append(weight(np.zeros(3 * width, np.float32), "no-bias"))
        inputs = ["x", "wqkv", "no-bias"]
        nodes = [
            node("Attention", inputs, ["c"], domain=CONTRIB, num_heads=heads, unidirectional=1)
        ]
    elif name == "contrib-MultiHeadAttention":
        kind = {"domain": CONTRIB, "num_heads": heads, "unidirectional": 1}
        nodes.append(node("MultiHeadAttention", ["q", "k", "v"], ["c"], **kind))
    elif name.startswith("contrib-GroupQueryAttention"):  # causal by definition
        lengths = [np.full(batch, tokens - 1, np.int32), np.array(tokens, np.int32)]
        constants += [weight(lengths[0], "lengths"), weight(lengths[1], "total")]
        inputs = ["qkv", "", ""] if name.endswith("-packed") else ["q", "k", "v"]
        inputs += ["", "", "lengths", "total"]
        kind = {"domain": CONTRIB, "num_heads": heads, "kv_num_heads": heads}
        nodes.append(node("GroupQueryAttention", inputs, ["c", "keys", "values"], **kind))
        cache = [batch, heads, tokens, width // heads]
        for kept in ("keys", "values"):
            outputs.append(helper.make_tensor_value_info(kept, TensorProto.FLOAT, cache))
    else:
        kind = {"is_causal": 1, "q_num_heads": heads, "kv_num_heads": heads}
        nodes.append(node("Attention", ["q", "k", "v"], ["c"], **kind))
    multiply(problem.matrix("output"), "c", "product")
    nodes.append(node("Add", ["product", "bo"], ["y"]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, tokens, width])
    return model_of(nodes, [x], outputs, constants)


def open_session(problem: Problem, name: str) -> ort.InferenceSession:
    model = graph_of(problem, name)
    if model.ByteSize() < LARGEST:
        source: Any = model.SerializeToString()
    else:
        source = os.path.join(problem.folder, f"{name}.onnx")
        onnx.save_model(model, source, save_as_external_data=True, location=f"{name}.data")
    return ort.InferenceSession(source, options_of(problem.threads), providers=["CPUExecutionProvider"])


def session_layer(problem: Problem, name: str) -> Layer:
    batch, tokens, width, _ = problem.sizes
    session = open_session(problem, name)
    y = ort.OrtValue.ortvalue_from_shape_and_type([batch, tokens, width], np.float32, "cpu")
    bound = []
    for x in problem.xs():
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", on_cpu(x))
        binding.bind_ortvalue_output("y", y)
        for output in session.get_outputs()[1:]:
            binding.bind_output(output.name, "cpu")
        bound.append(binding)
    return bound_layer(session, bound, y, f"{few_bits_note()}, {name}" if STORED else name)


if __name__ == "__main__":
    serve(OnnxRuntime)

"""A step over a cache that OpenVINO keeps as a state, as models exported for it have one: its CPU
plugin makes one operation of it."""
from typing import Any, Dict, Tuple

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from openvino.op.util import Variable, VariableInfo
from peer import Layer, Problem

# A call appends a key that nothing takes away again. Once calls have added so small a share of the
# past, the state is set to the past again.
GROWTH = 200
BY_HEAD = np.array([0, 2, 1, 3], np.int64)


def step_model(problem: Problem) -> ov.Model:
    """Inputs: query, key and value of the new token, (batch, 1, heads, head_dim), and which
    sequence of the state each one continues: without that the plugin makes no operation of it."""
    batch, _, width, heads = problem.sizes
    head_dim = width // heads
    rows = ov.PartialShape([-1, -1, heads, head_dim])
    query, key, value = (ops.parameter(rows, ov.Type.f32, name=name) for name in "qkv")
    order = ops.parameter(ov.PartialShape([-1]), ov.Type.i32, name="order")
    kept, assigned = [], []
    for name, new in (("key", key), ("value", value)):
        info = VariableInfo()
        info.variable_id = name
        info.data_type = ov.Type.f32
        info.data_shape = ov.PartialShape([-1, heads, -1, head_dim])
        variable = Variable(info)
        nothing = ops.constant(np.zeros((batch, heads, 0, head_dim), np.float32))
        past = ops.gather(ops.read_value(nothing, variable), order, ops.constant(np.int64(0)))
        kept.append(ops.concat([past, ops.transpose(new, BY_HEAD)], 2))
        assigned.append(ops.assign(kept[-1], variable))
    context = ops.scaled_dot_product_attention(ops.transpose(query, BY_HEAD), *kept)
    result = ops.result(ops.transpose(context, BY_HEAD))
    return ov.Model([result], assigned, [query, key, value, order], "step")


def require_fused(model: ov.CompiledModel, precision: ov.Type) -> None:
    """One operation that reads the cache as it is stored, not one that is fed a state of floats."""
    kept = []
    for node in model.get_runtime_model().get_ops():
        told = node.get_rt_info()
        if "kv_cache_precision" in told:
            kept.append(told["kv_cache_precision"].astype(str))
    if kept != [precision.get_type_name()]:
        raise RuntimeError(f"OpenVINO keeps caches of {kept}, not one of {precision}")


class Step:
    """One token a call after the same past, or a past that has grown by calls before it."""

    def __init__(self, model: ov.CompiledModel, problem: Problem) -> None:
        batch, past = problem.sizes[0], problem.past
        self.request = model.create_infer_request()
        self.given = [np.ascontiguousarray(problem.heads(f"x{i}")) for i in range(problem.inputs)]
        self.queries = [ov.Tensor(x, shared_memory=True) for x in self.given]
        self.order = np.arange(batch, dtype=np.int32)
        self.past: Dict[str, Tuple[Any, ov.Tensor]] = {}  # a tensor does not keep its array
        for index, name in enumerate(("key", "value"), 1):
            read = problem.heads(name)
            self.request.set_input_tensor(index, ov.Tensor(np.ascontiguousarray(read[:, past:])))
            before = np.ascontiguousarray(read[:, :past].transpose(0, 2, 1, 3))
            self.past[name] = before, ov.Tensor(before, shared_memory=True)
        self.request.set_input_tensor(3, ov.Tensor(self.order, shared_memory=True))
        # The binding below the Python class: no inputs to convert, no outputs to copy.
        self.infer = super(type(self.request), self.request).infer

    def restart(self) -> None:
        for state in self.request.query_state():
            state.state = self.past[state.name][1]

    def call(self, i: int) -> None:
        self.request.set_input_tensor(0, self.queries[i])
        self.infer({}, True, False)

    def output(self, i: int) -> Any:
        self.restart()
        self.call(i)
        return np.array(self.request.get_output_tensor(0).data, np.float32)


def is_step(problem: Problem) -> bool:
    return problem.past > 0 and problem.sizes[1] == 1


def step_of(problem: Problem, config: Dict[str, Any], precision: ov.Type) -> Layer:
    """@param precision: of the cache"""
    told = {**config, "KV_CACHE_PRECISION": precision}
    model = ov.Core().compile_model(step_model(problem), "CPU", told)
    require_fused(model, precision)
    step = Step(model, problem)
    step.output(0)
    room = max(1, problem.past // GROWTH)
    note = f"SDPA operator over its cache of {precision.get_type_name()}"
    return Layer(step.call, step.output, note, step.restart, room)

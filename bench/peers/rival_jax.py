"""JAX on the CPU: jit, compiled ahead, weights as constants or as arguments, attention by its own
function or by products."""
from typing import Any, Dict, List, Tuple

import jax
import jax.numpy as jnp
import numpy as np
from peer import Layer, Problem, Rival, Variant, each_way, serve

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_default_matmul_precision", "highest")
# A caller that waits for each result would wait for a thread to start it as well.
jax.config.update("jax_cpu_enable_async_dispatch", False)


class Jax(Rival):
    def about(self) -> Tuple[str, Dict[str, Any]]:
        return f"jax {jax.__version__}", {
            "matmul_precision": "highest",
            "async_dispatch": False,
            "threads": "as many as the cores it is pinned to; XLA_FLAGS for one",
        }

    def variants(self, problem: Problem) -> List[Variant]:
        return each_way(WAYS, lambda *way: compiled(problem, *way))


WAYS = ("constants", "arguments", "products")  # the last with weights as constants


def by_products(query: Any, key: Any, value: Any) -> Any:
    """As dot_product_attention, with the heads side by side and the softmax in f32 as there."""
    tokens, head_dim = query.shape[1], query.shape[3]
    scores = jnp.einsum("bqhd,bkhd->bhqk", query * np.float32(head_dim**-0.5), key)
    hidden = jnp.asarray(np.triu(np.full((tokens, tokens), -np.inf, np.float32), 1))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores + hidden), value)


def compiled(problem: Problem, fused: bool, way: str) -> Layer:
    batch, tokens, width, heads = problem.sizes
    each = (batch, tokens, heads, width // heads)
    weights_of = [*problem.wide(fused), problem.matrix("output"), problem.bias()]
    held = tuple(jnp.asarray(w) for w in weights_of)

    def layer(x: Any, *held: Any) -> Any:
        rows = x.reshape(batch * tokens, width)
        if fused:
            parts = (rows @ held[0]).reshape(batch, tokens, 3, *each[2:])
            query, key, value = parts[:, :, 0], parts[:, :, 1], parts[:, :, 2]
        else:
            query, key, value = ((rows @ w).reshape(each) for w in held[:3])
        if way == "products":
            context = by_products(query, key, value)
        else:
            context = jax.nn.dot_product_attention(query, key, value, is_causal=True)
        return (context.reshape(rows.shape) @ held[-2] + held[-1]).reshape(x.shape)

    xs = [jnp.asarray(x) for x in problem.xs()]
    if way != "arguments":
        whole = jax.jit(lambda x: layer(x, *held)).lower(xs[0]).compile()
        given: Tuple[Any, ...] = ()
    else:
        whole = jax.jit(layer).lower(xs[0], *held).compile()
        given = held

    def call(i: int) -> Any:
        return whole(xs[i], *given).block_until_ready()

    call(0)
    note = "products, softmax" if way == "products" else f"dot_product_attention, weights as {way}"
    return Layer(call, lambda i: np.array(call(i)), note)


if __name__ == "__main__":
    serve(Jax)

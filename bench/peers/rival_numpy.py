"""numpy on OpenBLAS: the layer composed of matrix products, as the definition reads."""
import math
from typing import Any, Dict, List, Tuple

import numpy as np

from peer import Layer, Problem, Rival, Variant, serve


def blas() -> Dict[str, Any]:
    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {"blas": f"{built['name']} {built['version']}"}


class Numpy(Rival):
    def about(self) -> Tuple[str, Dict[str, Any]]:
        return f"numpy {np.__version__}", {**blas(), "threads": "OPENBLAS_NUM_THREADS"}

    def variants(self, problem: Problem) -> List[Variant]:
        return [
            Variant("fused", "fused", lambda: composed(problem, fused=True)),
            Variant("split", "split", lambda: composed(problem, fused=False)),
        ]


def composed(problem: Problem, fused: bool) -> Layer:
    batch, tokens, width, heads = problem.sizes
    head_dim = width // heads
    xs = problem.xs()
    wide = problem.wide(fused)
    output, bias = problem.matrix("output"), problem.bias()
    scale = np.float32(1 / math.sqrt(head_dim))
    hidden = np.triu(np.full((tokens, tokens), -np.inf, np.float32), 1)
    # Allocated once and written by each call.
    scores = np.empty((batch, heads, tokens, tokens), np.float32)
    projected = [np.empty((batch * tokens, w.shape[1]), np.float32) for w in wide]

    def call(i: int) -> Any:
        rows = xs[i].reshape(batch * tokens, width)
        for w, to in zip(wide, projected):
            np.matmul(rows, w, out=to)
        if fused:
            parts = projected[0].reshape(batch, tokens, 3, heads, head_dim)
            query, key, value = parts.transpose(2, 0, 3, 1, 4)
        else:
            query, key, value = (
                p.reshape(batch, tokens, heads, head_dim).transpose(0, 2, 1, 3) for p in projected
            )
        np.matmul(query, key.swapaxes(2, 3), out=scores)
        np.multiply(scores, scale, out=scores)
        np.add(scores, hidden, out=scores)
        np.subtract(scores, scores.max(-1, keepdims=True), out=scores)
        np.exp(scores, out=scores)
        np.divide(scores, scores.sum(-1, keepdims=True), out=scores)
        merged = (scores @ value).transpose(0, 2, 1, 3).reshape(batch * tokens, width)
        return (merged @ output + bias).reshape(batch, tokens, width)

    return Layer(call, lambda i: np.ascontiguousarray(call(i)), "matmul, masked softmax, matmul")


if __name__ == "__main__":
    serve(Numpy)

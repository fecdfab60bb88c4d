"""A peer for tests that needs no library: fake_peer.py [dies | FILE]. With a file it counts its
launches there, and its third one after the first gives wrong results."""
import math
import os
import sys
from array import array
from typing import Any, Callable, Dict, List, Tuple

sys.path.insert(0, os.environ["PEERS_FOLDER"])
from peer import Layer, Problem, Rival, Variant, serve  # noqa: E402

Rows = List[List[float]]
WRONG_LAUNCH = 4  # one asks for the version, then come those that are measured


def read(problem: Problem, name: str, width: int) -> Rows:
    values = array("f")
    with open(problem.path(name), "rb") as file:
        values.frombytes(file.read())
    return [list(values[i : i + width]) for i in range(0, len(values), width)]


def product(rows: Rows, weight: Rows) -> Rows:
    columns = list(zip(*weight))
    return [[math.fsum(a * b for a, b in zip(row, c)) for c in columns] for row in rows]


def layer(problem: Problem, x: Rows) -> Rows:
    _, _, width, heads = problem.sizes
    wide = width // heads
    query, key, value = (product(x, read(problem, n, width)) for n in ("query", "key", "value"))
    merged = [[0.0] * width for _ in x]
    for head in range(heads):
        own = slice(head * wide, (head + 1) * wide)
        for i, row in enumerate(query):
            scores = [sum(a * b for a, b in zip(row[own], key[j][own])) for j in range(i + 1)]
            weights = [math.exp(score / math.sqrt(wide)) for score in scores]
            for column in range(own.start, own.stop):
                terms = (w * value[j][column] for j, w in enumerate(weights))
                merged[i][column] = sum(terms) / sum(weights)
    bias = read(problem, "output_bias", width)[0]
    y = product(merged, read(problem, "output", width))
    return [[a + b for a, b in zip(row, bias)] for row in y]


def attention(problem: Problem, x: str) -> List[float]:
    """Over given heads, as every file has them: token by token."""
    batch, tokens, width, heads = problem.sizes
    wide, keys = width // heads, problem.past + tokens
    query, key, value = (read(problem, name, width) for name in (x, "key", "value"))
    merged = []
    for row, q in enumerate(query):
        sequence, token = divmod(row, tokens)
        own = range(sequence * keys, sequence * keys + problem.past + token + 1)
        for head in range(heads):
            of = slice(head * wide, (head + 1) * wide)
            scores = [sum(a * b for a, b in zip(q[of], key[j][of])) for j in own]
            weights = [math.exp(score / math.sqrt(wide)) for score in scores]
            for column in range(of.start, of.stop):
                terms = (w * value[j][column] for j, w in zip(own, weights))
                merged.append(sum(terms) / sum(weights))
    return merged


class Fake(Rival):
    def __init__(self) -> None:
        self.dies = sys.argv[1:] == ["dies"]
        self.wrong = False
        if sys.argv[1:] and not self.dies:
            with open(sys.argv[1], "a+b") as file:
                file.write(b"x")
                self.wrong = file.tell() == WRONG_LAUNCH

    def about(self) -> Tuple[str, Dict[str, Any]]:
        print("a library that talks on standard output")
        seen = ("LD_PRELOAD", "OMP_NUM_THREADS")
        return "fake 1.0", {name: os.environ.get(name) for name in seen}

    def variants(self, problem: Problem) -> List[Variant]:
        _, tokens, width, _ = problem.sizes
        if problem.shape["d_in"] == 0:
            return self.attention_variants(problem)
        xs = [read(problem, f"x{i}", width) for i in range(problem.inputs)]
        assert all(len(x) == tokens for x in xs)

        def made(change: Callable[[int, array], array]) -> Callable[[], Layer]:
            def output(i: int) -> array:
                return change(i, array("f", [v for row in layer(problem, xs[i]) for v in row]))

            return lambda: Layer(self.call, output)

        def off(_: int, y: array) -> array:
            y[len(y) // 2] *= 1.01
            return y

        def fails() -> Layer:
            raise ValueError("no such operator")

        def perhaps(i: int, y: array) -> array:
            return off(i, y) if self.wrong else y

        # The variant that takes the first input for all is right once, the others are plain.
        first = array("f", [v for row in layer(problem, xs[0]) for v in row])
        return [
            Variant("right", "split", made(perhaps)),
            Variant("off", "fused", made(off)),
            Variant("first-input", "fused", made(lambda _, y: first)),
            Variant("short", "fused", made(lambda _, y: y[:-1])),
            Variant("fails", "wrapper", fails),
        ]

    def attention_variants(self, problem: Problem) -> List[Variant]:
        def made(change: float) -> Callable[[], Layer]:
            def output(i: int) -> array:
                return array("f", [change * v for v in attention(problem, f"x{i}")])

            return lambda: Layer(self.call, output)

        return [
            Variant("off", "attention", made(1.001)),
            Variant("right", "attention", made(1)),
        ]

    def call(self, _: int) -> None:
        if self.dies:
            print("out of luck", file=sys.stderr)
            sys.stderr.flush()
            os._exit(3)


if __name__ == "__main__":
    serve(Fake)

"""The side of a rival: answers what measure.py asks, one line of JSON each.

A rival's program makes a `Rival` and calls `serve`. Nothing here needs numpy, so that a rival may
do without it. docs/peers.md describes the requests.
"""
import gc
import json
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Callable, Dict, List, Optional, Sequence, TextIO, Tuple


@dataclass
class Problem:
    """A layer: its sizes, and the files that hold its weights and inputs. Where `shape` has no
    `d_in`, attention alone: the inputs are queries, `key` and `value` the keys and values."""

    folder: str
    shape: Dict[str, Any]
    inputs: int
    threads: int

    @property
    def sizes(self) -> Tuple[int, int, int, int]:
        """Batch, tokens, width, heads."""
        shape = self.shape
        return shape["batch"], shape["tokens"], shape["d_out"], shape["heads"]

    @property
    def past(self) -> int:
        """Keys before that of the first query."""
        return self.shape.get("past", 0)

    def heads(self, name: str) -> Any:
        """`key`, `value`, or the queries `x0`, `x1`, ...: (batch, tokens, heads, head_dim)."""
        import numpy as np

        batch, tokens, width, heads = self.sizes
        rows = tokens if name.startswith("x") else self.past + tokens
        read = np.fromfile(self.path(name), np.float32)
        return read.reshape(batch, rows, heads, width // heads)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name + ".f32")

    def matrix(self, name: str) -> Any:
        """`query`, `key`, `value` or `output` as numpy, (in, out): y = x W."""
        import numpy as np

        width = self.shape["d_out"]
        return np.fromfile(self.path(name), np.float32).reshape(width, width)

    def mapped(self, name: str) -> Any:
        """The same, read only where it is used: for weights that are copied piece by piece."""
        import numpy as np

        width = self.shape["d_out"]
        return np.memmap(self.path(name), np.float32, "r", shape=(width, width))

    def fused(self) -> Any:
        """Query, key and value side by side, (in, 3 out)."""
        import numpy as np

        return np.concatenate([self.matrix(name) for name in ("query", "key", "value")], axis=1)

    def wide(self, fused: bool) -> List[Any]:
        """The matrices of query, key and value, side by side as one or as three."""
        if fused:
            return [self.fused()]
        return [self.matrix(name) for name in ("query", "key", "value")]

    def bias(self) -> Any:
        """The output projection's bias."""
        import numpy as np

        return np.fromfile(self.path("output_bias"), np.float32)

    def xs(self) -> List[Any]:
        """The inputs, (batch, tokens, width)."""
        import numpy as np

        batch, tokens, width, _ = self.sizes
        read = [np.fromfile(self.path(f"x{i}"), np.float32) for i in range(self.inputs)]
        return [x.reshape(batch, tokens, width) for x in read]


@dataclass
class Layer:
    """A variant that is ready: `call(i)` runs input i, `output(i)` also returns y as float32.

    One whose calls leave something behind, such as a key in a cache that cannot be cut, has a
    `restart`, which is not timed. It is called before every `room` calls.
    """

    call: Callable[[int], Any]
    output: Callable[[int], Any]
    note: str = ""
    restart: Optional[Callable[[], Any]] = None
    room: int = 0


@dataclass
class Variant:
    """One way in which a rival may be called. `make` prepares it, which may take long."""

    name: str
    formulation: str
    make: Callable[[], Layer]


def each_way(choices: Sequence[str], make: Callable[[bool, str], Layer]) -> List[Variant]:
    """One wide matrix and three, each with every choice; `make(fused, choice)`."""
    return [
        Variant(
            f"{formulation}-{choice}",
            formulation,
            lambda f=formulation, c=choice: make(f == "fused", c),
        )
        for formulation in ("fused", "split")
        for choice in choices
    ]


class Rival:
    """What a rival's program defines."""

    def about(self) -> Tuple[str, Dict[str, Any]]:
        """Its version, and the settings that matter for its speed."""
        raise NotImplementedError

    def variants(self, problem: Problem) -> List[Variant]:
        raise NotImplementedError

    def calling(self) -> AbstractContextManager:
        """Entered once; all calls of layers run within."""
        return nullcontext()


class Server:
    def __init__(self, rival: Rival) -> None:
        self.rival = rival
        self.layers: Dict[str, Layer] = {}
        self.inputs = 1
        self.turn = 0

    def about(self, _: Dict[str, Any]) -> Dict[str, Any]:
        version, settings = self.rival.about()
        packages = {d.metadata["Name"]: d.version for d in metadata.distributions()}
        settings = {"python": sys.version.split()[0], **settings}
        return {"version": version, "settings": settings, "packages": packages}

    def prepare(self, request: Dict[str, Any]) -> Dict[str, Any]:
        problem = Problem(
            request["folder"], request["shape"], request["inputs"], request["threads"]
        )
        self.inputs = problem.inputs
        self.layers = {}
        ready, failed = [], []
        wanted = request["formulations"]  # none named: all
        names = request.get("variants", [])  # likewise
        for variant in self.rival.variants(problem):
            if wanted and variant.formulation not in wanted or names and variant.name not in names:
                continue
            told = {"name": variant.name, "formulation": variant.formulation}
            start = time.perf_counter()
            try:
                layer = variant.make()
            except Exception as error:  # a variant may fail in any way; it is reported
                failed.append({**told, "reason": f"{type(error).__name__}: {str(error)[:300]}"})
                continue
            self.layers[variant.name] = layer
            told["note"] = layer.note
            ready.append({**told, "setup_s": time.perf_counter() - start})
        gc.collect()
        return {"variants": ready, "failed": failed}

    def run(self, request: Dict[str, Any]) -> Dict[str, Any]:
        output = self.layers[request["variant"]].output(request["input"])
        with open(request["file"], "wb") as file:
            file.write(memoryview(output).cast("B"))
        return {}

    def keep(self, request: Dict[str, Any]) -> Dict[str, Any]:
        self.layers = {n: self.layers[n] for n in request["variants"]}
        gc.collect()
        return {}

    def sample(self, request: Dict[str, Any]) -> Dict[str, Any]:
        layer = self.layers[request["variant"]]
        self.calls(layer, request["warm"])
        return {"seconds": self.calls(layer, request["calls"]) / request["calls"]}

    def calls(self, layer: Layer, count: int) -> float:
        # The inputs are taken in turn, on through the samples.
        order = [(self.turn + i) % self.inputs for i in range(count)]
        self.turn += count
        seconds = 0.0
        room = layer.room or max(1, count)
        for first in range(0, count, room):
            if layer.restart is not None:
                layer.restart()
                for i in order[first : first + 1 + room // 4]:  # to warm caches again
                    layer.call(i)
            seconds += self.timed(layer.call, order[first : first + room])
        return seconds

    @staticmethod
    def timed(call: Callable[[int], Any], order: List[int]) -> float:
        start = time.perf_counter()
        for i in order:
            call(i)
        return time.perf_counter() - start

    def answer(self, line: str) -> Optional[Dict[str, Any]]:
        request = json.loads(line)
        if request["do"] == "end":
            return None
        known = {
            "about": self.about,
            "prepare": self.prepare,
            "run": self.run,
            "keep": self.keep,
            "sample": self.sample,
        }
        try:
            return known[request["do"]](request)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {str(error)[:300]}"}


def own_output() -> TextIO:
    """Standard output for answers alone: what libraries print there goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def serve(make: Callable[[], Rival]) -> None:
    """Answers until standard input ends. The rival is made here, after its library is pinned."""
    answers = own_output()
    server = Server(make())
    gc.disable()  # collected between requests, never during a sample
    with server.rival.calling():
        for line in sys.stdin:
            reply = server.answer(line)
            if reply is None:
                break
            answers.write(json.dumps(reply) + "\n")
            answers.flush()
    os._exit(0)  # threads of a library that end slowly do not matter

#!/usr/bin/env python3
"""Times other libraries and our backends on the same layers, in alternating rounds.

scripts/peers builds what this needs and runs it; docs/peers.md is its manual.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple

from catalogue import (
    NOT_AVAILABLE,
    NUMBERS,
    REMOVED,
    SHORT,
    Peer,
    cache_of,
    few_bits,
    given_peer,
    our_backend,
    rivals_of,
    variables,
)
from process import PeerError, Process
from rounds import Settings, ShapeRun
from venvs import Environments, NotInstalled

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFAULT_SHAPES = (
    "128,768,12 1024,768,12 2048,768,12 512,4096,32 16,768,12 1,4096,32 16,6144,96 128,6144,96"
).split()
# Prompts, and a step after some thousand keys.
ATTENTION_SHAPES = "128,768,12 1024,768,12 1+4096,768,12 1+4096,4096,32".split()
LEAST_SAMPLES = 9
SAMPLES = 15
LEAST_LAUNCHES = 3  # fewer say nothing of the spread between them
LAUNCHES = 5  # of each peer and of ours
LEAST_MEMORY = 0.2  # of all, before one more peer is prepared: they wait side by side
DONE, CHECK_FAILED, NO_RESOURCE, INTERRUPTED, TERMINATED = 0, 1, 4, 130, 143

Shape = Tuple[int, int, int, int, int]  # batch, tokens, width, heads, past


def shown(text: str) -> str:
    """What others wrote, such as a peer's error: nothing of it steers a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(text: str) -> None:
    print(f"peers: {shown(text)}", file=sys.stderr, flush=True)


def time_text(seconds: float) -> str:
    """As headroom prints times, such as 58.2 us."""
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 1e3 * size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds:.4g} s"


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(shown(message))


def shape_of(text: str) -> Shape:
    parts = text.split(",")
    if len(parts) == 3:
        parts = ["1", *parts]
    try:
        tokens, plus, past = parts[1].partition("+")
        numbers = [int(part) for part in (parts[0], tokens, *parts[2:], past if plus else "0")]
    except (ValueError, IndexError):
        numbers = []
    if len(numbers) != 5 or min(numbers[:4]) < 1 or numbers[4] < 0 or numbers[2] % numbers[3] != 0:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not TOKENS,WIDTH,HEADS or BATCH,TOKENS,WIDTH,HEADS, all at least 1 and"
            " the width a multiple of the heads; TOKENS+PAST for attention after a past"
        )
    return numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]


def names_of(text: str) -> List[str]:
    return [name for name in text.split(",") if name]


def options() -> argparse.Namespace:
    parser = Parser(
        prog="scripts/peers", description="Other libraries beside our backends, on equal terms."
    )
    add = parser.add_argument
    add("--op", choices=("layer", "attention"), default="layer", help="layers, or attention alone")
    add("--shapes", nargs="+", type=shape_of, metavar="T,D,H", help="tokens,width,heads")
    add("--peers", type=names_of, help="names separated by commas, none, or all (default)")
    add("--ours", type=names_of, help="our backends (default: those that may be the fastest)")
    add("--numbers", type=names_of, default=["f32"], help="f32 (default), bf16, q8, f32-cq8, ...")
    add("--threads", default="", help="such as 1,2 (default: every allowed core)")
    add("--samples", type=int, default=SAMPLES, help="per cell, at least 9 (default 15)")
    add("--launches", type=int, default=LAUNCHES, help="that take them, at least 3 (default 5)")
    add("--min-time", type=float, default=0.05, help="least seconds per sample (default 0.05)")
    add("--inputs", type=int, default=4, help="different x taken in turn (default 4)")
    add("--seed", type=int, default=1, help="of weights and inputs (default 1)")
    add("--out", required=True, help="folder for the results")
    add("--peer", action="append", default=[], metavar="NAME=COMMAND", help="one of your own")
    add("--no-install", action="store_true", help="skip what is not installed")
    add("--environments", default=os.path.join(ROOT, "build-peers"), help="for what is installed")
    add("--program", default=os.path.join(ROOT, "build", "headroom-peer"), help="our driver")
    given = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    try:
        given.threads = [int(count) for count in names_of(given.threads)] or [cores]
        given.numbers = numbers_of(given.numbers, given.op)
        given.peers = chosen(given.peers, given.numbers, given.op)
        given.peers += [given_peer(text) for text in given.peer]
        refuse_twice([peer.name for peer in given.peers])
    except ValueError as error:
        parser.error(str(error))
    defaults = ATTENTION_SHAPES if given.op == "attention" else DEFAULT_SHAPES
    given.shapes = given.shapes or [shape_of(text) for text in defaults]
    if given.op == "layer" and any(shape[4] for shape in given.shapes):
        parser.error("--shapes: a past, as in 1+4096,768,12, needs --op attention")
    if given.samples < LEAST_SAMPLES:
        parser.error(f"--samples: {given.samples} is below {LEAST_SAMPLES}")
    if not LEAST_LAUNCHES <= given.launches <= given.samples:
        parser.error(
            f"--launches: {given.launches} is not from {LEAST_LAUNCHES} to {given.samples}, the samples"
        )
    if not all(1 <= count <= cores for count in given.threads):
        parser.error(f"--threads: from 1 to {cores}, the cores that this process may use")
    if not (0 < given.min_time < float("inf") and 1 <= given.inputs <= 64 and given.seed >= 0):
        parser.error("--min-time is finite and above 0, --inputs from 1 to 64, --seed at least 0")
    return given


def numbers_of(names: List[str], op: str) -> List[str]:
    """As cells are named, each once."""
    known = [*NUMBERS, *SHORT["layer"]]  # which has those of attention as well
    found: List[str] = []
    for name in names:
        if name not in known:
            raise ValueError(f"--numbers: unknown '{name}'; known: {', '.join(known)}")
        if op == "attention" and (few_bits(name) or name not in (*NUMBERS, *SHORT[op])):
            raise ValueError(
                f"--numbers: '{name}' is of weights, and --op attention has none; give others"
            )
        if op == "layer" and cache_of(name):
            raise ValueError(f"--numbers: '{name}' is of a cache, and needs --op attention")
        found += SHORT[op].get(name, (name,))
    return list(dict.fromkeys(found))


def chosen(names: Optional[List[str]], numbers: List[str], op: str) -> List[Peer]:
    known = {peer.name: peer for peer in rivals_of(op)}
    if names in (None, ["all"]):
        return [peer for peer in known.values() if peer.numbers in numbers]
    wanted = [] if names == ["none"] else names or []
    for name in wanted:
        if name in NOT_AVAILABLE:
            raise ValueError(f"--peers: '{name}' is {NOT_AVAILABLE[name]}")
        if name not in known:
            raise ValueError(f"--peers: unknown peer '{name}'; known: {', '.join(known)}")
    return [known[name] for name in wanted]


def refuse_twice(names: List[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"--peers, --peer: '{name}' is given twice; name each once")


def memory_left() -> float:
    """As a share of all memory."""
    with open("/proc/meminfo", encoding="ascii") as memory:
        fields = {line.split(":")[0]: int(line.split()[1]) for line in memory}
    return fields["MemAvailable"] / fields["MemTotal"]


def stolen_ticks() -> Tuple[int, int]:
    """Of all processors: those that the hypervisor gave away, and all."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(field) for field in stat.readline().split()[1:9]]
    return ticks[7], sum(ticks)


class Run:
    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.cpus = sorted(os.sched_getaffinity(0))
        build = os.path.dirname(os.path.abspath(given.program))
        self.environments = Environments(given.environments, not given.no_install, build)
        self.how = Settings(
            given.samples, given.launches, given.min_time, given.seed, given.inputs
        )
        self.logs = os.path.join(given.environments, "logs")
        os.makedirs(self.logs, exist_ok=True)
        self.peers: List[Peer] = []  # those that can run
        self.told: Dict[str, Dict[str, Any]] = {}  # for the record, by name
        self.failed = 0
        self.computed: Dict[str, List[str]] = {}  # numbers, by backend of ours

    def start(self, peer: Peer, threads: int) -> Process:
        kept = {name: value for name, value in os.environ.items() if name not in REMOVED}
        found = {**kept, **variables(threads, self.given.environments)}
        log = os.path.join(self.logs, f"{peer.name}.log")
        cpus = self.cpus[:threads]
        return Process(peer.name, self.environments.command(peer), found, cpus, log)

    def skip(self, name: str, recorded: str, said: str) -> None:
        self.told[name] = {"skipped": recorded}
        say(f"{name}: {said}")

    def versions(self) -> None:
        """Asks every peer about itself; whoever does not answer is skipped, with the reason."""
        for peer in self.given.peers:
            try:
                with self.start(peer, self.given.threads[0]) as process:
                    self.told[peer.name] = {**process.ask("about"), "tried": {}}
                self.peers.append(peer)
                say(f"{peer.name}: {self.told[peer.name]['version']}")
            except NotInstalled as error:
                self.skip(peer.name, error.reason, f"skipped: {error}")
            except (PeerError, OSError) as error:
                self.skip(peer.name, str(error), f"skipped: {error}")
        if self.given.peers and (self.few_bits() or self.caches()):
            for name, reason in NOT_AVAILABLE.items():
                self.skip(name, reason, reason)

    def few_bits(self) -> List[str]:
        """What weights are stored as by whoever takes part, in few bits."""
        return self.stored(few_bits)

    def caches(self) -> List[str]:
        """Likewise keys and values, where they are not as the dtype says."""
        return self.stored(cache_of)

    def stored(self, part: Callable[[str], str]) -> List[str]:
        peers = [peer.numbers for peer in self.given.peers]
        return sorted({part(name) for name in self.given.numbers + peers} - {""})

    def settings(self) -> Dict[str, Any]:
        given = self.given
        return {
            "repetitions": given.samples,
            "repetitions_asked": given.samples,
            "processes": given.launches,
            "min_time_s": given.min_time,
            "cache": "warm",
            "seed": given.seed,
            "budget_s": None,
            "inputs": given.inputs,
            "variables": variables(given.threads[0], "CACHE"),
            "numbers": given.numbers,
            "op": given.op,
        }

    def run(self) -> int:
        self.versions()
        command = [self.given.program, "keeper"]
        log = os.path.join(self.logs, "keeper.log")
        before = stolen_ticks()
        with Process("keeper", command, dict(os.environ), self.cpus, log) as keeper:
            say("measuring the limits of this machine before the first cell")
            begun = keeper.ask(
                "begin",
                out=self.given.out,
                threads=self.given.threads,
                settings=self.settings(),
                peers=self.told,
            )
            self.warn(begun["warnings"])
            for shape in self.given.shapes:
                for threads in self.given.threads:
                    self.measure(keeper, shape, threads)
            after = stolen_ticks()
            stolen = (after[0] - before[0]) / max(1, after[1] - before[1])
            ended = keeper.ask("finish", stolen=stolen, peers=self.told)
            self.warn(ended["warnings"][len(begun["warnings"]) :])
        subprocess.run([self.given.program, "table", self.given.out], check=True)
        return CHECK_FAILED if self.failed else DONE

    def warn(self, warnings: List[str]) -> None:
        for warning in warnings:
            say(f"warning: {warning}")

    def our_peers(self, keeper: Process, threads: int) -> List[Peer]:
        names = self.given.ours
        told = keeper.ask("backends", threads=threads)
        self.computed = told["numbers"]
        if names is None:
            names = told["backends"]
        return [
            our_backend(self.given.program, name, numbers, self.given.op)
            for name in names
            if name != "none"
            for numbers in self.given.numbers
            if numbers in self.computed.get(name, NUMBERS)
        ]

    def measure(self, keeper: Process, shape: Shape, threads: int) -> None:
        with ExitStack() as open_:
            weights = tempfile.TemporaryDirectory(dir=self.given.environments)
            folder = open_.enter_context(weights)
            os.sched_setaffinity(keeper.process.pid, self.cpus)
            sizes = dict(zip(("batch", "tokens", "width", "heads", "past"), shape))
            problem = keeper.ask(
                "problem",
                folder=folder,
                inputs=self.how.inputs,
                seed=self.how.seed,
                op=self.given.op,
                # Who stores bf16 and who does not are fed the same values.
                rounded=any(name.endswith("-bf16") for name in self.given.numbers),
                weights=self.few_bits(),
                caches=self.caches(),
                **sizes,
            )
            run = ShapeRun(
                keeper,
                problem,
                folder,
                threads,
                self.how,
                lambda peer: open_.enter_context(self.start(peer, threads)),
            )
            for peer in self.our_peers(keeper, threads) + self.peers:
                if peer.steps and not (sizes["tokens"] == 1 and sizes["past"] > 0):
                    say(f"{peer.name}: not here: it takes one token after a past")
                    continue
                say(f"{problem['id']}, t{threads}: preparing and checking {peer.name}")
                if memory_left() < LEAST_MEMORY:
                    say(f"{peer.name}: skipped here: too little memory is left")
                    run.leave_out(peer, "not enough memory beside the peers before it")
                    continue
                run.add(peer)
            # The control runs on the cores of the peers.
            os.sched_setaffinity(keeper.process.pid, self.cpus[:threads])
            run.rounds()
            self.note(run.record({name: t.get("version", "") for name, t in self.told.items()}))
            self.note_tried(run)

    def note(self, recorded: List[Dict[str, Any]]) -> None:
        for cell in recorded:
            if cell["status"] == "ok":
                say(f"{cell['id']}  {time_text(cell['median'])}, {cell['gflops']:.1f} GFLOP/s")
            else:
                self.failed += 1
                say(f"{cell['id']}  {cell['status']}: {cell['reason']}")

    def note_tried(self, run: ShapeRun) -> None:
        place = f"t{run.threads}/{run.problem['id']}"
        for cell in run.cells:
            told = self.told.get(cell.peer.name)
            if told is not None:
                chosen_name = cell.variant.get("name") if cell.variant else None
                tried = {"tried": cell.tried, "taken": chosen_name}
                told["tried"].setdefault(place, {})[cell.formulation] = tried


def main() -> int:
    given = options()
    if not os.access(given.program, os.X_OK):
        say(f"error: {given.program} is not here; build it with: cmake --preset release && "
            "cmake --build --preset release --target headroom-peer")
        return NO_RESOURCE
    # As an exception, so that the folder with the weights is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        return Run(given).run()
    except PeerError as error:
        say(f"error: {error}")
        return NO_RESOURCE
    except KeyboardInterrupt:
        say(f"interrupted; finished shapes are in {given.out}")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

"""One shape: prepare and check every peer, choose its fastest variants, and time them in turn, in
several launches of all."""
import math
import os
import random
import statistics
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

from catalogue import Peer, contest
from process import PeerDied, PeerError, Process


TRIALS = 5  # samples of each variant, to choose the fastest
HOPELESS = 1.3  # times the fastest, after which a variant is timed no more


@dataclass
class Settings:
    samples: int
    launches: int
    min_time: float
    seed: int
    inputs: int


@dataclass
class Readings:
    """Samples in seconds, with the control's readings around each."""

    seconds: List[float] = field(default_factory=list)
    control: List[float] = field(default_factory=list)
    clock_ghz: List[float] = field(default_factory=list)
    tile_gflops: List[float] = field(default_factory=list)
    launches: List[int] = field(default_factory=list)  # which one took each sample

    def beside(self) -> Dict[str, List[float]]:
        """The control's readings by the names that the keeper records them under."""
        return {
            "control": self.control,
            "clock_ghz": self.clock_ghz,
            "tile_gflops": self.tile_gflops,
        }


@dataclass
class Trial:
    """A variant that is right, while the fastest is sought."""

    variant: Dict[str, Any]
    rough: float
    seconds: List[float] = field(default_factory=list)

    @property
    def pace(self) -> float:
        return statistics.median(self.seconds) if self.seconds else self.rough


@dataclass
class Cell:
    """A peer's fastest variant of one formulation."""

    peer: Peer
    formulation: str
    variant: Dict[str, Any] = field(default_factory=dict)
    process: Optional[Process] = None
    pace: float = 0.0  # seconds per call
    right: Dict[str, Trial] = field(default_factory=dict)  # variants with a right result, by name
    tried: Dict[str, str] = field(default_factory=dict)  # every variant, with its time or reason
    checked: str = ""  # the variant whose check is recorded, if there is no time
    reason: str = ""  # why there is no time
    status: str = "failed"  # if there is no time
    readings: Readings = field(default_factory=Readings)
    again: Optional[Readings] = None

    @property
    def name(self) -> str:
        return f"{self.formulation}/{self.peer.name}"

    def check_name(self, variant: str) -> str:
        return f"{self.peer.name}/{variant}"


class ShapeRun:
    """All cells of one shape and number of threads."""

    def __init__(
        self,
        keeper: Process,
        problem: Dict[str, Any],
        folder: str,
        threads: int,
        how: Settings,
        start: Callable[[Peer], Process],
    ) -> None:
        self.keeper, self.problem, self.folder = keeper, problem, folder
        self.threads, self.how, self.start = threads, how, start
        self.cells: List[Cell] = []
        self.chosen: List[Cell] = []  # of ours, those that peers are compared with
        self.launch = 0
        self.random = random.Random(how.seed)

    def prepare(self, peer: Peer, process: Process, variants: List[str]) -> Dict[str, Any]:
        return process.ask(
            "prepare",
            folder=self.folder,
            shape=self.problem["shape"],
            inputs=self.how.inputs,
            threads=self.threads,
            formulations=list(peer.formulations),
            variants=variants,
        )

    def add(self, peer: Peer) -> None:
        """Prepares the peer's variants, checks them, and keeps the fastest of each formulation."""
        process = self.start(peer)
        cells = {f: Cell(peer, f, process=process) for f in peer.formulations}
        try:
            made = self.prepare(peer, process, [])
            for variant in made["failed"] + made["variants"]:
                formulation = variant["formulation"]
                cell = cells.setdefault(formulation, Cell(peer, formulation, process=process))
                if "reason" in variant:
                    cell.tried[variant["name"]] = cell.reason = variant["reason"]
                else:
                    self.try_variant(cell, variant)
            for cell in cells.values():
                self.choose(cell)
            kept = [c.variant["name"] for c in cells.values() if c.variant]
            process.ask("keep", variants=kept)
        except PeerError as error:
            for cell in cells.values():
                self.give_up(cell, error)
        for cell in cells.values():
            if not cell.variant and not cell.reason:
                cell.reason = "it offers no such variant for this shape"
        self.cells += cells.values()

    def leave_out(self, peer: Peer, reason: str) -> None:
        for formulation in peer.formulations:
            self.cells.append(Cell(peer, formulation, reason=reason, status="skipped"))

    def give_up(self, cell: Cell, error: PeerError) -> None:
        cell.variant, cell.reason = {}, str(error)
        cell.status = "crashed" if isinstance(error, PeerDied) else "failed"

    def try_variant(self, cell: Cell, variant: Dict[str, Any]) -> None:
        """No check, no number: a wrong variant is not timed, however fast it is."""
        name = variant["name"]
        wrong = self.check(cell, name)
        if wrong:
            cell.tried[name] = f"wrong result: {wrong}"
            if not cell.right:
                cell.reason = cell.tried[name]
                cell.checked = name
            return
        cell.right[name] = Trial(variant, self.rough_pace(cell, name))

    def choose(self, cell: Cell) -> None:
        """The fastest variant that is right. They are timed in turn, for the speed of a machine may
        drift by more than they differ; those that fall behind are timed no more."""
        trials = list(cell.right.values())
        for number in range(TRIALS if len(trials) > 1 else 1):
            if number >= 2:
                least = min(trial.pace for trial in trials)
                trials = [trial for trial in trials if trial.pace <= HOPELESS * least]
            self.random.shuffle(trials)
            for trial in trials:
                calls = self.calls(trial.pace)
                trial.seconds.append(self.sample(cell, trial.variant["name"], 1, calls))
        for name, trial in cell.right.items():
            cell.tried[name] = f"{trial.pace:.4g} s"
        if cell.right:
            best = min(cell.right.values(), key=lambda trial: trial.pace)
            cell.variant, cell.pace, cell.reason = best.variant, best.pace, ""

    def check(self, cell: Cell, variant: str) -> str:
        assert cell.process is not None
        file = os.path.join(self.folder, "y.f32")
        for i in self.problem["checked_inputs"]:
            if os.path.exists(file):
                os.remove(file)
            cell.process.ask("run", variant=variant, input=i, file=file)
            told = self.keeper.ask(
                "check", name=cell.check_name(variant), input=i, file=file, **cell.peer.fed
            )
            if not told["passed"]:
                return f"{told['reason']}"
        return ""

    def sample(self, cell: Cell, variant: str, warm: int, calls: int) -> float:
        assert cell.process is not None
        asked = cell.process.ask("sample", variant=variant, warm=warm, calls=calls)
        return float(asked["seconds"])

    def calls(self, pace: float) -> int:
        return max(1, math.ceil(self.how.min_time / pace))

    def rough_pace(self, cell: Cell, variant: str) -> float:
        """To know how many calls make a sample."""
        first = self.sample(cell, variant, 2, 1)
        return self.sample(cell, variant, 0, max(1, self.calls(first) // 4))

    def control(self, readings: Readings, before: Dict[str, float]) -> Dict[str, float]:
        after = self.keeper.ask("control", threads=self.threads)
        for name, kept in readings.beside().items():
            key = "gflops" if name == "control" else name
            if key in before and key in after:
                kept.append((before[key] + after[key]) / 2)
        return after

    def choose_ours(self) -> None:
        """Of our cells the one that peers are compared with: the fastest in trials, for whoever
        is picked by the samples that are compared looks faster than it is."""
        fastest: Dict[Tuple[str, ...], List[Cell]] = {}
        for cell in self.cells:
            if cell.peer.ours and cell.variant:
                fastest.setdefault(contest(cell.peer.numbers), []).append(cell)
        self.chosen = [min(cells, key=lambda cell: cell.pace) for cells in fastest.values()]

    def rounds(self) -> None:
        """Every cell once per round, in random order, with the control before and after. All peers
        are launched anew between rounds, because speed differs from launch to launch."""
        self.choose_ours()
        timed = [cell for cell in self.cells if cell.variant]
        turns = [(cell, cell.readings) for cell in timed]
        if timed:  # the fastest of ours is timed twice: what equal layers differ by is noise
            twin = min(self.chosen or timed, key=lambda cell: cell.pace)
            twin.again = Readings()
            turns.append((twin, twin.again))
        for number in range(self.how.samples):
            launch = number * self.how.launches // self.how.samples
            if launch != self.launch:
                self.launch = launch
                self.launch_again(timed)
            said = f"{self.problem['id']}, t{self.threads}: round {number + 1}"
            print(f"peers: {said} of {self.how.samples}, {len(turns)} cells", file=sys.stderr)
            self.random.shuffle(turns)
            for cell, readings in turns:
                if cell.variant:
                    self.turn(cell, readings)

    def launch_again(self, timed: List[Cell]) -> None:
        """New processes for all, each with its chosen variants alone, checked again."""
        together: Dict[int, List[Cell]] = {}  # the cells of each process
        for cell in timed:
            assert cell.process is not None
            cell.process.end()
            if cell.variant:
                together.setdefault(id(cell.process), []).append(cell)
        for cells in together.values():
            peer = cells[0].peer
            try:
                process = self.start(peer)
                for cell in cells:
                    cell.process = process
                made = self.prepare(peer, process, [cell.variant["name"] for cell in cells])
                failed = {variant["name"]: variant["reason"] for variant in made["failed"]}
                for cell in cells:
                    name = cell.variant["name"]
                    wrong = failed[name] if name in failed else self.check(cell, name)
                    if wrong:
                        self.lose(cell, f"in launch {self.launch + 1}: {wrong}")
            except PeerError as error:
                for cell in cells:
                    self.give_up(cell, error)

    def lose(self, cell: Cell, reason: str) -> None:
        cell.checked, cell.variant, cell.reason = cell.variant["name"], {}, reason
        cell.status = "failed"

    def turn(self, cell: Cell, readings: Readings) -> None:
        before = self.keeper.ask("control", threads=self.threads)
        calls = self.calls(cell.pace)
        # The rivals before have taken the caches: every input once at least, then some more.
        warm = max(1, calls // 4, self.how.inputs if cell.pace < self.how.min_time else 1)
        try:
            readings.seconds.append(self.sample(cell, cell.variant["name"], warm, calls))
        except PeerError as error:
            self.give_up(cell, error)
            return
        readings.launches.append(self.launch)
        self.control(readings, before)

    def record(self, versions: Dict[str, str]) -> List[Dict[str, Any]]:
        """Has every cell written into the results folder."""
        return [
            self.keeper.ask(
                "result",
                chosen=cell in self.chosen,
                **self.fields(cell, versions.get(cell.peer.name, "")),
            )
            for cell in self.cells
        ]

    def fields(self, cell: Cell, version: str) -> Dict[str, Any]:
        variant, readings, again = cell.variant, cell.readings, cell.again
        checked = variant.get("name", cell.checked)
        fields: Dict[str, Any] = {
            "backend": cell.peer.cell_backend,
            **cell.peer.fed,
            "formulation": cell.formulation,
            "threads": self.threads,
            "isa": variant.get("isa", "its own"),
            "unit": variant.get("unit", "its own"),
            "name": cell.check_name(checked),
            "setup_s": variant.get("setup_s", 0),
            "packed_bytes": variant.get("packed_bytes", 0),
            "workspace_bytes": variant.get("workspace_bytes", 0),
            "project": variant.get("project", version),
            "attend": variant.get("attend", variant.get("note", "")),
        }
        if not variant:
            return {**fields, "reason": cell.reason, "status": cell.status}
        fields["seconds"] = readings.seconds
        fields["processes"] = readings.launches
        for key, values in readings.beside().items():
            if len(values) == len(readings.seconds):
                fields[key] = values
        if again is not None:
            fields["again"] = again.seconds
            fields["again_processes"] = again.launches
            if len(again.control) == len(again.seconds):
                fields["again_control"] = again.control
        return fields

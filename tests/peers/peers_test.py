"""scripts/peers without any rival: a fake peer, planted errors, and what reads the folder.

peers_test.py HEADROOM HEADROOM_PEER FOLDER
"""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import unittest
from typing import Any, Dict, List

HEADROOM, DRIVER, WORK = sys.argv[1:4]
OPENBLAS = os.path.join(os.path.dirname(DRIVER), "headroom-peer-openblas")
HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench", "peers")
sys.path.insert(0, PEERS)
from catalogue import RIVALS  # noqa: E402
from process import PeerDied, PeerError, Process  # noqa: E402
from rounds import Cell, Settings, ShapeRun, Trial  # noqa: E402
from venvs import Environments, NotInstalled  # noqa: E402

FAKE = f"{sys.executable} {os.path.join(HERE, 'fake_peer.py')}"
ENVIRONMENT = {**os.environ, "PEERS_FOLDER": PEERS, "PYTHONDONTWRITEBYTECODE": "1"}
ENVIRONMENT["LD_PRELOAD"] = ""  # a variable that no peer may see
QUICK = "--shapes 5,8,2 --min-time 0.0005 --threads 1 --no-install".split()


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=240
    )


def measure(*arguments: str) -> subprocess.CompletedProcess:
    where = ["--program", DRIVER, "--environments", os.path.join(WORK, "environments")]
    script = os.path.join(PEERS, "measure.py")
    return run(sys.executable, script, *QUICK, *where, *arguments)


class Measured(unittest.TestCase):
    """One run with a fake peer, one that dies, and one that is not installed."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.out = os.path.join(WORK, "results")
        peers = ["--peers", "openvino", "--peer", f"fake={FAKE}", "--peer", f"mortal={FAKE} dies"]
        cls.done = measure("--out", cls.out, *peers)
        with open(os.path.join(cls.out, "results.jsonl"), encoding="utf-8") as lines:
            cls.cells: List[Dict[str, Any]] = [json.loads(line) for line in lines]
        with open(os.path.join(cls.out, "environment.json"), encoding="utf-8") as file:
            cls.environment = json.load(file)

    def cell(self, backend: str, formulation: str) -> Dict[str, Any]:
        found = [c for c in self.cells if c["id"].startswith(f"{formulation}/{backend}/f32/t1/")]
        self.assertEqual(len(found), 1, f"{formulation} {backend}: {self.done.stderr}")
        return found[0]

    def test_a_right_result_has_a_time(self) -> None:
        cell = self.cell("fake", "split")
        self.assertEqual(cell["status"], "ok", cell)
        self.assertEqual(len(cell["time_s"]["samples"]), 9)
        self.assertLess(cell["error"]["nrmse"], 5e-6)
        self.assertEqual(cell["provenance"]["project"], "fake 1.0")

    def test_both_roofs_stand_beside_each_sample(self) -> None:
        cell = self.cell("fake", "split")
        if "control" not in cell:
            self.skipTest("this build has no control kernel")
        self.assertEqual(len(cell["control"]["tile_gflops"]), 9)
        self.assertGreater(cell["tile_fraction"], 0)

    def test_a_wrong_result_has_none(self) -> None:
        cell = self.cell("fake", "fused")
        self.assertEqual(cell["status"], "failed")
        self.assertIn("wrong result", cell["reason"])
        self.assertNotIn("time_s", cell)
        self.assertEqual(self.done.returncode, 1, self.done.stderr)
        place = next(iter(self.environment["peers"]["fake"]["tried"].values()))
        for planted in ("off", "first-input", "short"):
            self.assertIn("wrong result", place["fused"]["tried"][planted])

    def test_a_variant_that_cannot_be_made_says_why(self) -> None:
        cell = self.cell("fake", "wrapper")
        self.assertEqual(cell["status"], "failed")
        self.assertIn("no such operator", cell["reason"])

    def test_a_peer_that_dies_costs_its_own_cells(self) -> None:
        cell = self.cell("mortal", "split")
        self.assertEqual(cell["status"], "crashed")
        self.assertIn("exit code 3: out of luck", cell["reason"])

    def test_ours_are_measured_and_timed_twice(self) -> None:
        ours = [c for c in self.cells if c["backend"] not in ("fake", "mortal")]
        self.assertTrue(ours)
        self.assertEqual({c["status"] for c in ours}, {"ok"}, ours)
        self.assertEqual(sum("again" in c for c in ours), 1)

    def test_what_is_not_installed_is_skipped_with_the_command(self) -> None:
        for text in (self.done.stderr, self.done.stdout):
            self.assertRegex(text, r"openvino: .*not installed; install it with: .* -m venv ")
            self.assertRegex(text, r"pip install .*requirements-openvino\.txt")
        self.assertIn("not installed", self.environment["peers"]["openvino"]["skipped"])

    def test_variables_are_ours(self) -> None:
        settings = self.environment["peers"]["fake"]["settings"]
        self.assertIsNone(settings["LD_PRELOAD"])
        self.assertEqual(settings["OMP_NUM_THREADS"], "1")

    def test_the_table_begins_with_where_a_peer_is_faster(self) -> None:
        # The fake one does nothing when it is called, so it is faster than anything.
        first, second = self.done.stdout.splitlines()[:2]
        self.assertIn("a peer is faster than the best of our cells in 1 block:", first)
        self.assertIn("B1_T5_D8_H2, 1 thread: fake split takes", second)

    def test_the_program_reads_the_folder(self) -> None:
        self.assertEqual(self.environment["sweep"]["cells"], len(self.cells))
        other = os.path.join(WORK, "report")
        for command in (
            ["report", self.out, "--out", other],
            ["compare", self.out, self.out],
            ["export", self.out, "--to", "csv"],
            ["pick", "--from", self.out],
        ):
            done = run(HEADROOM, *command)
            self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
            if command[0] == "pick":
                self.assertIn("not to link: fake split", done.stdout)
                self.assertNotIn("COMPONENTS fake", done.stdout)
        with open(os.path.join(other, "report.md"), encoding="utf-8") as page:
            text = page.read()
        self.assertIn("fake 1.0", text)
        self.assertIn("# Another library is faster than the best of ours in 1 of 1", text)
        self.assertRegex(text, r"- 5 tokens, width 8, 2 heads, on 1 thread: `fake/split` takes")
        self.assertNotIn("link `fake`", text)


class Choice(unittest.TestCase):
    def test_the_fastest_variant_is_taken_while_the_machine_slows_down(self) -> None:
        run = ShapeRun(None, {}, "", 1, Settings(samples=9, min_time=0.05, seed=1, inputs=2))
        seconds = {"first": 1.0, "better": 0.95, "hopeless": 5.0}
        asked: List[str] = []

        def sample(_: Cell, variant: str, warm: int, calls: int) -> float:
            asked.append(variant)
            return seconds[variant] * 1.02 ** len(asked)

        run.sample = sample
        cell = Cell(RIVALS[0], "fused")
        for name in seconds:  # the later ones were slowed down when they were prepared
            cell.right[name] = Trial({"name": name}, seconds[name] * 1.02 ** len(cell.right))
        run.choose(cell)
        self.assertEqual(cell.variant, {"name": "better"})
        self.assertEqual(set(cell.tried), set(seconds))
        self.assertEqual(cell.reason, "")
        self.assertEqual(asked.count("hopeless"), 2)
        self.assertEqual(asked.count("first"), asked.count("better"))


class Protocol(unittest.TestCase):
    def process(self, command: str) -> Process:
        log = os.path.join(WORK, "process.log")
        return Process("fake", command.split(), ENVIRONMENT, sorted(os.sched_getaffinity(0)), log)

    def test_a_process_is_stopped_while_it_is_not_asked(self) -> None:
        with self.process(FAKE) as peer:
            self.assertEqual(peer.ask("about")["version"], "fake 1.0")
            with open(f"/proc/{peer.process.pid}/stat", encoding="ascii") as stat:
                self.assertEqual(stat.read().rsplit(")", 1)[1].split()[0], "T")
            self.assertEqual(peer.ask("about")["version"], "fake 1.0")

    def test_a_bad_request_is_answered(self) -> None:
        for command in (FAKE, f"{DRIVER} keeper"):
            with self.process(command) as peer:
                with self.assertRaises(PeerError):
                    peer.ask("nonsense")
                with self.assertRaises(PeerError):
                    peer.ask("sample", variant="none", warm=1, calls=1)

    def test_a_process_that_does_not_answer_is_ended(self) -> None:
        with self.process("sleep 60") as peer:
            with self.assertRaisesRegex(PeerDied, "did not answer in time"):
                peer.ask("about", timeout=0.2)
            self.assertIsNotNone(peer.process.poll())

    def test_an_answer_that_is_no_object_is_refused(self) -> None:
        with self.process("cat") as peer:  # answers each request with itself
            self.assertEqual(peer.ask("about"), {"do": "about"})
        with self.process("yes no") as peer:
            with self.assertRaisesRegex(PeerError, "not an object"):
                peer.ask("about")

    def test_results_need_a_problem_and_a_check(self) -> None:
        out = os.path.join(WORK, "unchecked")
        with self.process(f"{DRIVER} keeper") as keeper:
            with self.assertRaisesRegex(PeerError, "begin"):
                keeper.ask("finish", stolen=0, peers={})
            folder = os.path.join(WORK, "problem")
            os.makedirs(folder)
            sizes = {"batch": 1, "tokens": 2, "width": 4, "heads": 2}
            keeper.ask("problem", folder=folder, inputs=2, seed=1, **sizes)
            keeper.ask("begin", out=out, threads=[], settings={}, peers={})
            fields = {"backend": "liar", "formulation": "split", "threads": 1, "isa": "any", "unit": "any"}
            costs = {"setup_s": 0, "packed_bytes": 0, "workspace_bytes": 0}
            words = {"name": "liar/split", "project": "", "attend": ""}
            told = keeper.ask("result", seconds=[1e-9] * 9, **fields, **costs, **words)
            self.assertEqual(told["status"], "failed")
            self.assertEqual(told["reason"], "its output was not checked")

    def test_wrong_usage(self) -> None:
        for arguments, told in (
            (["--samples", "3"], "below 9"),
            (["--peers", "nobody"], "unknown peer 'nobody'; known: pytorch-sdpa"),
            (["--shapes", "5,8,3"], "multiple of the heads"),
            (["--peer", "nameless"], "NAME=COMMAND"),
            (["--peer", "a/b=true"], "with a name of letters"),
            (["--peer", "a=true", "--peer", "a=false"], "'a' is given twice"),
        ):
            done = measure("--out", os.path.join(WORK, "never"), *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(told, done.stderr)

    def test_a_peer_cannot_take_the_name_of_a_backend(self) -> None:
        out = os.path.join(WORK, "taken")
        done = measure("--out", out, "--peers", "none", "--peer", f"naive={FAKE}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("'naive' is a backend of headroom", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(out, "results.jsonl")))

    def test_a_program_that_was_not_built_is_skipped_with_the_command(self) -> None:
        peer = next(peer for peer in RIVALS if peer.name == "openblas")
        with self.assertRaisesRegex(NotInstalled, r"apt-get install libopenblas-openmp-dev && "):
            Environments(WORK, False, os.path.join(WORK, "nowhere")).command(peer)

    @unittest.skipUnless(os.path.exists(OPENBLAS), "OpenBLAS was not there at build time")
    def test_openblas_gives_the_right_result_in_every_way(self) -> None:
        threads = ",".join(str(n) for n in (1, 2) if n <= len(os.sched_getaffinity(0)))
        # One row; fewer rows than a block of scores; blocks of which the last is not full.
        shapes = ["1,1,8,2", "2,5,24,3", "1,300,16,1"]
        out = os.path.join(WORK, "openblas")
        quick = ["--peers", "openblas", "--ours", "none", "--threads", threads, "--out", out]
        done = measure("--shapes", *shapes, *quick)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(out, "environment.json"), encoding="utf-8") as file:
            told = json.load(file)["peers"]["openblas"]
        self.assertRegex(told["version"], r"^OpenBLAS \d")
        self.assertEqual(len(told["tried"]), len(shapes) * len(threads.split(",")))
        for place, formulations in told["tried"].items():
            self.assertEqual(set(formulations), {"fused", "split", "wrapper"})
            for ways in formulations.values():
                # As OpenBLAS shares out the work, and with threads as we do in two ways.
                self.assertEqual(len(ways["tried"]) % (3 if place.startswith("t2") else 1), 0)
                for name, time in ways["tried"].items():
                    self.assertRegex(time, r"^[0-9.e-]+ s$", f"{place} {name}")

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not here")
    def test_numpy_gives_the_right_result(self) -> None:
        out = os.path.join(WORK, "numpy")
        program = os.path.join(PEERS, "rival_numpy.py")
        peer = f"here={sys.executable} {program}"
        done = measure("--out", out, "--peers", "none", "--ours", "none", "--peer", peer)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    unittest.main(argv=sys.argv[:1])

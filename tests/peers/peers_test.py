"""scripts/peers without any rival: a fake peer, planted errors, and what reads the folder.

peers_test.py HEADROOM HEADROOM_PEER FOLDER FAKE_MKL
"""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import unittest
from typing import Any, Dict, List

HEADROOM, DRIVER, WORK, FAKE_MKL = sys.argv[1:5]
OPENBLAS = os.path.join(os.path.dirname(DRIVER), "headroom-peer-openblas")
MKL = os.path.join(os.path.dirname(DRIVER), "headroom-peer-mkl")
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REAL_MKL = os.path.join(ROOT, "build-peers", "mkl", "lib", "libmkl_rt.so.3")
PEERS = os.path.join(ROOT, "bench", "peers")
sys.path.insert(0, PEERS)
from catalogue import ATTENTION_RIVALS, RIVALS, contest, given_peer, our_backend, parts  # noqa: E402
from measure import numbers_of  # noqa: E402
from peer import Layer, Server  # noqa: E402
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


def cells_of(out: str) -> List[Dict[str, Any]]:
    with open(os.path.join(out, "results.jsonl"), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def environment_of(out: str) -> Dict[str, Any]:
    with open(os.path.join(out, "environment.json"), encoding="utf-8") as file:
        return json.load(file)


class Measured(unittest.TestCase):
    """One run with a fake peer, one that dies, and one that is not installed."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.out = os.path.join(WORK, "results")
        count = os.path.join(WORK, "launches")
        fakes = [f"fake={FAKE}", f"mortal={FAKE} dies", f"fickle={FAKE} {count}"]
        peers = ["--peers", "openvino", *(word for fake in fakes for word in ("--peer", fake))]
        cls.done = measure("--out", cls.out, *peers)
        cls.cells = cells_of(cls.out)
        cls.environment = environment_of(cls.out)

    def cell(self, backend: str, formulation: str) -> Dict[str, Any]:
        found = [c for c in self.cells if c["id"].startswith(f"{formulation}/{backend}/f32/t1/")]
        self.assertEqual(len(found), 1, f"{formulation} {backend}: {self.done.stderr}")
        return found[0]

    def test_a_right_result_has_a_time(self) -> None:
        cell = self.cell("fake", "split")
        self.assertEqual(cell["status"], "ok", cell)
        self.assertEqual(len(cell["time_s"]["samples"]), 15)
        self.assertEqual(cell["time_s"]["processes"], [i // 3 for i in range(15)])
        self.assertLess(cell["error"]["nrmse"], 5e-6)
        self.assertEqual(cell["provenance"]["project"], "fake 1.0")

    def test_times_have_the_units_that_headroom_prints(self) -> None:
        lines = self.done.stderr.splitlines()
        told = [line for line in lines if "GFLOP/s" in line and "warning:" not in line]
        self.assertTrue(told, self.done.stderr)
        for line in told:
            self.assertRegex(line, r"  [0-9]+[.]?[0-9]* (us|ms), [0-9.]+ GFLOP/s$")

    def test_both_roofs_stand_beside_each_sample(self) -> None:
        cell = self.cell("fake", "split")
        if "control" not in cell:
            self.skipTest("this build has no control kernel")
        self.assertEqual(len(cell["control"]["tile_gflops"]), 15)
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
        ours = [c for c in self.cells if c["backend"] not in ("fake", "mortal", "fickle")]
        self.assertTrue(ours)
        self.assertEqual({c["status"] for c in ours}, {"ok"}, ours)
        self.assertEqual(sum("again" in c for c in ours), 1)
        chosen = self.environment["sweep"]["compared_with"]
        self.assertEqual([c["id"] for c in ours if "again" in c], chosen)

    def test_every_launch_is_checked(self) -> None:
        cell = self.cell("fickle", "split")
        self.assertEqual(cell["status"], "failed")
        self.assertIn("in launch 3: max_over_rms", cell["reason"])
        self.assertNotIn("time_s", cell)

    def test_what_is_not_installed_is_skipped_with_the_command(self) -> None:
        text = self.done.stderr
        self.assertRegex(text, r"openvino: .*not installed; install it with: .* -m venv ")
        self.assertRegex(text, r"pip install .*requirements-openvino\.txt")
        self.assertRegex(self.done.stdout, r"openvino: not installed\n")

    def test_what_is_recorded_names_no_folder_of_this_machine(self) -> None:
        self.assertEqual(self.environment["peers"]["openvino"]["skipped"], "not installed")

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


class AttentionAlone(unittest.TestCase):
    """--op attention: the same rounds over queries, keys and values that are given."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.out = os.path.join(WORK, "attention")
        cls.done = measure(
            *("--op", "attention", "--shapes", "2,3,8,2", "1+5,8,2", "2,2+3,8,4", "--peers", "none"),
            *("--peer", f"fake={FAKE}", "--ours", "naive,xsimd", "--numbers", "f32,bf16-bf16"),
            *("--out", cls.out, "--samples", "9", "--launches", "3"),
        )

    def test_ours_and_theirs_are_right_and_timed(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        cells = cells_of(self.out)
        ids = {cell["id"] for cell in cells}
        for shape in ("B2_T3_D8_H2_qkv", "B1_T1_D8_H2_qkv_P5", "B2_T2_D8_H4_qkv_P3"):
            for backend in ("fake", "naive"):
                self.assertIn(f"attention/{backend}/f32/t1/{shape}", ids)
        self.assertEqual({cell["status"] for cell in cells}, {"ok"})
        self.assertTrue(all(len(cell["time_s"]["samples"]) == 9 for cell in cells))
        stored = {cell["dtype"] for cell in cells if cell["backend"] == "xsimd"}
        self.assertIn("f32", stored)
        for place in environment_of(self.out)["peers"]["fake"]["tried"].values():
            self.assertEqual(place["attention"]["taken"], "right")
            self.assertIn("wrong result", place["attention"]["tried"]["off"])

    def test_its_table_and_its_page_name_it(self) -> None:
        self.assertIn("fake attention", self.done.stdout)
        page = run(HEADROOM, "report", self.out)
        self.assertEqual(page.returncode, 0, page.stderr)

    def test_a_past_is_for_attention_alone(self) -> None:
        layer = measure("--shapes", "1+5,8,2", "--out", os.path.join(WORK, "past"))
        self.assertEqual(layer.returncode, 2)
        self.assertIn("needs --op attention", layer.stderr)
        for text in ("1+x,8,2", "1+-5,8,2", "+5,8,2", "1+5+6,8,2"):
            wrong = measure("--op", "attention", "--shapes", text, "--out", WORK)
            self.assertEqual(wrong.returncode, 2, text)


def our_process(folder: str, *command: str) -> Process:
    """Our driver, on all cores; its log lies beside the folder."""
    cpus = sorted(os.sched_getaffinity(0))
    return Process("ours", [DRIVER, *command], ENVIRONMENT, cpus, f"{folder}.log")


class FewBits(unittest.TestCase):
    """Weights of q8 and q4: what a peer is compared with, and how close it must come."""

    SIZES = {"batch": 1, "tokens": 5, "width": 64, "heads": 2}

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = os.path.join(WORK, "few-bits")
        os.makedirs(cls.folder)
        cls.keeper = our_process(cls.folder, "keeper")
        cls.addClassCleanup(cls.keeper.end)
        cls.problem = cls.pose(weights=["q8"])
        cls.exact = cls.output("exact", "f32")
        cls.q8 = cls.output("q8", "f32-wq8")
        cls.q4 = cls.output("q4", "f32-wq4")

    @classmethod
    def pose(cls, **given: Any) -> Dict[str, Any]:
        return cls.keeper.ask("problem", folder=cls.folder, inputs=1, seed=1, **cls.SIZES, **given)

    @classmethod
    def output(cls, name: str, numbers: str, folder: str = "") -> str:
        """The file of what one of ours computes of the weights in a folder."""
        file = os.path.join(cls.folder, f"{name}.f32")
        with our_process(cls.folder, *our_backend(DRIVER, "naive", numbers).command[1:]) as ours:
            told = {"folder": folder or cls.folder, "shape": cls.problem["shape"], "inputs": 1}
            made = ours.ask("prepare", threads=1, formulations=["split"], **told)
            ours.ask("run", variant=made["variants"][0]["name"], input=0, file=file)
        return file

    def check(self, file: str, **how: str) -> Dict[str, Any]:
        numbers = {"precision": "f32", "dtype": "f32", "weights_dtype": "q8", **how}
        return self.keeper.ask("check", name="peer/any", input=0, file=file, **numbers)

    def test_ours_is_as_exact_as_f32_for_what_is_stored(self) -> None:
        told = self.check(self.q8)
        self.assertTrue(told["passed"], told)
        self.assertLess(told["nrmse"], 5e-6)

    def test_weights_that_were_not_rounded_are_not_those_that_are_stored(self) -> None:
        told = self.check(self.exact)
        self.assertFalse(told["passed"], told)
        self.assertIn("above the limit 5e-05", told["reason"])

    def test_products_of_int8_have_a_limit_of_their_own(self) -> None:
        told = self.check(self.exact, products="int8")  # as far from the stored as rounding is
        self.assertTrue(told["passed"], told)
        self.assertGreater(told["nrmse"], 1e-3)
        told = self.check(self.q4, products="int8")
        self.assertFalse(told["passed"], told)
        self.assertRegex(told["reason"], r"0\.03 and 0\.3 are the limits of roundings other than ours")

    def test_roundings_of_ones_own_are_compared_with_unrounded_weights(self) -> None:
        self.assertLess(self.check(self.exact, rounding="own")["nrmse"], 5e-6)
        self.assertGreater(self.check(self.q8, rounding="own")["nrmse"], 1e-3)
        self.assertFalse(self.check(self.q4, rounding="own")["passed"])

    def test_a_result_of_another_input_has_no_limit_that_it_passes(self) -> None:
        turned = os.path.join(self.folder, "turned.f32")
        with open(self.q8, "rb") as right, open(turned, "wb") as wrong:
            values = right.read()
            wrong.write(values[4 * 64 :] + values[: 4 * 64])
        for how in ({}, {"products": "int8"}, {"rounding": "own"}):
            self.assertFalse(self.check(turned, **how)["passed"], how)

    def test_what_was_not_asked_for_is_refused(self) -> None:
        for how, told in (
            ({"weights_dtype": "q4"}, "one of the problem's weights"),
            ({"weights_dtype": "q5"}, "f32, bf16, q8 or q4"),
            ({"products": "int4"}, "int8, bf16 or none"),
            ({"rounding": "mine"}, "own, or none at all"),
        ):
            with self.assertRaisesRegex(PeerError, told):
                self.check(self.q8, **how)
        for given, told in (
            ({"weights": ["bf16"]}, "a list of q8 and q4"),
            ({"weights": ["q8"], "op": "attention"}, "attention alone, which has no weights"),
        ):
            with self.assertRaisesRegex(PeerError, told):
                self.pose(**given)

    def test_cells_have_both_errors_and_their_table_shows_them(self) -> None:
        out = os.path.join(WORK, "few-bits-cells")
        # A peer must be there, or there is no block: one that cannot run says so.
        quick = ["--shapes", "5,64,2", "--samples", "9", "--launches", "3"]
        names = ["--numbers", "q8,f32-wq4,q4", "--ours", "naive,onednn,xsimd"]
        done = measure("--out", out, *quick, *names, "--peers", "onnxruntime-q4-int8")
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = {cell["id"]: cell for cell in cells_of(out)}
        for weights, least, most in (("q8", 2e-3, 3e-2), ("q4", 4e-2, 0.4)):
            cell = cells[f"split/naive/f32-w{weights}/t1/B1_T5_D64_H2"]
            self.assertEqual((cell["status"], cell["weights_dtype"]), ("ok", weights))
            self.assertLess(cell["error"]["nrmse"], 5e-6)
            self.assertTrue(least < cell["storage_nrmse"] < most, cell["storage_nrmse"])
        self.assertFalse([name for name in cells if "/onednn/" in name])  # keeps no few bits
        self.assertIn("llama.cpp", environment_of(out)["peers"])
        self.assertIn("llama.cpp: not available", done.stdout)
        self.assertRegex(self.table_with_a_rival(out), self.ROW)

    ROW = (
        r"weights of q8; error, and distance to unrounded weights; ours: +[0-9.]+e-0[67] +[0-9.]+e-03\n"
        r"  rival split .* [0-9.]+e-0[67] +[0-9.]+e-03  "
    )

    def table_with_a_rival(self, out: str) -> str:
        """Of the same cells, of which one is said to be another library's."""
        other = f"{out}-rival"
        shutil.copytree(out, other)
        environment = environment_of(out)
        environment["peers"]["rival"] = {"version": "rival 1.0"}
        chosen = environment["sweep"]["compared_with"]
        cells = cells_of(out)
        for cell in cells:
            if cell["id"].startswith("split/") and cell["id"] not in chosen:
                cell["id"] = cell["id"].replace(f"/{cell['backend']}/", "/rival/")
                cell["backend"] = "rival"
        with open(os.path.join(other, "environment.json"), "w", encoding="utf-8") as file:
            json.dump(environment, file)
        with open(os.path.join(other, "results.jsonl"), "w", encoding="utf-8") as file:
            names = {cell["id"]: cell for cell in cells}  # the last of equal ones
            file.writelines(json.dumps(cell) + "\n" for cell in names.values())
        done = run(DRIVER, "table", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_peer_says_what_it_is(self) -> None:
        stored = {peer.name: peer.fed for peer in RIVALS if parts(peer.numbers)[2]}
        self.assertEqual(len(stored), 12)
        for name, fed in stored.items():
            self.assertIn(f"-{fed['weights_dtype']}", name)
            products = name.rpartition("-")[2]
            self.assertEqual(products if products in ("int8", "bf16") else None, fed.get("products"))
            own = name.startswith("pytorch-sdpa-q8")  # by channel
            self.assertEqual(fed.get("rounding"), "own" if own else None, name)
        contests = {contest(peer.numbers) for peer in RIVALS if peer.name in stored}
        products = ("f32", "int8")  # bytes beside bytes alone
        self.assertEqual(contests, {(each, "f32", w, "") for each in products for w in ("q8", "q4")})

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not here")
    def test_groups_are_rounded_as_ours(self) -> None:
        import numpy as np
        from few_bits import grouped, nibbles

        rounded = os.path.join(WORK, "rounded")
        shutil.copytree(self.folder, rounded)
        for name in ("query", "key", "value", "output"):
            file = os.path.join(rounded, f"{name}.f32")
            values, scales = grouped(np.fromfile(file, np.float32).reshape(64, 64), 8)
            (values * scales[..., None]).reshape(64, 64).T.astype(np.float32).tofile(file)
        self.assertTrue(self.check(self.output("by-numpy", "f32", rounded))["passed"])
        column = np.array([[1, -0.5, 0.0625, 0.19, -1] + 27 * [0]], np.float32).T
        values, scales = grouped(column, 4)
        self.assertEqual(scales.tolist(), [[-0.125]])
        self.assertEqual(values[0, 0, :5].tolist(), [-8, 4, 0, -2, 7])
        packed = nibbles((values + 8).astype(np.uint8))
        self.assertEqual(packed[0, 0, :2].tolist(), [0 | 12 << 4, 8 | 6 << 4])
        with self.assertRaisesRegex(ValueError, "no multiple of 32"):
            grouped(column[:31], 4)


class Caches(unittest.TestCase):
    """Keys and values of fewer bits, after a past."""

    SIZES = {"batch": 2, "tokens": 1, "past": 128, "width": 64, "heads": 2, "op": "attention"}

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = os.path.join(WORK, "caches")
        os.makedirs(cls.folder)
        cls.keeper = our_process(cls.folder, "keeper")
        cls.addClassCleanup(cls.keeper.end)
        cls.problem = cls.pose(caches=["bf16", "q8"])
        numbers = ("f32", "f32-cq8", "int8-cq8", "f32-cbf16")
        cls.files = {name: cls.output(name) for name in numbers}

    @classmethod
    def pose(cls, **given: Any) -> Dict[str, Any]:
        return cls.keeper.ask("problem", folder=cls.folder, inputs=2, seed=1, **{**cls.SIZES, **given})

    @classmethod
    def output(cls, numbers: str) -> str:
        """The file of what one of ours computes, called again and again."""
        file = os.path.join(cls.folder, f"{numbers}.out")
        peer = our_backend(DRIVER, "xsimd", numbers, "attention")
        with our_process(cls.folder, *peer.command[1:]) as ours:
            told = {"folder": cls.folder, "shape": cls.problem["shape"], "inputs": 2}
            made = ours.ask("prepare", threads=1, formulations=["attention"], **told)
            name = made["variants"][0]["name"]
            ours.ask("sample", variant=name, warm=1, calls=3)
            ours.ask("run", variant=name, input=0, file=file)
        return file

    def check(self, file: str, numbers: str, **how: str) -> Dict[str, Any]:
        fed = our_backend(DRIVER, "xsimd", numbers, "attention").fed
        return self.keeper.ask(
            "check", name="peer/any", input=0, file=self.files[file], **{**fed, **how}
        )

    def test_ours_is_as_exact_as_f32_for_what_is_stored(self) -> None:
        for numbers in ("f32-cq8", "f32-cbf16"):
            told = self.check(numbers, numbers)
            self.assertTrue(told["passed"], told)
            self.assertLess(told["nrmse"], 5e-6, numbers)

    def test_keys_that_were_not_rounded_are_not_those_that_are_stored(self) -> None:
        self.assertLess(self.check("f32", "f32")["nrmse"], 5e-6)
        told = self.check("f32", "f32-cq8")
        self.assertFalse(told["passed"], told)
        self.assertGreater(told["nrmse"], 1e-3)
        self.assertGreater(self.check("f32", "f32-cbf16")["nrmse"], 5e-4)

    def test_products_of_bytes_have_their_bound(self) -> None:
        told = self.check("int8-cq8", "int8-cq8")
        self.assertTrue(told["passed"], told)
        self.assertGreater(told["nrmse"], 1e-3)
        self.assertFalse(self.check("int8-cq8", "f32-cq8")["passed"])

    def test_roundings_of_ones_own_are_compared_with_what_is_not_rounded(self) -> None:
        self.assertLess(self.check("f32", "f32-cq8", rounding="own")["nrmse"], 5e-6)
        told = self.check("f32-cq8", "f32-cq8", rounding="own")
        self.assertTrue(told["passed"], told)
        self.assertGreater(told["nrmse"], 1e-3)

    def test_what_was_not_asked_for_is_refused(self) -> None:
        keeper = our_process(self.folder, "keeper")
        self.addCleanup(keeper.end)
        sizes = {**self.SIZES, "folder": self.folder, "inputs": 1, "seed": 1}
        for given, told in (
            ({"caches": ["q4"]}, "a list of bf16 and q8"),
            ({"caches": ["q8"], "op": "layer", "past": 0}, "a layer, which has no past"),
        ):
            with self.assertRaisesRegex(PeerError, told):
                keeper.ask("problem", **{**sizes, **given})
        keeper.ask("problem", **{**sizes, "caches": ["bf16"]})
        with self.assertRaisesRegex(PeerError, "one of the problem's caches"):
            fed = {"precision": "f32", "dtype": "f32", "cache_dtype": "q8"}
            keeper.ask("check", name="any", input=0, file=self.files["f32-cq8"], **fed)

    def test_cells_have_both_errors_and_their_table_shows_them(self) -> None:
        out = os.path.join(WORK, "cache-cells")
        quick = ["--op", "attention", "--shapes", "1+128,64,2", "--samples", "9", "--launches", "3"]
        names = ["--numbers", "q8,f32-cbf16", "--ours", "onednn,xsimd"]
        done = measure(*quick, *names, "--out", out, "--peers", "openvino-cq8")
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = {cell["id"].split("/t1/")[0]: cell for cell in cells_of(out)}
        wanted = ("attention/xsimd/f32-cq8", "attention/xsimd/int8-cq8", "attention/xsimd/f32-cbf16")
        for name in wanted:
            cell = cells[name]
            self.assertEqual(cell["status"], "ok", cell)
            self.assertEqual(cell["cache_dtype"], name.rpartition("-c")[2])
            self.assertGreater(cell["storage_nrmse"], 5e-4)
        self.assertLess(cells[wanted[0]]["error"]["nrmse"], 5e-6)
        self.assertGreater(cells[wanted[1]]["error"]["nrmse"], 1e-3)
        self.assertIn("llama.cpp", environment_of(out)["peers"])
        self.assertRegex(
            self.table_with_a_rival(out),
            r"keys and values of q8; error, and distance to unrounded ones;"
            r" ours: +[0-9.]+e-0[67] +[0-9.]+e-03\n"
            r"  rival attention .* [0-9.]+e-0[67] +[0-9.]+e-03  ",
        )

    def table_with_a_rival(self, out: str) -> str:
        """Ours of q8 once more, as if it were another library's."""
        environment = environment_of(out)
        environment["peers"]["rival"] = {"version": "rival 1.0"}
        ours = [cell for cell in cells_of(out) if "/xsimd/f32-cq8/" in cell["id"]]
        theirs = {**ours[0], "id": ours[0]["id"].replace("/xsimd/", "/rival/"), "backend": "rival"}
        with open(os.path.join(out, "environment.json"), "w", encoding="utf-8") as file:
            json.dump(environment, file)
        with open(os.path.join(out, "results.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(theirs) + "\n")
        done = run(DRIVER, "table", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_past_that_no_cache_can_be_cut_to_says_why(self) -> None:
        out = os.path.join(WORK, "uncut")
        quick = ["--op", "attention", "--shapes", "1+63,64,2", "--samples", "9", "--launches", "3"]
        names = ["--numbers", "f32-cq8", "--ours", "xsimd", "--peers", "none"]
        done = measure(*quick, *names, "--out", out)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("--past", cells_of(out)[0]["reason"])

    def test_peers_round_by_themselves(self) -> None:
        cached = {peer.name: peer for peer in ATTENTION_RIVALS if parts(peer.numbers)[3]}
        self.assertEqual(sorted(cached), ["onnxruntime-cq8", "openvino-cq8", "openvino-cq8-bf16"])
        for name, peer in cached.items():
            self.assertEqual((peer.numbers, peer.fed["rounding"]), ("f32-cq8", "own"), name)
            self.assertEqual(peer.fed.get("products"), "bf16" if name.endswith("bf16") else None)
            self.assertEqual(peer.steps, name.startswith("openvino"), name)

    def test_a_peer_of_steps_takes_no_part_in_prompts(self) -> None:
        out = os.path.join(WORK, "prompts")
        quick = ["--op", "attention", "--shapes", "2,64,2", "2+64,64,2", "--samples", "9"]
        environments = os.path.join(WORK, "as-if-installed")
        os.makedirs(os.path.join(environments, "openvino", "bin"))
        stamp = os.path.join(environments, "openvino", "installed.txt")
        shutil.copyfile(os.path.join(PEERS, "requirements-openvino.txt"), stamp)
        python = os.path.join(environments, "openvino", "bin", "python")
        with open(python, "w", encoding="utf-8") as program:
            program.write(f"#!/bin/sh\nexec {FAKE}\n")
            os.chmod(program.fileno(), 0o755)
        names = ["--launches", "3", "--ours", "xsimd", "--peers", "openvino-cq8"]
        done = measure(*quick, *names, "--environments", environments, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("openvino-cq8: fake 1.0", done.stderr)
        self.assertIn("openvino-cq8: not here: it takes one token after a past", done.stderr)
        self.assertEqual({cell["backend"] for cell in cells_of(out)}, {"xsimd"})

    def test_eight_bits_are_of_weights_or_of_keys(self) -> None:
        self.assertEqual(numbers_of(["q8"], "layer"), ["f32-wq8", "int8-wq8"])
        self.assertEqual(numbers_of(["int8-cq8", "q8"], "attention"), ["int8-cq8", "f32-cq8"])

    def test_what_a_call_leaves_behind_is_taken_away_untimed(self) -> None:
        seen: List[str] = []

        def call(i: int) -> None:
            seen.append(f"call {i}")

        layer = Layer(call, call, "", lambda: seen.append("restart"), 2)
        server = Server(None)
        server.inputs = 3
        server.timed = lambda call, order: seen.append("timed") or len(order)
        self.assertEqual(server.calls(layer, 5), 5)
        expected = [("restart", f"call {first}", "timed") for first in (0, 2, 1)]
        self.assertEqual(seen, [step for steps in expected for step in steps])
        layer.room, layer.restart = 0, None
        self.assertEqual(server.calls(layer, 5), 5)
        self.assertEqual(len(seen), 10)


class Choice(unittest.TestCase):
    def test_the_fastest_variant_is_taken_while_the_machine_slows_down(self) -> None:
        run = ShapeRun(None, {}, "", 1, Settings(9, 3, 0.05, 1, 2), None)
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


    def test_ours_are_chosen_by_the_trials_one_of_each_contest(self) -> None:
        run = ShapeRun(None, {}, "", 1, Settings(9, 3, 0.05, 1, 2), None)
        paces = {"f32": 2.0, "bf16x6": 1.0, "bf16": 0.5, "bf16-bf16": 0.4}
        few_bits = {"f32-wq8": 0.3, "int8-wq8": 0.1, "f32-wq4": 0.2}
        for numbers, pace in {**paces, **few_bits}.items():
            cell = Cell(our_backend("program", "tbb", numbers), "split", {"name": numbers})
            cell.pace = pace
            run.cells.append(cell)
        run.cells.append(Cell(RIVALS[0], "split", {"name": "theirs"}))
        run.cells.append(Cell(our_backend("program", "xsimd", "f32"), "split"))  # it failed
        run.choose_ours()
        chosen = [cell.variant["name"] for cell in run.chosen]
        self.assertEqual(chosen, ["bf16x6", "bf16", "bf16-bf16", "f32-wq8", "int8-wq8", "f32-wq4"])


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
            (["--launches", "1"], "not from 3 to 15, the samples"),
            (["--samples", "9", "--launches", "10"], "not from 3 to 9, the samples"),
            (["--peers", "nobody"], "unknown peer 'nobody'; known: pytorch-sdpa"),
            (["--shapes", "5,8,3"], "multiple of the heads"),
            (["--numbers", "q5"], "--numbers: unknown 'q5'; known: f32, bf16x9"),
            (["--op", "attention", "--numbers", "f32,q4"], "'q4' is of weights"),
            (["--op", "attention", "--numbers", "int8-wq8"], "'int8-wq8' is of weights"),
            (["--numbers", "f32,f32-cq8"], "'f32-cq8' is of a cache, and needs --op attention"),
            (["--peers", "llama.cpp"], "'llama.cpp' is not available: PyPI has no wheel"),
            (["--peer", "nameless"], "NAME=COMMAND"),
            (["--peer", "a/b=true"], "with a name of letters"),
            (["--peer", "a=true", "--peer", "a=false"], "'a' is given twice"),
        ):
            done = measure("--out", os.path.join(WORK, "never"), *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(told, done.stderr)

    def test_nothing_given_steers_a_terminal(self) -> None:
        done = measure("--out", os.path.join(WORK, "hostile"), "--peers", "\x1b[31m\x9b\u202e\nFORGED")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("'\\x1b[31m\\x9b\\u202e\\nFORGED'", done.stderr)

    def test_other_numbers_than_f32_have_a_roof_of_their_own(self) -> None:
        out = os.path.join(WORK, "roofs")
        numbers = ["--numbers", "f32,bf16", "--peers", "none", "--ours", "xsimd"]
        done = measure("--out", out, *numbers)
        self.assertEqual(done.returncode, 0, done.stderr)
        environment = environment_of(out)
        rates = environment["peaks"].get("gflops_by_precision_and_threads", {})
        has_unit = environment["unit"] in ("amx", "avx512_bf16")
        self.assertEqual("bf16" in rates, has_unit, environment["unit"])

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

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not here")
    def test_numpy_gives_the_right_result(self) -> None:
        out = os.path.join(WORK, "numpy")
        program = os.path.join(PEERS, "rival_numpy.py")
        peer = f"here={sys.executable} {program}"
        done = measure("--out", out, "--peers", "none", "--ours", "none", "--peer", peer)
        self.assertEqual(done.returncode, 0, done.stderr)


class InEveryWay(unittest.TestCase):
    """The layer composed of the products of a BLAS: one row; fewer rows than a block of scores;
    blocks of which the last is not full."""

    shapes = ["1,1,8,2", "2,5,24,3", "1,300,16,1"]

    def told(self, name: str, version: str, ways: int, *chosen: str) -> Dict[str, Any]:
        threads = ",".join(str(n) for n in (1, 2) if n <= len(os.sched_getaffinity(0)))
        out = os.path.join(WORK, name)
        quick = ["--ours", "none", "--threads", threads, "--out", out, *chosen]
        done = measure("--shapes", *self.shapes, *quick)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = environment_of(out)["peers"][name]
        self.assertRegex(told["version"], version)
        self.assertEqual(len(told["tried"]), len(self.shapes) * len(threads.split(",")))
        for place, formulations in told["tried"].items():
            self.assertEqual(set(formulations), {"fused", "split", "wrapper"})
            # As the BLAS shares out the work, and with threads as we do in two ways.
            sharings = 3 if place.startswith("t2") else 1
            blocks = 2 if "T300" in place else 1
            for tried in formulations.values():
                self.assertEqual(len(tried["tried"]), ways * sharings * blocks, place)
                for variant, time in tried["tried"].items():
                    self.assertRegex(time, r"^[0-9.e-]+ s$", f"{place} {variant}")
        return told

    @unittest.skipUnless(os.path.exists(OPENBLAS), "OpenBLAS was not there at build time")
    def test_openblas_gives_the_right_result(self) -> None:
        self.told("openblas", r"^OpenBLAS \d", 1, "--peers", "openblas")

    @unittest.skipUnless(os.path.exists(MKL), "OpenMP was not there at build time")
    def test_packed_and_plain_give_the_right_result(self) -> None:
        chosen = ["--peers", "none", "--peer", f"fake-mkl={MKL} {FAKE_MKL}"]
        told = self.told("fake-mkl", r"^MKL 2026\.2$", 2, *chosen)
        for formulations in told["tried"].values():
            for tried in formulations.values():
                packed = [name for name in tried["tried"] if name.endswith("-packed")]
                self.assertEqual(2 * len(packed), len(tried["tried"]))
        for cell in cells_of(os.path.join(WORK, "fake-mkl")):
            self.assertEqual((cell["status"], cell["isa"]), ("ok", "AVX-512"))

    @unittest.skipUnless(os.path.exists(MKL), "OpenMP was not there at build time")
    @unittest.skipUnless(
        os.path.exists(REAL_MKL), "MKL is not in build-peers; scripts/peers --peers mkl installs it"
    )
    def test_mkl_gives_the_right_result(self) -> None:
        chosen = ["--peers", "none", "--peer", f"real-mkl={MKL} {REAL_MKL}"]
        self.told("real-mkl", r"^MKL \d", 2, *chosen)


@unittest.skipUnless(os.path.exists(MKL), "OpenMP was not there at build time")
class WhatMklMayLack(unittest.TestCase):
    """A fake MKL that lacks one thing, by the variable FAKE_MKL."""

    def prepared(self, lacks: str, threads: int) -> Dict[str, Any]:
        shape = {"batch": 1, "tokens": 2, "d_in": 24, "d_out": 24, "d_proj": 24, "heads": 3}
        rest = {"head_dim": 8, "causal": True, "qkv_bias": False, "out_proj": True, "dropout": 0}
        folder = os.path.join(WORK, "zeros")
        os.makedirs(folder, exist_ok=True)
        floats = dict.fromkeys(("query", "key", "value", "output"), 24 * 24)
        for name, count in {**floats, "output_bias": 24, "x0": 2 * 24}.items():
            with open(os.path.join(folder, f"{name}.f32"), "wb") as file:
                file.write(bytes(4 * count))
        command = ["env", f"FAKE_MKL={lacks}", MKL, FAKE_MKL]
        cpus = sorted(os.sched_getaffinity(0))
        log = os.path.join(WORK, "lacking.log")
        with Process("lacking", command, ENVIRONMENT, cpus, log) as peer:
            given = {"folder": folder, "shape": {**shape, **rest}, "inputs": 1}
            return peer.ask("prepare", threads=threads, formulations=[], **given)

    def test_nothing_is_missing_from_the_fake_one(self) -> None:
        told = self.prepared("nothing", 2)
        self.assertEqual((len(told["variants"]), told["failed"]), (18, []))

    def test_threads_that_it_does_not_take_are_refused(self) -> None:
        with self.assertRaisesRegex(PeerError, r"this MKL 2026\.2 takes 1, not 2"):
            self.prepared("threads", 2)

    def test_packing_out_of_proportion_is_refused(self) -> None:
        told = self.prepared("proportion", 1)
        self.assertEqual([failed["name"] for failed in told["failed"]], ["wrapper-products-2-packed"])
        self.assertRegex(told["failed"][0]["reason"], r"^packed, 9 matrices of .* take 9\.7 GB$")
        self.assertEqual(len(told["variants"]), 5)

    def test_another_layer_of_threads_is_refused(self) -> None:
        done = run("env", "FAKE_MKL=layer", MKL, FAKE_MKL)
        self.assertEqual(done.returncode, 4)
        self.assertIn("no 32-bit integers on GNU OpenMP", done.stderr)

    def test_what_is_no_mkl_is_told(self) -> None:
        for library, told in (
            ("nowhere.so", "no MKL: nowhere.so: cannot open shared object"),
            ("libc.so.6", "no MKL: it has no cblas_sgemm"),
        ):
            done = run(MKL, library)
            self.assertEqual(done.returncode, 4)
            self.assertIn(told, done.stderr)


class BuiltAndInstalled(unittest.TestCase):
    """A peer that needs both a program of ours and packages."""

    def setUp(self) -> None:
        self.peer = next(peer for peer in RIVALS if peer.name == "mkl")
        self.build = os.path.join(WORK, "built")
        self.folder = os.path.join(WORK, "installed")
        for folder in (self.build, os.path.join(self.folder, "mkl")):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        self.program = os.path.join(self.build, "headroom-peer-mkl")

    def command(self) -> List[str]:
        return Environments(self.folder, False, self.build).command(self.peer)

    def make(self) -> None:
        with open(self.program, "w", encoding="utf-8") as program:
            os.chmod(program.fileno(), 0o755)

    def install(self) -> None:
        stamp = os.path.join(self.folder, "mkl", "installed.txt")
        shutil.copyfile(os.path.join(PEERS, "requirements-mkl.txt"), stamp)

    def test_both_make_the_command(self) -> None:
        self.make()
        self.install()
        library = os.path.join(self.folder, "mkl", "lib", "libmkl_rt.so.3")
        self.assertEqual(self.command(), [self.program, library])

    def test_without_packages_it_says_how_to_install_them(self) -> None:
        self.make()
        with self.assertRaisesRegex(NotInstalled, r"pip install .*requirements-mkl\.txt"):
            self.command()

    def test_without_the_program_nothing_is_installed(self) -> None:
        self.install()
        with self.assertRaisesRegex(NotInstalled, "not built, because the compiler has no OpenMP"):
            self.command()

    def test_a_command_of_the_users_own_stays_as_it_is(self) -> None:
        peer = given_peer("own=prog {build} {python}")
        environments = Environments(self.folder, False, self.build)
        self.assertEqual(environments.command(peer), ["prog", "{build}", "{python}"])


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    unittest.main(argv=sys.argv[:1])

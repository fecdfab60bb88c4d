"""The commands as functions: the program inside the package."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import headroom
import numpy as np
import pytest
from headroom import _program
from headroom._messages import Messages, in_python_words

SMALL = dict(heads=2, d_model=16, tokens=4, repetitions=2, processes=1, min_time=0.001)


def test_info():
    info = headroom.info()
    assert info["headroom"] == headroom.__version__
    assert info["isa"] in info["available_isas"]
    ours = {one["name"] for one in headroom.backends() if one["available"]}
    assert ours <= {one["name"] for one in info["backends"] if one["available"]}


def test_a_sweep_is_a_list_of_records(tmp_path):
    records = headroom.sweep(out=tmp_path / "r", frame=False, backend=["naive", "xsimd"], **SMALL)
    assert {record["backend"] for record in records} == {"naive", "xsimd"}
    assert {record["formulation"] for record in records} == {"wrapper", "split", "fused"}
    for record in records:
        assert record["status"] == "ok" and record["time_s"]["median"] > 0
        assert record["shape"]["heads"] == 2 and record["shape"]["causal"] is True


def test_a_sweep_is_a_frame_where_pandas_is(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = headroom.sweep(
        out=tmp_path / "r", backend="xsimd", formulation="split", causal=False, **SMALL
    )
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 1
    assert frame["time_s.median"][0] > 0 and not frame["shape.causal"][0]


def test_report_and_pick_read_a_sweep(tmp_path):
    folder = tmp_path / "r"
    headroom.sweep(
        out=folder, frame=False, backend=["naive", "xsimd"], formulation="split", **SMALL
    )
    page = headroom.report(folder, out=tmp_path / "page")
    assert page == tmp_path / "page" / "index.html" and page.stat().st_size > 0
    picked = headroom.pick(results=folder)
    assert picked["choice"]["backend"] in ("naive", "xsimd")
    assert picked["schema"].startswith("headroom.tuning/")


def test_what_pick_returns_is_a_tuning_file(tmp_path, weights):
    picked = headroom.pick(heads=4, d_model=32, tokens=5, backend="xsimd", budget="10m")
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps(picked))
    threads = picked["choice"]["threads"]
    layer = headroom.Attention(
        **weights(), heads=4, tokens=5, threads=threads, tuning_file=str(path)
    )
    assert layer.choice["source"] == "tuning file", layer.choice


def test_wrong_axes_are_a_value_error(tmp_path):
    with pytest.raises(ValueError, match="heads"):
        headroom.sweep(out=tmp_path / "r", heads=0)
    with pytest.raises(ValueError, match="haeds"):
        headroom.sweep(out=tmp_path / "r", haeds=1)
    with pytest.raises(ValueError, match="12, 16|heads"):
        headroom.sweep(out=tmp_path / "r", heads=5, d_model=64)


def test_what_cannot_be_done_is_a_runtime_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing-here"):
        headroom.report(tmp_path / "nothing-here")
    with pytest.raises(FileNotFoundError, match="nothing-here"):
        headroom.results(tmp_path / "nothing-here")
    neighbour = "neon" if "neon" not in headroom.info()["available_isas"] else "avx2"
    with pytest.raises(RuntimeError, match=neighbour):
        headroom.sweep(out=tmp_path / "r", isa=neighbour, heads=1, head_dim=8, tokens=1)


def test_a_folder_that_is_there_already(tmp_path):
    options = dict(out=tmp_path / "r", frame=False, backend="naive", formulation="split", **SMALL)
    headroom.sweep(**options)
    with pytest.raises(FileExistsError, match="already holds results.*; continue with resume"):
        headroom.sweep(**options)
    headroom.sweep(resume=True, **options)
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("mine")
    with pytest.raises(FileExistsError, match="index.html exists and was not written by headroom"):
        headroom.report(tmp_path / "r", out=tmp_path / "page")


def test_axes_of_numpy(tmp_path):
    records = headroom.sweep(
        out=tmp_path / "r", frame=False, backend="naive", formulation="split",
        **{**SMALL, "heads": np.array([1, 2]), "tokens": np.int64(4), "causal": np.False_},
    )  # fmt: skip
    assert [record["shape"]["heads"] for record in records] == [1, 2]
    assert not any(record["shape"]["causal"] for record in records)


def test_errors_speak_python(tmp_path):
    with pytest.raises(ValueError) as caught:
        headroom.sweep(out=tmp_path / "r", head_dim=4, d_model=8)
    assert "head_dim" in str(caught.value) and "d_model" in str(caught.value)
    for raw in ("--", "headroom:", "error:"):
        assert raw not in str(caught.value)
    assert in_python_words("headroom: error: tbb: not linked; link headroom::tbb") == (
        "tbb: not linked; this build of the package lacks tbb"
    )


def test_results_of_a_folder(tmp_path):
    swept = headroom.sweep(out=tmp_path / "r", frame=False, backend="naive", **SMALL)
    assert headroom.results(tmp_path / "r", frame=False) == swept
    pandas = pytest.importorskip("pandas")
    assert isinstance(headroom.results(tmp_path / "r"), pandas.DataFrame)


def test_a_report_shows_its_pictures_in_a_notebook(tmp_path):
    headroom.sweep(out=tmp_path / "r", frame=False, backend=["naive", "xsimd"], **SMALL)
    page = headroom.report(tmp_path / "r")
    shown = page._repr_html_()
    drawn = list((tmp_path / "r" / "pictures").glob("*.svg"))
    assert str(page) in shown and shown.count("<svg") == len(drawn)


class Lines(list):
    """A stream of lines, as the program writes them."""

    def close(self):
        pass


def test_progress_is_a_bar_where_it_is_seen_and_lines_elsewhere(monkeypatch, capsys):
    lines = [
        "headroom: note: measuring the limits of this machine before the first cell\n",
        "[1/4] 28 s left  fused/xsimd/f32/t1/B1_T4_D16_H2  1.2 us, 3.4 GFLOP/s\n",
        "[4/4] 0.1 s left  split/xsimd/f32/t1/B1_T4_D16_H2  1.2 us, 3.4 GFLOP/s\n",
    ]
    messages = Messages(Lines(lines), show=True)
    messages.error()
    assert capsys.readouterr().err == "".join(lines)
    messages = Messages(Lines(lines), show=None)
    messages.error()
    assert capsys.readouterr().err == ""  # nobody asked, and nobody sees a bar here
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    messages = Messages(Lines(lines), show=None)
    messages.error()
    seen = capsys.readouterr().err
    assert "\r[######..................] 1/4, 28 s left, fused/xsimd" in seen
    assert "[########################] 4/4, 0.1 s left, split/xsimd" in seen
    assert seen.endswith("\n")


def test_warnings_of_the_program_are_warnings():
    messages = Messages(Lines(["headroom: warning: --threads 4: only 2 cores\n"]), show=False)
    with pytest.warns(headroom.ProgramWarning, match="^threads 4: only 2 cores$"):
        messages.warn(level=1)


def test_the_command(tmp_path):
    program = Path(sys.executable).parent / "headroom"
    if not program.exists():
        pytest.skip("the package is not installed in an environment")
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and headroom.__version__ in done.stdout
    assert os.access(Path(headroom.__file__).parent / "_bin" / "headroom", os.X_OK)


@pytest.mark.parametrize("command", ["sweep", "pick"])
def test_axes_are_those_of_the_program(command):
    """What a checker of types knows of ``**axes``, so that it finds misspelled ones."""
    function = getattr(headroom, command)
    names = _program.SweepAxes if command == "sweep" else _program.PickAxes
    known = names.__optional_keys__ | set(inspect.signature(function).parameters)
    # What Python has another way for, or no use for.
    aside = {"help", "no-causal", "no-out-proj", "dry-run"}
    if command == "pick":
        aside |= {"emit", "fail-if-unclear", "from", "leave-one-out", "output"}
    program = Path(headroom.__file__).parent / "_bin" / "headroom"
    said = subprocess.run([program, command, "--help"], capture_output=True, text=True).stdout
    options = set(re.findall(r"^ +(?:-\w, ?)?--([a-z][a-z-]*)", said, re.MULTILINE))
    assert len(options) > 40
    assert {one.replace("-", "_") for one in options - aside} <= known


def test_the_package_is_typed():
    assert (Path(headroom.__file__).parent / "py.typed").exists()
    assert (Path(headroom.__file__).parent / "_core.pyi").exists()

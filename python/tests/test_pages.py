"""What the pages and the notebook show: it runs, and prints what they say."""

import ast
import base64
import copy
import re
import subprocess
import sys
from pathlib import Path

import headroom
import pytest

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"<!-- example: (\S+) -->\n```\w*\n(.*?)```", re.DOTALL)


def examples():
    found = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for name, text in MARK.findall(page.read_text(encoding="utf-8")):
            if ".py" in name:
                assert name not in found, f"two examples are called {name}"
                found[name] = text
    return found


EXAMPLES = examples()
PROGRAMS = [
    pytest.param(name, marks=pytest.mark.torch if "torch" in text else ())
    for name, text in EXAMPLES.items()
    if name.endswith(".py")
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_prints_what_its_page_says(name, tmp_path):
    if "torch" in EXAMPLES[name]:
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[name]], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if name + ".out" in EXAMPLES:
        assert done.stdout == EXAMPLES[name + ".out"]


def test_every_output_belongs_to_an_example():
    for name in EXAMPLES:
        assert name.endswith(".py") or name[: -len(".out")] in EXAMPLES
    assert len(PROGRAMS) >= 4


@pytest.fixture(scope="module")
def notebook():
    nbformat = pytest.importorskip("nbformat")
    return nbformat.read(ROOT / "examples" / "lesson.ipynb", as_version=4)


def test_the_notebook_has_thirteen_cells_and_no_outputs(notebook):
    assert len(notebook.cells) == 13
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


def shown_as(outputs, kind):
    """What the outputs of a cell show as a kind of data, or print."""
    if kind == "printed":
        return "".join(one.get("text", "") for one in outputs if one["output_type"] == "stream")
    return "".join(str(one["data"].get(kind, "")) for one in outputs if "data" in one)


def outputs_of(notebook, folder):
    """Runs it with short samples, and returns the outputs of its cells of code."""
    pytest.importorskip("matplotlib")
    client = pytest.importorskip("nbclient")
    quick = copy.deepcopy(notebook)
    sweeps = [cell for cell in quick.cells if "headroom.sweep(" in cell.source]
    assert len(sweeps) == 1 and "    frame=False,\n" in sweeps[0].source
    sweeps[0].source = sweeps[0].source.replace(
        "    frame=False,\n", "    frame=False,\n    repetitions=2,\n    min_time=0.001,\n"
    )
    client.NotebookClient(
        quick, timeout=300, resources={"metadata": {"path": str(folder)}}
    ).execute()
    return [cell.outputs for cell in quick.cells if cell.cell_type == "code"]


def check_measured(sweep, ratios, report):
    """What the cells that need no PyTorch show."""
    # A busy machine may leave cells out of the budget, which is no failure of theirs.
    statuses = ast.literal_eval(shown_as(sweep, "text/plain"))
    assert "ok" in statuses.values() and not {"failed", "crashed"} & set(statuses.values())
    shapes = {name.rsplit("/", 1)[1] for name in statuses}
    assert shapes == {"B1_T16_D768_H1", "B1_T16_D768_H12", "B1_T16_D768_H96"}
    assert {name.split("/")[0] for name in statuses} == {"wrapper", "split"}
    backends = {one["name"] for one in headroom.info()["backends"] if one["available"]}
    assert {name.split("/")[1] for name in statuses} == backends
    assert "heads" in shown_as(ratios, "text/html")
    assert shown_as(report, "text/markdown").lstrip().startswith("<!-- written by headroom")
    assert "<svg" in shown_as(report, "text/html")


@pytest.mark.torch
def test_the_notebook_runs(notebook, tmp_path):
    pytest.importorskip("torch")
    modules, words, heads, packed, textbook, *measured = outputs_of(notebook, tmp_path)
    assert modules == []
    # What the textbook prints for these six words, by the module and by the layer.
    assert ast.literal_eval(shown_as(words, "text/plain"))["Your"] == [0.3190, 0.4858]
    plot = base64.b64decode(shown_as(heads, "image/png"))
    (tmp_path / "plot.png").write_bytes(plot)
    assert plot.startswith(b"\x89PNG") and len(plot) > 20000
    assert float(shown_as(packed, "text/plain")) < 1e-5
    lines = shown_as(textbook, "printed").splitlines()
    assert [re.match(r"heads: +(\d+), ms: ", line)[1] for line in lines] == ["1", "12", "96"]
    assert all("'wrapper'" in line and "'split'" in line and "'packed'" in line for line in lines)
    check_measured(*measured)


def test_the_notebook_runs_without_torch(notebook, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('hidden by the test')\n")
    modules, *skipped, sweep, ratios, report = outputs_of(notebook, tmp_path)
    assert "PyTorch is not installed" in shown_as(modules, "printed")
    assert skipped == [[]] * 4
    check_measured(sweep, ratios, report)

"""What the pages and the notebook show: it runs, and prints what they say."""

import ast
import base64
import re
import subprocess
import sys
from pathlib import Path

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


def test_the_notebook_has_twelve_cells_and_no_outputs(notebook):
    assert len(notebook.cells) == 12
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


def shown_as(outputs, kind):
    """What the outputs of a cell show as a kind of data, or print."""
    if kind == "printed":
        return "".join(one.get("text", "") for one in outputs if one["output_type"] == "stream")
    return "".join(str(one["data"].get(kind, "")) for one in outputs if "data" in one)


@pytest.mark.torch
def test_the_notebook_runs(notebook, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    client = pytest.importorskip("nbclient")
    client.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    shown = [shown_as(output, "text/plain") for output in outputs]
    # What the textbook prints for these six words, by the module and by the layer.
    assert ast.literal_eval(shown[1])["Your"] == [0.3190, 0.4858]
    plot = base64.b64decode(shown_as(outputs[2], "image/png"))
    (tmp_path / "plot.png").write_bytes(plot)
    assert plot.startswith(b"\x89PNG") and len(plot) > 20000
    assert float(shown[3]) < 1e-5
    # A busy machine may leave cells out of the budget, which is no failure of theirs.
    assert "'ok'" in shown[5] and not re.search("failed|crashed", shown[5]), shown[5]
    assert "wrapper" in shown_as(outputs[6], "text/html")
    assert "<svg" in shown_as(outputs[7], "text/html")
    conclusion = shown_as(outputs[8], "printed")
    assert re.search(r"^Link \w+ and use its \w+ formulation", conclusion), conclusion
    assert "The wrapper's time over the split's:" in conclusion

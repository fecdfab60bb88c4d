"""The program ``headroom``, which is inside the package.

It measures in processes that it forks, which a Python process with threads should not do. So the
functions here start it, and read what it prints or writes.
"""

import html
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterator,
    List,
    Mapping,
    NoReturn,
    Optional,
    TypedDict,
    Union,
)

import numpy as np

from ._messages import Messages, error_of_file

if TYPE_CHECKING:
    from typing_extensions import Unpack

Axis = Any
"""A number, a text such as ``"1-64*2"``, or a list of them; of numpy as well."""
PathLike = Union[str, "os.PathLike[str]"]


class Axes(TypedDict, total=False):
    """Axes of ``headroom sweep`` and ``headroom pick``, with underscores; ``headroom sweep --help``
    explains them."""

    backend: Axis
    batch: Axis
    cache_dtype: Axis
    causal: Optional[bool]
    config: Optional[PathLike]
    d_in: Axis
    d_model: Axis
    dropout: Axis
    dtype: Axis
    family: Axis
    formulation: Axis
    head_dim: Axis
    heads: Axis
    isa: Axis
    kv_heads: Axis
    layer: Axis
    lengths: Axis
    model: Axis
    op: Axis
    out_proj: Optional[bool]
    outliers: Axis
    past: Axis
    precision: Axis
    preset: Axis
    qk_norm: Axis
    qkv_bias: Optional[bool]
    ranks: Axis
    rotary: Axis
    scale: Axis
    sinks: Optional[bool]
    softcap: Axis
    stored: Axis
    strict: Optional[bool]
    tensor: Axis
    threads: Axis
    tokens: Axis
    unit: Axis
    weights: Optional[PathLike]
    weights_dtype: Axis
    window: Axis


class SweepAxes(Axes, total=False):
    """And what else ``headroom sweep`` takes."""

    cache: Axis
    only: Axis
    seed: Axis
    shard: Axis
    timeout: Axis
    yes: Optional[bool]


class PickAxes(Axes, total=False):
    """And what else ``headroom pick`` takes."""

    machine: Axis
    max_error: Axis


_PROGRAM = Path(__file__).parent / "_bin" / "headroom"
_USAGE = 2
_CHECK_FAILED = 1
# Axes that are on, and the options that switch them off.
_NEGATED = {"causal": "--no-causal", "out_proj": "--no-out-proj"}


def main() -> NoReturn:
    """What the command ``headroom`` of an environment runs."""
    os.execv(_PROGRAM, [str(_PROGRAM), *sys.argv[1:]])


def _plain(value: Any) -> Any:
    """What numpy has as what Python has."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def _text(value: Any) -> str:
    value = _plain(value)
    if isinstance(value, (list, tuple, range)):
        return ",".join(_text(one) for one in value)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    return repr(value)


def _options(given: Mapping[str, Any]) -> Iterator[str]:
    """Arguments of the program: ``heads=[1, 2]`` becomes ``--heads 1,2``."""
    for name, value in given.items():
        value = _plain(value)
        if value is None:
            continue
        if isinstance(value, bool):
            if name in _NEGATED:
                if not value:
                    yield _NEGATED[name]
                continue
            if value:
                yield "--" + name.replace("_", "-")
            continue
        yield "--" + name.replace("_", "-")
        yield _text(value)


def _wait(process: "subprocess.Popen[str]", interrupt: bool) -> str:
    """What it prints. A Ctrl-C in a notebook reaches only this process."""
    assert process.stdout is not None
    try:
        return process.stdout.read()
    except KeyboardInterrupt:
        if interrupt:
            process.send_signal(signal.SIGINT)
        raise
    finally:
        process.wait()


def _failed(command: str, code: int, text: str) -> Exception:
    text = text or f"headroom {command} ended with {code}"
    return error_of_file(text) or (ValueError if code == _USAGE else RuntimeError)(text)


def _run(
    arguments: List[str], progress: Optional[bool] = False, allowed: "tuple[int, ...]" = (0,)
) -> str:
    """Runs the program and returns what it prints; repeats its warnings as Python's.

    Raises:
        ValueError: the arguments are wrong, with the program's text.
        OSError: a folder or file is not there, is there already, or cannot be read or written.
        RuntimeError: it failed otherwise, with its text.
    """
    process = subprocess.Popen(
        [str(_PROGRAM), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stderr is not None
    messages = Messages(process.stderr, progress)
    printed = _wait(process, interrupt=True)
    error = messages.error()
    if process.stdout is not None:
        process.stdout.close()
    process.stderr.close()
    messages.warn(level=3)
    if process.returncode in allowed:
        return printed
    raise _failed(arguments[0], process.returncode, error)


def info(*, measure: bool = False) -> Dict[str, Any]:
    """Processor, instruction sets, allowed cores and memory, backends, versions.

    Args:
        measure: also measure peak arithmetic and memory bandwidth, which takes seconds
    """
    arguments = ["info", "--json", *_options({"measure": measure})]
    result: Dict[str, Any] = json.loads(_run(arguments))
    return result


def pick(
    *,
    results: Optional[PathLike] = None,
    without: Axis = None,
    max_packed_bytes: Axis = None,
    budget: Optional[str] = None,
    progress: Optional[bool] = None,
    **axes: "Unpack[PickAxes]",
) -> Dict[str, Any]:
    """The fastest backend and formulation for shapes, measured now or taken from results.

    Args:
        results: folder of a sweep to pick from; None: measure now
        without: backends not to pick
        max_packed_bytes: of packed weights, such as ``"64MiB"``
        budget: time for measuring, such as ``"20s"``
        progress: show how far it is, as a bar in terminals and notebooks and in lines elsewhere;
            None: only as a bar
        axes: as of ``sweep``

    Returns:
        What ``headroom pick --emit json`` prints, a tuning file: save it as JSON, and give its
        path to ``Attention(tuning_file=...)``. Its ``answer`` is ``"unclear"`` where there is no
        answer yet, else ``"clear"``, ``"tie"`` or ``"only one"``.
    """
    given = {
        "from": results,
        "without": without,
        "max_packed_bytes": max_packed_bytes,
        "budget": budget,
        **axes,
    }
    printed = _run(["pick", "--emit", "json", *_options(given)], progress)
    result: Dict[str, Any] = json.loads(printed)
    return result


def _framed(records: List[Dict[str, Any]], frame: Optional[bool]) -> Any:
    if frame is None:
        frame = importlib.util.find_spec("pandas") is not None
    if not frame:
        return records
    import pandas  # type: ignore[import-untyped, unused-ignore]

    return pandas.json_normalize(records)


def results(folder: PathLike, *, frame: Optional[bool] = None) -> Any:
    """The records of a folder of results, one a cell, as ``sweep`` returns them.

    Args:
        folder: that ``headroom sweep`` or ``sweep`` wrote
        frame: a pandas frame with one column a field (``shape.heads``, ``time_s.median``) or a list
            of records. Default: a frame if pandas is installed.

    Raises:
        FileNotFoundError: the folder is not there, or no folder of results.
    """
    with open(Path(folder) / "results.jsonl", encoding="utf-8") as lines:
        return _framed([json.loads(line) for line in lines if line.strip()], frame)


def sweep(
    *,
    out: PathLike = "headroom-results",
    resume: bool = False,
    budget: Optional[str] = None,
    max_memory: Optional[str] = None,
    repetitions: Optional[int] = None,
    processes: Optional[int] = None,
    min_time: Optional[float] = None,
    progress: Optional[bool] = None,
    frame: Optional[bool] = None,
    **axes: "Unpack[SweepAxes]",
) -> Any:
    """Checks and measures every cell of the axes.

    Args:
        out: folder for the results
        resume: measure only the cells that ``out`` lacks
        budget: time for the whole sweep, such as ``"10m"``
        max_memory: such as ``"16GiB"``
        repetitions: samples of a cell
        processes: that take the samples, one after the other
        min_time: seconds of a sample
        progress: show how far it is, as a bar in terminals and notebooks and in lines elsewhere;
            None: only as a bar
        frame: a pandas frame with one column a field (``shape.heads``, ``time_s.median``) or a list
            of records. Default: a frame if pandas is installed.
        axes: ``heads``, ``tokens``, ``batch``, ``d_model``, ``head_dim``, ``d_in``, ``kv_heads``,
            ``window``, ``past``, ``threads``, ``backend``, ``formulation``, ``model``, ``preset``
            and all other options of ``headroom sweep``, with underscores. A value is a number, a
            range such as ``"1-64*2"`` or a list. ``causal=False``, ``out_proj=False`` and
            ``qkv_bias=True`` change the layer.

    Returns:
        The records of ``out/results.jsonl``, one a cell. A cell with a wrong result has the
        ``status`` ``"failed"`` and no time.

    Raises:
        ValueError: the axes are wrong.
        FileExistsError: ``out`` holds results, and ``resume`` was not asked for.
        RuntimeError: it could not be done.

    Warns:
        ProgramWarning: something puts the times in doubt.
    """
    given = {
        "out": out,
        "resume": resume,
        "budget": budget,
        "max_memory": max_memory,
        "repetitions": repetitions,
        "processes": processes,
        "min_time": min_time,
        **axes,
    }
    _run(["sweep", *_options(given)], progress, allowed=(0, _CHECK_FAILED))
    return results(out, frame=frame)


class Page(type(Path())):  # type: ignore[misc]
    """Path of a report's page. A notebook shows its pictures in place of the path."""

    def _repr_html_(self) -> str:
        """What a notebook shows; the whole page is in the file."""
        pictures = sorted((self.parent / "pictures").glob("*.svg"))
        link = f"<p><code>{html.escape(str(self))}</code></p>\n"
        return link + "\n".join(picture.read_text(encoding="utf-8") for picture in pictures)


def report(results: PathLike, *, out: Optional[PathLike] = None) -> Page:
    """Makes a page, ``report.md`` and ``results.csv`` of a folder of results.

    Args:
        results: folder of a sweep
        out: folder for the report; None: the same

    Returns:
        Path of ``index.html``; in a notebook it shows the report's pictures.

    Raises:
        FileNotFoundError: the folder of results is not there.
        FileExistsError: ``out`` has a page that headroom did not write.
    """
    _run(["report", os.fspath(results), *_options({"out": out})])
    return Page(Path(results if out is None else out) / "index.html")

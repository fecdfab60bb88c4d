"""The program ``headroom``, which is inside the package.

It measures in processes that it forks, which a Python process with threads should not do. So the
functions here start it, and read what it prints or writes.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Dict, Iterator, List, NoReturn, Optional, Union

Axis = Union[int, float, str, bool, None, "list[Any]", "tuple[Any, ...]", range]
PathLike = Union[str, "os.PathLike[str]"]

_PROGRAM = Path(__file__).parent / "_bin" / "headroom"
_USAGE = 2
_CHECK_FAILED = 1
# Axes that are on, and the options that switch them off.
_NEGATED = {"causal": "--no-causal", "out_proj": "--no-out-proj"}


def main() -> NoReturn:
    """What the command ``headroom`` of an environment runs."""
    os.execv(_PROGRAM, [str(_PROGRAM), *sys.argv[1:]])


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple, range)):
        return ",".join(_text(one) for one in value)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    return repr(value)


def _options(given: Dict[str, Any]) -> Iterator[str]:
    """Arguments of the program: ``heads=[1, 2]`` becomes ``--heads 1,2``."""
    for name, value in given.items():
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


class _Messages:
    """Standard error of the program: kept, and passed on if somebody wants to see it."""

    def __init__(self, stream: IO[str], show: bool) -> None:
        self._lines: List[str] = []
        self._thread = threading.Thread(target=self._read, args=(stream, show), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[str], show: bool) -> None:
        for line in stream:
            self._lines.append(line)
            if show:
                sys.stderr.write(line)
                sys.stderr.flush()

    def text(self) -> str:
        self._thread.join()
        errors = [line for line in self._lines if "error: " in line]
        return "".join(errors or self._lines[-3:]).strip()


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


def _run(arguments: List[str], progress: bool = False, allowed: "tuple[int, ...]" = (0,)) -> str:
    """Runs the program and returns what it prints.

    Raises:
        ValueError: the arguments are wrong, with the program's text.
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
    messages = _Messages(process.stderr, progress)
    printed = _wait(process, interrupt=True)
    text = messages.text()
    if process.stdout is not None:
        process.stdout.close()
    process.stderr.close()
    if process.returncode in allowed:
        return printed
    error = ValueError if process.returncode == _USAGE else RuntimeError
    raise error(text or f"headroom {arguments[0]} ended with {process.returncode}")


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
    progress: bool = False,
    **axes: Axis,
) -> Dict[str, Any]:
    """The fastest backend and formulation for shapes, measured now or taken from results.

    Args:
        results: folder of a sweep to pick from; None: measure now
        without: backends not to pick
        max_packed_bytes: of packed weights, such as ``"64MiB"``
        budget: time for measuring, such as ``"20s"``
        progress: pass on what the program says meanwhile
        axes: as of ``sweep``

    Returns:
        What ``headroom pick --emit json`` prints, a tuning file: save it as JSON, and give its
        path to ``Attention(tuning_file=...)``.
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


def _read_results(folder: Path) -> List[Dict[str, Any]]:
    with open(folder / "results.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def sweep(
    *,
    out: PathLike = "headroom-results",
    resume: bool = False,
    budget: Optional[str] = None,
    max_memory: Optional[str] = None,
    repetitions: Optional[int] = None,
    processes: Optional[int] = None,
    min_time: Optional[float] = None,
    progress: bool = False,
    frame: Optional[bool] = None,
    **axes: Axis,
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
        progress: pass on what the program says meanwhile
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
        ValueError: the axes are wrong, with the program's text.
        RuntimeError: it could not be done, with its text.
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
    records = _read_results(Path(out))
    if frame is None:
        frame = importlib.util.find_spec("pandas") is not None
    if not frame:
        return records
    import pandas  # type: ignore[import-untyped, unused-ignore]

    return pandas.json_normalize(records)


def report(results: PathLike, *, out: Optional[PathLike] = None) -> Path:
    """Makes a page, ``report.md`` and ``results.csv`` of a folder of results.

    Args:
        results: folder of a sweep
        out: folder for the report; None: the same

    Returns:
        Path of ``index.html``.
    """
    _run(["report", os.fspath(results), *_options({"out": out})])
    return Path(results if out is None else out) / "index.html"

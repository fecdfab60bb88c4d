"""What the program says on standard error, as Python says it: a bar, warnings, errors."""

import re
import sys
import threading
import warnings
from typing import IO, List, Optional

_PREFIX = "headroom: "
# Such as "[3/12] 28 s left  fused/tbb/f32/t2/B1_T64_D768_H12  206.9 us, 172.5 GFLOP/s".
_STEP = re.compile(r"\[(\d+)/(\d+)\] (.*? left)  (.*)")
_WIDTH = 24


class ProgramWarning(UserWarning):
    """Something that the program warns of, such as a load that puts its times in doubt."""


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this: what it prints is seen, though it is no terminal."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    return type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


# What the library and the program say of files, and what Python raises for it.
_FILES = {
    "No such file or directory": FileNotFoundError,
    "already holds results": FileExistsError,
    "exists and was not written by headroom": FileExistsError,
    "Permission denied": PermissionError,
    "Is a directory": IsADirectoryError,
    "Not a directory": NotADirectoryError,
}


def error_of_file(text: str) -> Optional[OSError]:
    """What Python raises where a file is not as it should be; None: it is not that."""
    for said, kind in _FILES.items():
        if said in text:
            return kind(text)
    return None


def in_python_words(text: str) -> str:
    """An error of the program without its name and its help, its options as arguments."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"^headroom: (error: )?", "", line)
        line = re.sub(r"(; see| See) headroom [a-z ]*--help$", "", line)
        line = re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda m: m[1].replace("-", "_"), line)
        line = re.sub(r"link headroom::(\w+)", r"this build of the package lacks \1", line)
        lines.append(line)
    return "\n".join(lines).strip()


class Messages:
    """Standard error of the program: kept, and shown as it comes if somebody wants to see it.

    Args:
        stream: standard error of the program
        show: whether to show progress; None: in terminals and notebooks
    """

    def __init__(self, stream: IO[str], show: Optional[bool]) -> None:
        self._lines: List[str] = []
        self._warnings: List[str] = []
        # One line that is drawn again and again, where that can be seen.
        self._bar = sys.stderr.isatty() or in_notebook()
        self._show = self._bar if show is None else show
        self._drawn = 0
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.append(line)
            if line.startswith(_PREFIX + "warning: "):
                self._warnings.append(line[len(_PREFIX + "warning: ") :].strip())
            elif self._show:
                self._draw(line.rstrip("\n"))
        if self._drawn:
            sys.stderr.write("\n")

    def _draw(self, line: str) -> None:
        step = _STEP.match(line)
        if step is None or not self._bar:
            sys.stderr.write(("\n" if self._drawn else "") + line + "\n")
            self._drawn = 0
        else:
            done, cells = int(step[1]), int(step[2])
            full = _WIDTH * done // cells
            bar = "#" * full + "." * (_WIDTH - full)
            text = f"[{bar}] {done}/{cells}, {step[3]}, {step[4].split()[0]}"
            sys.stderr.write("\r" + text.ljust(self._drawn))
            self._drawn = len(text)
        sys.stderr.flush()

    def warn(self, level: int) -> None:
        """Repeats its warnings as Python's, once it has ended. `level`: as of ``warnings.warn``."""
        self._thread.join()
        for text in self._warnings:
            warnings.warn(in_python_words(text), ProgramWarning, stacklevel=level + 1)

    def error(self) -> str:
        """Why it failed."""
        self._thread.join()
        errors = [line for line in self._lines if line.startswith(_PREFIX + "error: ")]
        return in_python_words("".join(errors or self._lines[-3:]))

"""A peer's process: kept alive, asked over a pipe, and stopped whenever it is not asked."""
import ctypes
import json
import os
import select
import signal
import subprocess
import time
from types import TracebackType
from typing import Any, Dict, List, Optional, Type

PR_SET_PDEATHSIG = 1


class PeerError(Exception):
    """What a peer could not do."""


class PeerDied(PeerError):
    """The process ended, or answered no more."""


def _die_with_parent() -> None:
    # A stopped process would outlive a parent that was killed.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """Only one process of a run does anything at a time: all others are stopped by SIGSTOP, even
    if their threads would still spin."""

    def __init__(
        self, name: str, command: List[str], variables: Dict[str, str], cpus: List[int], log: str
    ) -> None:
        self.name, self.log = name, log
        self.rest = b""

        def before() -> None:
            _die_with_parent()
            os.sched_setaffinity(0, cpus)

        with open(log, "wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=variables,
                preexec_fn=before,
            )
        self.alive = True

    def __enter__(self) -> "Process":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.end()

    def ask(self, do: str, timeout: float = 900, **fields: Any) -> Dict[str, Any]:
        """The answer to one request. Raises PeerError."""
        assert self.process.stdin is not None
        if not self.alive:
            raise PeerDied(f"{self.name} has ended")
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
            self.process.stdin.flush()
            line = self.read_line(time.monotonic() + timeout, do)
        except BrokenPipeError:
            line = b""
        if not line:
            self.died(do)
        self.stop()
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise PeerError(f"{self.name}, asked to {do}, answered {line[:100]!r}: not an object")
        if "error" in answer:
            raise PeerError(f"{self.name}, asked to {do}: {answer['error']}")
        return answer

    def stop(self) -> None:
        """Returns once it has stopped: the signal alone takes effect a moment later."""
        self.process.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] not in "RSD":
                    return
            time.sleep(0.0002)

    def read_line(self, deadline: float, do: str) -> bytes:
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        while b"\n" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                self.end()
                raise PeerDied(f"{self.name}, asked to {do}, did not answer in time")
            read = os.read(pipe, 1 << 16)
            if not read:
                return b""
            self.rest += read
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def died(self, do: str) -> None:
        code = self.process.wait()
        self.alive = False
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise PeerDied(f"{self.name}, asked to {do}, ended with {how}: {self.last_words()}")

    def last_words(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as log:
            lines = [line.strip() for line in log if line.strip()]
        return lines[-1] if lines else f"it said nothing in {self.log}"

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
        self.alive = False

"""Where the rivals' programs are: virtual environments, made from the pinned lists beside this file,
and what CMake built."""
import os
import shlex
import subprocess
import sys
from typing import Dict, List, Optional

from catalogue import HERE, Peer


class NotInstalled(Exception):
    """Why a rival cannot run, and the command that installs it, if there is one.

    The reason alone is recorded: a command names folders of this machine.
    """

    def __init__(self, reason: str, how: str = "") -> None:
        super().__init__(f"{reason}; install it with: {how}" if how else reason)
        self.reason = reason


def requirements(packages: str) -> str:
    return os.path.join(HERE, f"requirements-{packages}.txt")


def install_commands(folder: str, packages: str) -> List[List[str]]:
    python = os.path.join(folder, packages, "bin", "python")
    # No source packages: what a compiler here would make of them is not what others measure.
    pip = "-m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement"
    return [
        [sys.executable, "-m", "venv", os.path.join(folder, packages)],
        [python, *pip.split(), requirements(packages)],
    ]


def how_to_install(folder: str, packages: str) -> str:
    return " && ".join(shlex.join(command) for command in install_commands(folder, packages))


class Environments:
    """The folder of all environments, each of which is tried once per run, and that of the build."""

    def __init__(self, folder: str, install: bool, build: str) -> None:
        self.folder = folder
        self.install = install
        self.build = build
        self.found: Dict[str, Optional[str]] = {}

    def stamp(self, packages: str) -> str:
        return os.path.join(self.folder, packages, "installed.txt")

    def is_current(self, packages: str) -> bool:
        try:
            with open(self.stamp(packages), encoding="utf-8") as stamp:
                with open(requirements(packages), encoding="utf-8") as wanted:
                    return stamp.read() == wanted.read()
        except OSError:
            return False

    def why_not(self, packages: str) -> Optional[str]:
        """Nothing if it is installed now; otherwise the reason."""
        if self.is_current(packages):
            return None
        if not self.install:
            return "not installed"
        print(f"peers: installing {packages} into {self.folder}", file=sys.stderr)
        for command in install_commands(self.folder, packages):
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
            if done.returncode != 0:
                lines = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
                return (lines or done.stdout.splitlines() or ["no reason given"])[-1]
        with open(requirements(packages), encoding="utf-8") as wanted:
            with open(self.stamp(packages), "w", encoding="utf-8") as stamp:
                stamp.write(wanted.read())
        return None

    def command(self, peer: Peer) -> List[str]:
        """Of the peer's program. Raises NotInstalled."""
        if not (peer.packages or peer.debian):
            return peer.command
        environment = os.path.join(self.folder, peer.packages)
        places = {
            "{python}": os.path.join(environment, "bin", "python"),
            "{environment}": environment,
            "{build}": self.build,
        }
        command = list(peer.command)
        for name, place in places.items():
            command = [part.replace(name, place) for part in command]
        # What is not built is told at once: its packages are not worth a download.
        if "{build}" in peer.command[0]:
            self.require_built(peer, command[0])
        if peer.packages:
            self.require_installed(peer.packages)
        return command

    def require_built(self, peer: Peer, program: str) -> None:
        if os.access(program, os.X_OK):
            return
        if peer.debian:
            raise NotInstalled(
                "not built, because its library was not there",
                f"apt-get install {peer.debian} && scripts/peers",
            )
        raise NotInstalled("not built, because the compiler has no OpenMP; build it with another")

    def require_installed(self, packages: str) -> None:
        if packages not in self.found:
            self.found[packages] = self.why_not(packages)
        reason = self.found[packages]
        if reason is not None:
            raise NotInstalled(reason, how_to_install(self.folder, packages))

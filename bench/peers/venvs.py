"""Where the rivals' programs are: virtual environments, made from the pinned lists beside this file,
and what CMake built."""
import os
import shlex
import subprocess
import sys
from typing import Dict, List, Optional

from catalogue import HERE, Peer


class NotInstalled(Exception):
    """Why a rival cannot run, and the command that installs it."""


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
        if peer.debian:
            return [self.built(peer)]
        if not peer.packages:
            return peer.command
        if peer.packages not in self.found:
            self.found[peer.packages] = self.why_not(peer.packages)
        reason = self.found[peer.packages]
        if reason is not None:
            how = how_to_install(self.folder, peer.packages)
            raise NotInstalled(f"{reason}; install it with: {how}")
        python = os.path.join(self.folder, peer.packages, "bin", "python")
        return [python if part == "{python}" else part for part in peer.command]

    def built(self, peer: Peer) -> str:
        program = peer.command[0].replace("{build}", self.build)
        if not os.access(program, os.X_OK):
            raise NotInstalled(
                "not built, because its library was not there; install it with:"
                f" apt-get install {peer.debian} && scripts/peers"
            )
        return program

#!/usr/bin/env python3
"""abi_test.py <folder of shared libraries> <include folder> <folder of lists> [--write]

What the shared libraries export as public is what the public headers show, no more and no less, and
what the lists say: a symbol that goes, or comes, is a change of the list that somebody has read.
--write writes the lists anew.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Set, Tuple

FAILURES: List[str] = []
# Mangled: what is demangled may begin with the type that it returns.
OURS = re.compile(r"headroom_|_ZNK?8headroom|_ZT[ISV]N8headroom")


def fail(text: str) -> None:
    FAILURES.append(text)


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


class Headers:
    """Names that public headers declare."""

    def __init__(self, folder: Path) -> None:
        cpp = "".join(without_comments(p.read_text()) for p in sorted(folder.glob("*.hpp")))
        c = without_comments((folder / "headroom.h").read_text())
        self.classes = set(re.findall(r"\b(?:class|struct) HEADROOM_API (\w+)", cpp))
        kinds = r"\b(?:enum class|enum|class|struct)(?: HEADROOM_API)? (\w+)|\busing (\w+) ="
        self.types = {name for pair in re.findall(kinds, cpp) for name in pair if name}
        declared = r"HEADROOM_API\s+(?!class|struct)[\w:<>,&*\s]+?\b(\w+)\("
        self.functions = set(re.findall(declared, cpp))
        self.c_functions = set(re.findall(r"HEADROOM_API\s+[\w\s*]+?\b(headroom_\w+)\(", c))

    def show(self, demangled: str) -> bool:
        """Whether one of them declares it."""
        name = re.sub(r"^(vtable|typeinfo name|typeinfo) for ", "", demangled)
        name = name.replace("[abi:cxx11]", "")
        qualified, _, arguments = name.partition("(")
        parts = qualified.split("::")
        if parts[0] != "headroom" or len(parts) < 2:
            return False
        if parts[1] in self.classes:
            return True
        # Functions of one name may be public or not by what they take.
        taken = set(re.findall(r"headroom::(\w+)", arguments))
        return len(parts) == 2 and parts[1] in self.functions and taken <= self.types


def exported(library: Path) -> Dict[str, str]:
    """The version of each symbol."""
    lines = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--with-symbol-versions", str(library)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    symbols: Dict[str, str] = {}
    for line in lines:
        kind, _, rest = line.split(" ", 1)[1].partition(" ")
        name, _, version = rest.partition("@@")
        if kind != "A":  # the names of the versions themselves
            symbols[name] = version
    return symbols


def demangle(names: List[str]) -> List[str]:
    if not names:
        return []
    done = subprocess.run(["c++filt", *names], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def split(symbols: Dict[str, str], headers: Headers) -> Tuple[Set[str], Set[str]]:
    """Those of C++ that the headers show, and the others."""
    cpp = sorted(name for name in symbols if name.startswith("_Z"))
    shown = {name for name, text in zip(cpp, demangle(cpp)) if headers.show(text)}
    return shown, set(cpp) - shown


def check(library: Path, headers: Headers, list_file: Path) -> None:
    symbols = exported(library)
    public = {name for name, version in symbols.items() if "PRIVATE" not in version}
    shown, hidden = split(symbols, headers)
    name = library.stem[len("libheadroom-") :]
    for symbol in sorted(symbols):
        if not OURS.match(symbol):
            fail(f"{name}: {demangle([symbol])[0]} is not headroom's")
    of_c = {symbol for symbol in public if not symbol.startswith("_Z")}
    if name not in ("core", "mpi"):  # what a backend throws is a public class, or it is its entry
        for symbol in sorted(hidden):
            fail(f"{name}: {demangle([symbol])[0]} is exported")
        if f"headroom_backend_{name}" not in of_c:
            fail(f"{name}: there is no headroom_backend_{name}")
        print(f"{name}: its entry, and {len(shown)} symbols of errors")
        return
    listed = set(list_file.read_text().split()) if list_file.exists() else set()
    for symbol in sorted(public & hidden):
        fail(f"{name}: no public header shows {demangle([symbol])[0]}")
    for symbol in sorted(shown - public):
        fail(f"{name}: {demangle([symbol])[0]} is in a public header, and not in {list_file.name}")
    # Which tables of classes there are depends on the compiler.
    for symbol in sorted(s for s in listed - public if not s.startswith("_ZT")):
        fail(f"{name}: {demangle([symbol])[0]} is in {list_file.name}, and gone: that breaks programs")
    wanted = headers.c_functions if name == "core" else set()
    for symbol in sorted(of_c ^ wanted):
        fail(f"{name}: {symbol} is {'exported' if symbol in of_c else 'in headroom.h'} alone")
    print(f"{name}: {len(shown)} public symbols of C++, {len(of_c)} of C, {len(hidden)} private")


def main() -> int:
    folder, include, lists = (Path(argument) for argument in sys.argv[1:4])
    headers = Headers(include / "headroom")
    libraries = sorted(folder.glob("libheadroom-*.so"))
    if len(libraries) < 2:
        fail(f"there are no shared libraries in {folder}")
    for library in libraries:
        list_file = lists / f"{library.stem[len('libheadroom-'):]}.txt"
        if "--write" in sys.argv:
            shown, _ = split(exported(library), headers)
            if shown and list_file.stem in ("core", "mpi"):
                list_file.write_text("".join(f"{symbol}\n" for symbol in sorted(shown)))
            continue
        check(library, headers, list_file)
    for text in FAILURES:
        print(text, file=sys.stderr)
    if FAILURES:
        print(
            "after a change that is meant, write the lists anew:"
            f" {sys.argv[0]} {folder} {include} {lists} --write",
            file=sys.stderr,
        )
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())

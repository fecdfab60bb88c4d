"""The peers that scripts/peers knows, and the programs that answer for them."""
import os
import re
import shlex
from dataclasses import dataclass
from typing import Dict, List, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Peer:
    """A library, or one of our backends, as a program that answers the protocol of peer.py."""

    name: str  # that of the cells' backend
    command: List[str]  # {python} is that of its virtual environment, {build} the folder of ours
    formulations: Tuple[str, ...]  # one cell each; empty for all that it offers
    packages: str = ""  # its requirements-*.txt and virtual environment
    debian: str = ""  # the package without which {build} has no program of it
    ours: bool = False


def _python(name: str, program: str, formulations: Tuple[str, ...], packages: str) -> Peer:
    script, *arguments = program.split()
    command = ["{python}", os.path.join(HERE, script), *arguments]
    return Peer(name, command, formulations, packages)


BOTH = ("fused", "split")
RIVALS = [
    _python("pytorch-sdpa", "rival_pytorch.py sdpa", BOTH, "pytorch"),
    _python("pytorch-compile", "rival_pytorch.py compile", BOTH, "pytorch"),
    _python("pytorch-mha", "rival_pytorch.py mha", ("fused",), "pytorch"),
    _python("pytorch-textbook", "rival_pytorch.py textbook", ("split", "wrapper"), "pytorch"),
    _python("onnxruntime", "rival_onnxruntime.py", BOTH, "onnxruntime"),
    _python("openvino", "rival_openvino.py", BOTH, "openvino"),
    _python("jax", "rival_jax.py", BOTH, "jax"),
    Peer(
        "openblas",
        [os.path.join("{build}", "headroom-peer-openblas")],
        (*BOTH, "wrapper"),
        debian="libopenblas-openmp-dev",
    ),
    _python("openblas-numpy", "rival_numpy.py", BOTH, "openblas-numpy"),
]


def our_backend(program: str, name: str) -> Peer:
    return Peer(name, [program, "layer", "--backend", name], BOTH, ours=True)


def given_peer(text: str) -> Peer:
    """NAME=COMMAND, a program of the user's own that answers the protocol."""
    name, equals, command = text.partition("=")
    # It becomes part of the names of cells.
    if not (re.fullmatch(r"[A-Za-z0-9._-]+", name) and equals and command):
        raise ValueError(
            f"--peer: '{text}' is not NAME=COMMAND with a name of letters, digits, '.', '_', '-'"
        )
    return Peer(name, shlex.split(command), ())


# What would quietly change a rival's arithmetic, instruction set or placement.
REMOVED = (
    "ATEN_CPU_CAPABILITY DNNL_DEFAULT_FPMATH_MODE DNNL_MAX_CPU_ISA GOMP_CPU_AFFINITY "
    "KMP_AFFINITY LD_PRELOAD MKL_CBWR MKL_ENABLE_INSTRUCTIONS OMP_PROC_BIND "
    "ONEDNN_DEFAULT_FPMATH_MODE ONEDNN_MAX_CPU_ISA PYTHONHOME PYTHONPATH XLA_FLAGS"
).split()

# Memory that is freed stays with the process, so that no call pays for page faults, and is asked
# for in huge pages. A favour to all alike, ours included.
MALLOC = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in [
        ("mmap_max", 0),
        ("trim_threshold", 2**34),
        ("top_pad", 64 * 2**20),
        ("hugetlb", 1),
    ]
)


def variables(threads: int, cache: str) -> Dict[str, str]:
    """What a peer's process finds set."""
    count = str(threads)
    names = ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
    found = {f"{name}_NUM_THREADS": count for name in names}
    found.update(
        OMP_DYNAMIC="FALSE",
        MKL_DYNAMIC="FALSE",
        NPROC=count,  # XLA's threads
        GLIBC_TUNABLES=MALLOC,
        TORCHINDUCTOR_CACHE_DIR=os.path.join(cache, f"inductor-{count}"),
        PYTHONDONTWRITEBYTECODE="1",
        JAX_PLATFORMS="cpu",
    )
    if threads == 1:
        found["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return found

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
    command: List[str]  # {python} is that of {environment}, its virtual one, {build} our folder
    formulations: Tuple[str, ...]  # one cell each; empty for all that it offers
    packages: str = ""  # its requirements-*.txt and virtual environment
    debian: str = ""  # the package without which {build} has no program of it, if one is needed
    ours: bool = False
    numbers: str = "f32"  # the third part of the cells' names; peers and ours meet in the same
    backend: str = ""  # that of the cells, if it is not the name
    products: str = ""  # "int8" or "bf16": what a rival rounds activations to beside few bits
    steps: bool = False  # called with one token after a past, and with nothing else
    rounding: str = ""  # "own" if what it stores in few bits is not what ours store

    @property
    def cell_backend(self) -> str:
        return self.backend or self.name

    @property
    def fed(self) -> Dict[str, str]:
        """What it computes with and stores, for the keeper."""
        precision, dtype, weights, cache = parts(self.numbers)
        told = {"precision": precision, "dtype": dtype}
        rest = {"weights_dtype": weights, "cache_dtype": cache}
        rest.update(products=self.products, rounding=self.rounding)
        return {**told, **{name: value for name, value in rest.items() if value}}


# As cells are named: what products compute with, and what is stored where that is not f32.
FEW_BITS = ("f32-wq8", "int8-wq8", "f32-wq4", "int8-wq4")
CACHES = ("f32-cq8", "int8-cq8", "f32-cbf16")
NUMBERS = ("f32", "bf16x9", "bf16x6", "fp16x3", "bf16x3", "bf16", "bf16-bf16", *FEW_BITS, *CACHES)
AS_F32 = NUMBERS[:4]  # held to one limit of the error
SHORT = {  # for --numbers, by --op: a layer stores weights, attention alone keys and values
    "layer": {"q8": FEW_BITS[:2], "q4": FEW_BITS[2:]},
    "attention": {"q8": CACHES[:2]},
}


def parts(numbers: str) -> Tuple[str, str, str, str]:
    """Precision, dtype, and what weights and caches are stored as where that is not the dtype."""
    precision, *stored = numbers.split("-")
    found = {"w": "", "c": ""}
    dtype = "f32"
    for name in stored:
        if name[0] in found:
            found[name[0]] = name[1:]
        else:
            dtype = name
    return precision, dtype, found["w"], found["c"]


def few_bits(numbers: str) -> str:
    """`q8` or `q4` where weights are stored so."""
    return parts(numbers)[2]


def cache_of(numbers: str) -> str:
    """`q8` or `bf16` where keys and values are stored so."""
    return parts(numbers)[3]


def contest(numbers: str) -> Tuple[str, str, str, str]:
    """What cells have in common that are compared with each other."""
    precision, dtype, weights, cache = parts(numbers)
    return "f32" if precision in AS_F32 else precision, dtype, weights, cache


def _python(
    name: str,
    program: str,
    formulations: Tuple[str, ...],
    packages: str,
    numbers: str = "f32",
    **judged: str,
) -> Peer:
    script, *arguments = program.split()
    command = ["{python}", os.path.join(HERE, script), *arguments]
    return Peer(name, command, formulations, packages, numbers=numbers, **judged)


def _few_bits(bits: str) -> List[Peer]:
    """Who multiplies with such weights. Products of int8 and bf16 are of activations that are rounded
    to 8 bits."""

    def one(name: str, program: str, packages: str, **judged: str) -> Peer:
        precision = "int8" if judged.get("products") == "int8" else "f32"
        return _python(name, program, BOTH, packages, f"{precision}-w{bits}", **judged)

    by_channel = {"rounding": "own"} if bits == "q8" else {}
    return [
        one(f"onnxruntime-{bits}", f"rival_onnxruntime.py {bits}", "onnxruntime"),
        one(
            f"onnxruntime-{bits}-int8",
            f"rival_onnxruntime.py {bits} int8",
            "onnxruntime",
            products="int8",
        ),
        one(f"openvino-{bits}", f"rival_openvino.py {bits}", "openvino"),
        one(
            f"openvino-{bits}-int8", f"rival_openvino.py {bits} int8", "openvino", products="int8"
        ),
        one(f"pytorch-sdpa-{bits}", f"rival_pytorch.py {bits}", "pytorch", **by_channel),
        one(
            f"pytorch-sdpa-{bits}-bf16",
            f"rival_pytorch.py {bits} bf16",
            "pytorch",
            products="bf16",
            **by_channel,
        ),
    ]


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
    Peer(
        "mkl",
        [
            os.path.join("{build}", "headroom-peer-mkl"),
            os.path.join("{environment}", "lib", "libmkl_rt.so.3"),
        ],
        (*BOTH, "wrapper"),
        packages="mkl",
    ),
    # bf16 as each library is used with it: PyTorch's modules and inputs are of bf16, OpenVINO is
    # given floats and told that bf16 will do.
    _python("pytorch-sdpa-bf16", "rival_pytorch.py sdpa bf16", BOTH, "pytorch", "bf16-bf16"),
    _python("pytorch-compile-bf16", "rival_pytorch.py compile bf16", BOTH, "pytorch", "bf16-bf16"),
    _python("openvino-bf16", "rival_openvino.py bf16", BOTH, "openvino", "bf16"),
    *_few_bits("q8"),
    *_few_bits("q4"),
]

# Of few bits, and why it is not among them.
NOT_AVAILABLE = {
    "llama.cpp": "not available: PyPI has no wheel of its Python packages (llama-cpp-python,"
    " ggml-python), only source, and peers are installed as their makers built them"
}


ALONE = ("attention",)


def _cached(program: str, packages: str, steps: bool = False, products: str = "") -> Peer:
    """Keys and values of eight bits, rounded as each library does it."""
    name = "-".join([packages, "cq8", *filter(None, [products])])
    judged = {"rounding": "own", "products": products}
    peer = _python(name, f"{program} cq8 {products}", ALONE, packages, "f32-cq8", **judged)
    peer.steps = steps
    return peer


# Over queries, keys and values that are given. oneDNN's products are in our backend of that name.
ATTENTION_RIVALS = [
    _python("pytorch-sdpa", "rival_pytorch.py attention", ALONE, "pytorch"),
    _python("onnxruntime", "rival_onnxruntime.py", ALONE, "onnxruntime"),
    _python("openvino", "rival_openvino.py", ALONE, "openvino"),
    _python("pytorch-sdpa-bf16", "rival_pytorch.py attention bf16", ALONE, "pytorch", "bf16-bf16"),
    _python("openvino-bf16", "rival_openvino.py bf16", ALONE, "openvino", "bf16"),
    _cached("rival_onnxruntime.py", "onnxruntime"),
    _cached("rival_openvino.py", "openvino", steps=True),
    _cached("rival_openvino.py", "openvino", steps=True, products="bf16"),
]


def rivals_of(op: str) -> List[Peer]:
    return ATTENTION_RIVALS if op == "attention" else RIVALS


def our_backend(program: str, name: str, numbers: str = "f32", op: str = "layer") -> Peer:
    ways = ALONE if op == "attention" else BOTH
    command = [program, "layer", "--backend", name]
    if numbers == "f32":
        return Peer(name, command, ways, ours=True)
    precision, dtype, weights, cache = parts(numbers)
    command += ["--precision", precision, "--dtype", dtype]
    if weights:
        command += ["--weights-dtype", weights]
    if cache:
        command += ["--cache-dtype", cache]
    return Peer(f"{name}-{numbers}", command, ways, ours=True, numbers=numbers, backend=name)


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
    "KMP_AFFINITY LD_PRELOAD MKL_CBWR MKL_DOMAIN_NUM_THREADS MKL_ENABLE_INSTRUCTIONS MKL_VERBOSE "
    "OMP_PROC_BIND "
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

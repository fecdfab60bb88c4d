"""Multi-head attention on CPUs: the layer, and the suite that measures it.

``Attention`` is the layer, and ``attention`` what it does with queries, keys and values, both over
numpy arrays, PyTorch tensors and whatever else has DLPack or the buffer protocol. ``sweep``,
``pick``, ``info`` and ``report`` are the commands of the same names, and ``results`` reads what
they wrote. ``headroom.torch`` takes the modules that you have.
"""

from ._attend import attention
from ._cache import KeyValueCache
from ._core import version as __version__
from ._dot_product import DotProductAttention
from ._layer import Attention, backends
from ._messages import ProgramWarning
from ._program import info, pick, report, results, sweep
from ._rules import Latent, PositionBias, QueryKeyNorm, Rotary, Temperature

__all__ = [
    "Attention",
    "DotProductAttention",
    "attention",
    "KeyValueCache",
    "Latent",
    "PositionBias",
    "ProgramWarning",
    "QueryKeyNorm",
    "Rotary",
    "Temperature",
    "__version__",
    "backends",
    "info",
    "pick",
    "report",
    "results",
    "sweep",
]

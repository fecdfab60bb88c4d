"""PyTorch modules that answer as the ones that you have, with the layer of headroom inside.

``MultiheadAttention.from_module`` takes an ``nn.MultiheadAttention`` or the textbook's module. It
is for inference on the CPU: what the layer does not do goes to the original module, and a warning
says so once; ``fallbacks`` counts them.
"""

from ._accelerate import Acceleration, accelerate
from ._multihead import MultiheadAttention
from ._packed import FallbackWarning, fallbacks
from ._textbook import TextbookAttention
from ._transformers import register_transformers

__all__ = [
    "Acceleration",
    "FallbackWarning",
    "MultiheadAttention",
    "TextbookAttention",
    "accelerate",
    "fallbacks",
    "register_transformers",
]

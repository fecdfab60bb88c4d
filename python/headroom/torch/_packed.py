"""What the modules share: packed layers, the original module, and when to go back to it."""

import collections
import secrets
import threading
import warnings
import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch import Tensor, nn

from .._arrays import as_array, is_bf16
from .._attend import reads_bf16
from .._config import options_of
from .._layer import Attention
from ._forwards import watch
from ._masks import Masks


class FallbackWarning(UserWarning):
    """A call went to the original module; the text says why."""


class Weights(NamedTuple):
    """Matrices as ``nn.Linear`` keeps them, ``(out, in)``: query, key and value, and the last."""

    products: Sequence[Tensor]
    biases: Sequence[Optional[Tensor]]
    output: Optional[Tensor]
    output_bias: Optional[Tensor]

    def arrays(self) -> Dict[str, Any]:
        """By the names of ``Attention``, in its ``(in, out)``."""
        names = ("query", "key", "value")
        parts = dict(zip(names, self.products))
        biases = dict(zip((name + "_bias" for name in names), self.biases))
        last = {"output": self.output, "output_bias": self.output_bias}
        return {
            name: None if part is None else as_array(part).T
            for name, part in {**parts, **biases, **last}.items()
        }


class Layers:
    """The layers of one module: one for each way in which it is called, made at its first call.

    A layer is made for a number of tokens. One that is too small is replaced by one for twice as
    many, with the same bits.
    """

    def __init__(self, heads: int, options: Dict[str, Any]) -> None:
        self.heads = heads
        self.options = options
        # A layer and its sizes in one entry: a call that reads without the lock gets both or none.
        self.made: Dict[str, Tuple[Attention, List[int]]] = {}
        self.lock = threading.Lock()

    def clear(self) -> None:
        with self.lock:
            self.made = {}

    def get(self, kind: str, weights: Any, rows: List[int]) -> Attention:
        """A layer of a kind, ``causal``, ``full`` or ``cross``.

        Args:
            weights: gives ``Weights`` if a layer has to be made
            rows: rows of the call, tokens of its longest sequence, and the same of a second input
        """
        made = self.made.get(kind)
        if made is not None and all(need <= size for need, size in zip(rows, made[1])):
            return made[0]
        with self.lock:
            return self._make(kind, weights(), rows)

    def _make(self, kind: str, weights: Weights, rows: List[int]) -> Attention:
        old = self.made[kind][1] if kind in self.made else [0] * len(rows)
        grown = [max(a, 1 << max(b - 1, 0).bit_length()) for a, b in zip(old, rows)]
        tokens = grown[1]
        batch = -(-grown[0] // tokens)
        cross: Dict[str, Any] = {}
        if kind == "cross":
            batch = max(batch, -(-grown[2] // grown[3]))
            cross["memory_tokens"] = grown[3]
        # A module of bfloat16 is called with tensors of it.
        dtype = {"dtype": "bf16"} if is_bf16(weights.products[0]) else {}
        layer = Attention(
            **weights.arrays(),
            heads=self.heads,
            tokens=tokens,
            batch=batch,
            causal=kind == "causal",
            **cross,
            **{**self.options, **dtype},
        )
        memory = [batch * grown[3], grown[3]] if cross else []
        self.made = {**self.made, kind: (layer, [batch * tokens, tokens, *memory])}
        return layer


_modules: "weakref.WeakValueDictionary[int, PackedModule]" = weakref.WeakValueDictionary()
_said: Set[str] = set()
_fallbacks: "collections.Counter[str]" = collections.Counter()


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]
def say_once(reason: str) -> bool:
    """Once for each reason in a process; of a compiled graph, while it is compiled.

    Every call is counted, see ``fallbacks``.
    """
    _fallbacks[reason] += 1
    if reason not in _said:
        _said.add(reason)
        warnings.warn(f"headroom: {reason}", FallbackWarning, stacklevel=4)
    return True


def fallbacks(*, reset: bool = False) -> Dict[str, int]:
    """How many calls went to the original module or function so far, by reason.

    Args:
        reset: counts from 0 after this
    """
    counts = dict(_fallbacks)
    if reset:
        _fallbacks.clear()
    return counts


def why_gradients(*tensors: Tensor) -> Optional[str]:
    """Why a call with these goes to the original module for the sake of gradients, if it does."""
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return (
            "gradients may be asked for, and the original module computes them; call it under"
            " torch.inference_mode()"
        )
    return None


TRAINING = "the module is training with dropout; the original module takes the call"


class PackedModule(nn.Module):
    """An original module, and the layers that are made of its weights at the first calls.

    The weights stay those of ``original``. After a change of them by hand call ``repack``;
    ``load_state_dict``, of a part of it as well, and ``to`` do it themselves.
    """

    def __init__(self, original: nn.Module, heads: int, options: Dict[str, Any]) -> None:
        super().__init__()
        options_of(options)  # says now what is wrong with them, not at the first call
        self.original = original
        self._layers = Layers(heads, options)
        self.train(original.training)
        self._register()

    def _register(self) -> None:
        # A number that no other process has: a graph that was kept finds this module or none.
        self._handle = secrets.randbits(62)
        _modules[self._handle] = self
        watch(self, self.original)

    def repack(self) -> None:
        """Forgets the packed weights; the next call packs those that the original has then."""
        self._layers.clear()

    forget = repack

    def _apply(self, *arguments: Any, **options: Any) -> Any:
        self.repack()
        return super()._apply(*arguments, **options)  # type: ignore[no-untyped-call]

    # Copies and pickles have the original, and pack on their own.
    def __getstate__(self) -> Dict[str, Any]:
        state = dict(self.__dict__)
        state["_layers"] = (self._layers.heads, self._layers.options)
        state.pop("_handle")
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        state = dict(state)
        heads, options = state.pop("_layers")
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._layers = Layers(heads, options)
        self._register()

    def why_not_dtype(self, *tensors: Tensor, nested: bool = False) -> Optional[str]:
        """Why the layer cannot read tensors and weights of the original, if it cannot.

        Args:
            nested: they may be nested
        """
        dtype = tensors[0].dtype
        taken = [torch.float32]
        if reads_bf16(self._layers.options):
            taken.append(torch.bfloat16)
        if dtype not in taken or any(
            one.dtype != dtype or one.device.type != "cpu" or (one.is_nested and not nested)
            for one in tensors
        ):
            names = " or ".join(str(one).rpartition(".")[2] for one in taken)
            return (
                f"the layer takes one dtype, {names}, on the CPU, not nested; the original module"
                " takes everything else"
            )
        return None

    def weights(self) -> Weights:
        """Of the original."""
        raise NotImplementedError

    def compute(self, query: Tensor, memory: Optional[Tensor], masks: Masks) -> Tensor:
        """The output ``(batch, tokens, width)`` of a call whose masks may turn out too difficult.

        Args:
            query: ``(batch, tokens, width)``
            memory: the second input; None for self-attention
        """
        raise NotImplementedError

    def output_width(self) -> int:
        """Of ``compute``."""
        raise NotImplementedError

    def run(
        self,
        kind: str,
        x: Tensor,
        lengths: Optional[List[int]] = None,
        mask: Optional[Tensor] = None,
    ) -> Tensor:
        """Self-attention of ``(batch, tokens, width)``."""
        batch, tokens = x.shape[0], x.shape[1]
        layer = self._layers.get(kind, self.weights, [batch * tokens, tokens])
        out = x.new_empty(batch, tokens, self.output_width())
        layer(as_array(x), as_array(out), lengths=lengths, mask=mask)
        return out

    def run_rows(self, kind: str, x: Tensor, lengths: List[int]) -> Tensor:
        """Self-attention of rows ``(rows, width)`` of sequences without gaps."""
        layer = self._layers.get(kind, self.weights, [len(x), max(lengths)])
        out = x.new_empty(len(x), self.output_width())
        layer(as_array(x), as_array(out), lengths=lengths)
        return out

    def run_cross(
        self,
        x: Tensor,
        memory: Tensor,
        lengths: List[int],
        memory_lengths: List[int],
        mask: Optional[Tensor] = None,
    ) -> Tensor:
        """Rows ``(rows, width)`` of sequences without gaps, over memory of the same kind."""
        sizes = [len(x), max(lengths), len(memory), max(memory_lengths)]
        layer = self._layers.get("cross", self.weights, sizes)
        out = x.new_empty(len(x), self.output_width())
        layer(
            as_array(x),
            as_array(out),
            lengths=lengths,
            memory=as_array(memory),
            memory_lengths=memory_lengths,
            mask=mask,
        )
        return out


def module_of(handle: int) -> PackedModule:
    """The module that a compiled graph names.

    Raises:
        RuntimeError: it is not in this process, or no more.
    """
    module = _modules.get(handle)
    if module is None:
        raise RuntimeError(
            "headroom: this graph was made with a module that is not in this process; compile the"
            " module that MultiheadAttention.from_module returns here"
        )
    return module

"""A layer of a model of ``transformers`` as headroom computes it, products included."""

import inspect
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Union

import torch
from torch import Tensor, nn

from .._arrays import as_array
from .._cache import KeyValueCache
from .._layer import Attention
from ._handed import Memory, as_shown, piece_of
from ._model_layer import Place, load, rule_of
from ._models import unusual
from ._packed import say_once, why_gradients
from ._rows import Past, Rows, Shape


class Sizes(NamedTuple):
    """How much one call of headroom's layer may bring; what is more is done in pieces."""

    rows: int
    tokens: int


# Arguments of attention modules that say what the layer knows, or what ``Rows`` is made of.
_CACHES = ("cache", "past_key_values", "past_key_value", "layer_past")
_READ = frozenset(
    (
        *_CACHES,
        "alibi",
        "attention_mask",
        "hidden_states",
        "mask",
        "position_bias",
        "position_embeddings",
        "position_ids",
        "residual",
    )
)
NO_CACHE = "the cache is of a kind that headroom does not know"
OWN_CACHE = "the cache was begun by the model's own layer"


class WholeLayer:
    """What replaces the ``forward`` of a module.

    Calls that it cannot compute go to the module's own, with a warning once. A cache that was begun
    here is refused there.
    """

    read = _READ

    def __init__(
        self, place: Place, config: Dict[str, Any], options: Dict[str, Any], sizes: Sizes
    ) -> None:
        self.place, self.config, self.options, self.sizes = place, config, options, sizes
        self.own = place.module.forward
        self.names = list(inspect.signature(self.own).parameters)
        self.memory = Memory()
        self.lock = threading.Lock()
        self.index: int = getattr(place.module, "layer_idx", None) or 0
        self.repack()
        self.rule = rule_of(self.attention.config, self.names)
        self.changes = self.attention.config["rotary"]["context"] > 0

    def _make(self) -> Attention:
        options = {**self.options, **({"dtype": "bf16"} if self.dtype == torch.bfloat16 else {})}
        return Attention._of_loaded(
            load(self.place, self.config),
            self.sizes.tokens,
            -(-self.sizes.rows // self.sizes.tokens),
            options,
        )

    @property
    def packed_bytes(self) -> int:
        made: int = self.attention.costs["packed_bytes"]
        return made

    def repack(self) -> None:
        """Packs the weights that the module has now. Caches that were begun before are refused."""
        self.dtype: torch.dtype = next(self.place.module.parameters()).dtype
        self.attention = self._make()

    @torch.compiler.disable  # type: ignore[untyped-decorator, unused-ignore]
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.update(zip(self.names, args))
        x = kwargs["hidden_states"]
        reason = self._why_not(x, kwargs)
        if reason is not None:
            return self._by_itself(reason, kwargs)
        found = self._compute(x, self._cache_of(kwargs), kwargs)
        if isinstance(found, str):
            return self._by_itself(found, kwargs)
        if self.place.residual:
            found = found + kwargs["residual"]
        # Whoever goes on with T5's biases without us makes them anew.
        return (found, *[None] * (self.place.results - 1))

    @staticmethod
    def _cache_of(given: Dict[str, Any]) -> Any:
        found = [given[name] for name in _CACHES if given.get(name) is not None]
        return found[0] if found else None

    def _cannot_go_on(self, reason: str) -> ValueError:
        return ValueError(
            f"headroom: {self.place.name} began this cache and cannot go on: {reason}; start with"
            " a new cache, or restore the model"
        )

    def _why_not(self, x: Tensor, given: Dict[str, Any]) -> Optional[str]:
        if x.dtype != self.dtype or x.device.type != "cpu" or x.dim() != 3 or 0 in x.shape:
            return f"the layer takes (batch, tokens, width) of {self.dtype} on the CPU"
        reason = why_gradients(x, *self.place.module.parameters())
        if reason is not None:
            return reason
        if self.place.module.training and self._drops():
            return "attention weights are dropped"
        more = unusual({name: value for name, value in given.items() if name not in self.read})
        if more:
            return f"{type(self.place.module).__name__} is given {more[0]!r}"
        return None

    def _drops(self) -> bool:
        module = self.place.module
        rates = [getattr(module, name, 0) for name in ("attention_dropout", "attn_dropout_p")]
        rates.append(getattr(module, "dropout", 0))
        return any((one.p if isinstance(one, nn.Dropout) else one or 0) > 0 for one in rates)

    def _by_itself(self, reason: str, given: Dict[str, Any]) -> Any:
        say_once(f"{reason}; the model's own layer takes the call")
        if self.place.first is not None and given.get("position_bias") is None:
            given["position_bias"] = self._biases(given)
        found = self.own(**given)
        if self.place.output is None:
            return found
        product: Any = self.place.output.forward
        return (product.own(found[0]), *found[1:])

    def _biases(self, given: Dict[str, Any]) -> Tensor:
        """What the first layer of the stack would have handed on."""
        cache = given.get("cache")
        cache = getattr(cache, "self_attention_cache", cache)
        tokens = given["hidden_states"].shape[1]
        keys, past = tokens, 0
        if cache is not None:
            keys, past = (
                cache.get_mask_sizes(tokens, self.index)[0],
                cache.get_seq_length(self.index),
            )
        made: Tensor = self.place.first.compute_bias(tokens, keys, past_seen_tokens=past)
        return made

    def _compute(self, x: Tensor, cache: Any, given: Dict[str, Any]) -> Union[Tensor, str]:
        from ._packed_cache import PackedLayer, packed_layer

        cache = getattr(cache, "self_attention_cache", cache)
        shape = Shape(*x.shape[:2])
        layer: Optional[PackedLayer] = None
        begun = False
        if cache is not None:
            if not hasattr(cache, "layers"):
                return NO_CACHE
            begun = self.index < len(cache.layers) and isinstance(
                cache.layers[self.index], PackedLayer
            )
            if not begun and int(cache.get_seq_length(self.index)) > 0:
                return OWN_CACHE
        past = cache.layers[self.index].past if begun else Past()
        mask = given.get("attention_mask", given.get("mask"))
        mask = as_shown(mask, self.place.mask, given.get("alibi"))
        rows = self.memory.rows_of(mask, given.get("position_ids"), self.rule, past, shape)
        if isinstance(rows, str):
            if begun:
                raise self._cannot_go_on(rows)
            return rows
        if cache is not None:
            layer = packed_layer(cache, self.index, self.attention, shape.batch)
            if layer is None:
                return NO_CACHE
        context = self._end(given.get("position_ids"), past, shape)
        kept = None if layer is None else layer.room(rows.counts(shape))
        try:
            with torch.no_grad():
                out = self._run(x, rows, context, kept)
        except ValueError as error:
            if not (begun and self.changes):
                raise
            raise self._cannot_go_on(_without_advice(error)) from error
        if layer is not None:
            layer.past = Past(past.places + shape.tokens, rows.after, rows.offsets)
        return out

    def _end(self, positions: Optional[Tensor], past: Past, shape: Shape) -> int:
        """Where the positions of a call end, as the model counts them; needed where its rotary
        positions change with that."""
        if not self.changes or positions is None:
            return past.places + shape.tokens
        return int(positions.max()) + 1

    def _run(self, x: Tensor, rows: Rows, context: int, cache: Optional[KeyValueCache]) -> Tensor:
        batch, tokens, width = x.shape
        lengths = rows.counts(Shape(batch, tokens))
        flat = x.reshape(batch * tokens, width) if rows.there is None else x[rows.there]
        out = flat.new_empty(len(flat), self.attention._width)
        self._in_pieces(flat.contiguous(), out, lengths, context, cache, rows)
        if rows.there is None:
            return out.view(batch, tokens, -1)
        whole = out.new_zeros(batch, tokens, out.shape[1])
        whole[rows.there] = out
        return whole

    def _in_pieces(
        self,
        x: Tensor,
        out: Tensor,
        lengths: List[int],
        context: int,
        cache: Optional[KeyValueCache],
        rows: Rows,
    ) -> None:
        """Rows of sequences without gaps, no more at once than the layer is made for."""
        if len(x) == 0:
            return
        longest, attention = max(lengths), self.attention
        if longest > self.sizes.tokens and cache is None:
            if self.rule.pattern.causal:
                cache = attention.cache(longest, len(lengths))
            else:
                attention = self._grown(longest)
        array, result = as_array(x), as_array(out)
        done = [0] * len(lengths)
        positions = None if rows.positions is None else rows.positions.reshape(-1)
        for first, counts in pieces(lengths, self.sizes):
            end = first + sum(counts)
            kept = [0] * len(done) if cache is None else list(cache.lengths)
            attention(
                array[first:end],
                result[first:end],
                lengths=counts,
                cache=cache,
                places_before=rows.before,
                positions=None if positions is None else positions[first:end],
                context=context,
                mask=None if rows.mask is None else piece_of(rows.mask, done, counts, kept),
            )
            done = [a + b for a, b in zip(done, counts)]

    def _grown(self, tokens: int) -> Attention:
        """Where no row can be computed without all others: a layer for longer calls."""
        with self.lock:
            if tokens > self.sizes.tokens:
                most = 1 << (tokens - 1).bit_length()
                self.sizes = Sizes(max(most, self.sizes.rows), most)
                self.attention = self._make()
            return self.attention


def _without_advice(error: ValueError) -> str:
    """What the library says, without what its callers could do: the model is the caller here."""
    return str(error).removeprefix("forward: ").split(";")[0]


def pieces(lengths: List[int], sizes: Sizes) -> Any:
    """First row and the rows of each sequence, of pieces that a layer of such sizes can take."""
    first, done = 0, 0
    counts = [0] * len(lengths)
    for i, length in enumerate(lengths):
        left = length
        while left:
            free = sizes.rows - sum(counts)
            # A sequence is cut only where it does not fit into a piece of its own.
            taken = min(left, sizes.tokens)
            if taken > free:
                yield first, counts
                first, counts = done, [0] * len(lengths)
                continue
            counts[i] += taken
            done += taken
            left -= taken
            if left:
                yield first, counts
                first, counts = done, [0] * len(lengths)
    if any(counts):
        yield first, counts


class NoProduct:
    """The last product of a layer that another module computes: already done."""

    def __init__(self, module: nn.Module) -> None:
        self.own = module.forward

    def __call__(self, x: Tensor) -> Tensor:
        return x

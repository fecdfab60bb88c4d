"""A layer of a model of ``transformers`` as headroom computes it, products included."""

import inspect
import threading
from types import MethodType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from .._arrays import as_array
from .._cache import KeyValueCache
from .._layer import Attention
from ._forwards import TRACED, is_traced, watch
from ._handed import Memory, as_shown, piece_of
from ._model_layer import Place, load, noted_positions, rule_of
from ._models import unusual, weights_wanted
from ._packed import say_once, why_gradients
from ._rows import Past, Rows, Rule, Shape
from ._transformers import require_rows


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
    here is refused there. A copy, or one from a pickle, packs the weights of its module at its
    first call.
    """

    read = _READ
    dtype: torch.dtype
    attention: Attention
    rule: Rule
    changes: bool  # rotary positions with the length of a call

    def __init__(
        self, place: Place, config: Dict[str, Any], options: Dict[str, Any], sizes: Sizes
    ) -> None:
        index: int = getattr(place.module, "layer_idx", None) or 0
        output = None if place.output is None else NoProduct(place.output)
        self._take(
            {
                "place": place,
                "config": config,
                "options": options,
                "sizes": sizes,
                "index": index,
                "output": output,
            }
        )
        self.repack()

    def __getstate__(self) -> Dict[str, Any]:
        names = ("place", "config", "options", "sizes", "index", "output")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._take(state)
        if self.place.hooked:
            require_rows(self.options)

    def _take(self, state: Dict[str, Any]) -> None:
        self.place: Place = state["place"]
        self.config: Dict[str, Any] = state["config"]
        self.options: Dict[str, Any] = state["options"]
        self.sizes: Sizes = state["sizes"]
        self.index: int = state["index"]
        self.output: Optional[NoProduct] = state["output"]
        # The module itself may not be whole yet, where both are parts of a copy.
        own = type(self.place.module).forward
        self.names = list(inspect.signature(own).parameters)[1:]
        self.memory = Memory()
        self.lock = threading.Lock()
        self.stale = True
        self.left = False
        self.asked = False  # for attention weights, by the module around this one
        self.watches: List[Any] = []

    def enter(self) -> None:
        """Replaces the forward of the module."""
        self.place.module.forward = self
        if self.output is not None:
            self.output.module.forward = self.output

    def note_asked(self, parent: nn.Module, args: Any, kwargs: Any) -> None:
        """A hook of the module around this one, which alone is told that weights are asked for."""
        given = inspect.signature(type(parent).forward).bind(parent, *args, **kwargs).arguments
        self.asked = bool(given.get("output_attentions"))

    def leave(self) -> None:
        """Gives the module its own back. Whoever has set another forward since, which may call this
        one, gets what the module's own gives."""
        self.left = True
        for one in self.watches:
            one.remove()
        replaced: List[Tuple[nn.Module, Any]] = [(self.place.module, self)]
        if self.output is not None:
            self.output.left = True
            replaced.append((self.output.module, self.output))
        for module, ours in replaced:
            if module.__dict__.get("forward") is ours:
                del module.forward

    @property
    def own(self) -> Callable[..., Any]:
        """What the module computes by itself."""
        return MethodType(type(self.place.module).forward, self.place.module)

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
        self._refresh()
        made: int = self.attention.costs["packed_bytes"]
        return made

    def forget(self) -> None:
        """The next call packs the weights that the module has then."""
        self.stale = True

    def _refresh(self) -> None:
        if self.stale:
            with self.lock:
                if self.stale:
                    self.repack()

    def repack(self) -> None:
        """Packs the weights that the module has now. Caches that were begun before are refused."""
        self.stale = False  # first, so that what changes meanwhile counts
        try:
            self.dtype = next(self.place.module.parameters()).dtype
            self.attention = self._make()
        except BaseException:
            self.stale = True
            raise
        self.rule = rule_of(self.attention.config, self.names)
        self.changes = self.attention.config["rotary"]["context"] > 0
        if not self.watches:
            place = self.place
            first = None if place.first is None else place.first.relative_attention_bias
            read = (place.module, place.output, first)
            self.watches = watch(self, *(one for one in read if one is not None))

    @torch.compiler.disable  # type: ignore[untyped-decorator, unused-ignore]
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.update(zip(self.names, args))
        if self.left:
            return self.own(**kwargs)
        self._refresh()
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
        if is_traced():
            return TRACED
        if x.dtype != self.dtype or x.device.type != "cpu" or x.dim() != 3 or 0 in x.shape:
            return f"the layer takes (batch, tokens, width) of {self.dtype} on the CPU"
        reason = why_gradients(x, *self.place.module.parameters())
        if reason is not None:
            return reason
        if self.place.module.training and self._drops():
            return "attention weights are dropped"
        if self.asked or weights_wanted():
            return "attention weights are asked for"
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
        if self.output is None:
            return found
        return (self.output.own(found[0]), *found[1:])

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
        positions = self._positions(given)
        if isinstance(positions, str):
            if begun:
                raise self._cannot_go_on(positions)
            return positions
        mask = given.get("attention_mask", given.get("mask"))
        mask = as_shown(mask, self.place.mask, given.get("alibi"))
        rows = self.memory.rows_of(mask, positions, self.rule, past, shape)
        if isinstance(rows, str):
            if begun:
                raise self._cannot_go_on(rows)
            return rows
        if cache is not None:
            layer = packed_layer(cache, self.index, self.attention, shape.batch)
            if layer is None:
                return NO_CACHE
        context = self._end(positions, past, shape)
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

    def _positions(self, given: Dict[str, Any]) -> Union[None, Tensor, str]:
        """What the model turns the rows by; None: their places."""
        positions: Optional[Tensor] = given.get("position_ids")
        turned = given.get("position_embeddings")
        if positions is None and turned is not None:
            positions = noted_positions(turned)
            if positions is None and self.attention.config["rotary"]["pairs"] != "none":
                return "nobody says which positions turn the rows"
        return positions

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
        self.module = module
        self.left = False

    def own(self, x: Tensor) -> Any:
        """What the module computes by itself."""
        return type(self.module).forward(self.module, x)

    def __call__(self, x: Tensor) -> Any:
        return self.own(x) if self.left else x

"""The layer and its caches."""

import os
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from ._arrays import (
    Array,
    activations,
    like,
    mask_array,
    new_result,
    padded,
    positions_of,
    written,
)
from ._cache import CacheOwner, KeyValueCache
from ._config import (
    LayerOptions,
    above_0,
    add_latent,
    add_rules,
    kv_heads_of,
    options_of,
    set_rotary,
    weights_of,
    with_zero_biases,
)
from ._messages import error_of_file, in_python_words
from ._numbers import flag, real, rule, whole, wholes
from ._rules import Latent, PositionBias, QueryKeyNorm, Rotary, Temperature

if TYPE_CHECKING:
    from typing_extensions import Unpack


def backends() -> List[Dict[str, Any]]:
    """The backends that the project knows.

    Returns:
        One dictionary each: ``name``, ``available``, ``reason`` (why not, and what to do; else
        None), ``description``, ``library`` and ``threaded``.
    """
    return _core.backends()


class Attention(CacheOwner):
    """A multi-head attention layer with weights that are packed once.

    ``softmax(q k^T / sqrt(head_dim)) v`` for each head, with ``q = x query + query_bias`` and so
    on; heads are merged, and ``output`` is the last product. Weights are ``d_in x d_out``, the
    transpose of ``torch.nn.Linear.weight``, so that ``linear.weight.T`` fits. They are read where
    they lie, and packed; nothing else is copied.

    Args:
        query: ``(d_in, d_out)``, float32, float16 or bfloat16, of any strides. Head ``h`` owns
            columns ``h * head_dim`` and following.
        key: ``(d_in, kv_heads * head_dim)``; with ``memory_tokens`` ``(d_memory, ...)``.
        value: as ``key``.
        output: ``(d_out, d_proj)``; None for no output projection.
        heads: heads of queries, a divisor of ``d_out``.
        tokens: the most tokens of one sequence in one call.
        batch: ``batch * tokens`` is the most rows of one call.
        query_bias: ``(d_out,)``. If only some of the three are given, the others are zero.
        key_bias: ``(kv_heads * head_dim,)``
        value_bias: as ``key_bias``
        output_bias: ``(d_proj,)``
        causal: a token sees none after it. Default: yes, but for a second input.
        kv_heads: heads of keys and values, a divisor of ``heads``. Default: by the width of
            ``key``.
        window: the most keys that a token sees, its own included.
        chunk: a causal token sees none of another chunk of so many positions.
        clip: queries, keys and values are clamped to plus and minus this.
        norm: a ``QueryKeyNorm`` of queries and keys.
        rotary: ``"halves"`` turns values ``i`` and ``i + head_dim / 2`` of queries and keys by
            their position, ``"neighbours"`` values ``2 i`` and ``2 i + 1``; a ``Rotary`` says the
            same, and a part of the head, divisors and amplitude.
        rotary_base: angles are ``position * rotary_scale * rotary_base ** (-2 i / head_dim)``.
        rotary_scale: see there.
        temperature: a ``Temperature`` of queries by their position.
        scale: of scores. Default: ``1 / sqrt(head_dim)``.
        position_bias: a ``PositionBias``, added to scaled scores.
        softcap: scores become ``softcap * tanh(score / softcap)``, before any mask.
        sinks: ``(heads,)``, one more logit in the sum of each head's softmax, without a value.
        gate: ``(d_in, d_out)``; what heads give is multiplied by ``sigmoid(x gate)``.
        latent: a ``Latent`` that keys and values are made of. Then ``query`` is ``(query_rank or
            d_in, d_out)``, ``key`` ``(rank, heads * (head_dim - shared))``, ``value``
            ``(rank, heads * value_dim)``, of any width, and ``output`` has ``heads * value_dim``
            rows.
        memory_tokens: makes it cross-attention: keys and values are made of a second input with at
            most so many tokens of a sequence.
        dropout: probability that an attention weight is dropped.
        dropout_seed: fixes which.
        backend: a name of ``backends()``, or ``"auto"``.
        formulation: ``"wrapper"``, ``"split"`` or ``"fused"``. Default: the backend's choice.
        threads: 0 for every core that this process may use.
        isa: forces an instruction set: ``"sse4.2"``, ``"avx2"``, ``"avx512"`` or ``"neon"``.
        unit: forces who multiplies parts: ``"none"``, ``"avx512_bf16"``, ``"amx"`` or
            ``"emulated"``.
        kernels: forces a variant of the backend's kernels.
        precision: what products compute with: ``"f32"``, ``"bf16x9"``, ``"bf16x6"``, ``"fp16x3"``,
            ``"bf16x3"``, ``"bf16"`` or, for weights of ``"q8"`` and ``"q4"``, ``"int8"``. A
            backend may decline all but ``"f32"``. ``"auto"`` takes whatever is fastest here of those
            with the error limits of ``"f32"``; ``choice`` says which, and why. ``"int8"`` multiplies
            bytes: rows of x, rounded in groups of 32, times weights; and over a ``cache_dtype`` of
            ``"q8"`` queries, rounded likewise, times keys, and attention weights, rounded to 0 to
            255 in groups of 32 keys, times values. Keys of a query's own block of 64, softmax and
            sums of groups are float32.
        dtype: what weights, inputs and outputs are stored as, ``"f32"`` or ``"bf16"``. A backend
            may decline all but ``"f32"``.
        cache_dtype: what keys and values are stored as: ``"f32"``, ``"bf16"`` or ``"q8"``, eight bits
            with a scale for a token's values and for 64 keys of a channel. By default as ``dtype``.
        weights_dtype: what weights are stored as: ``"f32"``, ``"bf16"``, or ``"q8"`` and ``"q4"``,
            groups of 32 with a scale, as in GGUF's Q8_0 and Q4_0. Default: as ``dtype``.
        tuning_file: as ``headroom pick --emit json`` writes it. Why it is not used is a warning.

    Raises:
        TypeError: an array is none, or of another type.
        ValueError: sizes do not fit each other, or an option has no such value.
        RuntimeError: a backend or instruction set is not here, or declines.
    """

    def __init__(
        self,
        query: Array,
        key: Array,
        value: Array,
        output: Optional[Array] = None,
        *,
        heads: int,
        tokens: int,
        batch: int = 1,
        query_bias: Optional[Array] = None,
        key_bias: Optional[Array] = None,
        value_bias: Optional[Array] = None,
        output_bias: Optional[Array] = None,
        causal: Optional[bool] = None,
        kv_heads: Optional[int] = None,
        window: Optional[int] = None,
        chunk: Optional[int] = None,
        clip: Optional[float] = None,
        norm: Optional[QueryKeyNorm] = None,
        rotary: Union[None, str, Rotary] = None,
        rotary_base: float = 10000.0,
        rotary_scale: float = 1.0,
        temperature: Optional[Temperature] = None,
        scale: Optional[float] = None,
        position_bias: Optional[PositionBias] = None,
        softcap: Optional[float] = None,
        sinks: Optional[Array] = None,
        gate: Optional[Array] = None,
        latent: Optional[Latent] = None,
        memory_tokens: Optional[int] = None,
        dropout: float = 0.0,
        dropout_seed: int = 0,
        backend: str = "auto",
        formulation: Optional[str] = None,
        threads: int = 0,
        isa: Optional[str] = None,
        unit: Optional[str] = None,
        kernels: str = "",
        precision: str = "f32",
        dtype: str = "f32",
        weights_dtype: Optional[str] = None,
        cache_dtype: Optional[str] = None,
        tuning_file: "Union[str, os.PathLike[str]]" = "",
    ) -> None:
        weights = weights_of(
            {
                "query": query,
                "key": key,
                "value": value,
                "output": output,
                "query_bias": query_bias,
                "key_bias": key_bias,
                "value_bias": value_bias,
                "output_bias": output_bias,
                "sinks": sinks,
                "gate": gate,
            }
        )
        config, largest = _core.LayerConfig(), _core.CallSizes()
        largest.batch, largest.tokens = whole("batch", batch), whole("tokens", tokens)
        config.heads = heads = whole("heads", heads)
        config.d_in, config.d_out = weights.query
        config.d_proj = weights.output[1]
        if output is not None and output_bias is None:
            weights.output_bias = np.zeros(config.d_proj, np.float32)
        config.qkv_bias = with_zero_biases(weights)
        rule("latent", latent, Latent)
        if latent is not None:
            add_latent(config, weights, latent)
            kv_heads = heads if kv_heads is None else kv_heads
        config.kv_heads = kv_heads_of(kv_heads, heads, config.d_out, weights.key[1])
        config.window = 0 if window is None else whole("window", window)
        config.causal = memory_tokens is None if causal is None else flag("causal", causal)
        if memory_tokens is not None:
            config.d_memory = weights.key[0]
            largest.memory_tokens = whole("memory_tokens", memory_tokens)
        config.dropout = real("dropout", dropout)
        config.dropout_seed = whole("dropout_seed", dropout_seed)
        config.chunk = 0 if chunk is None else whole("chunk", chunk)
        config.clip = 0.0 if clip is None else real("clip", clip)
        config.scale, config.softcap = above_0("scale", scale), above_0("softcap", softcap)
        config.sinks, config.gate = sinks is not None, gate is not None
        if isinstance(rotary, str):
            rotary = Rotary(rotary, rotary_base, rotary_scale)
        rule("rotary", rotary, Rotary)
        rule("norm", norm, QueryKeyNorm)
        rule("position_bias", position_bias, PositionBias)
        if rotary is not None:
            set_rotary(config, rotary)
        add_rules(config, weights, norm, position_bias, temperature)
        options = options_of(
            {
                "backend": backend,
                "formulation": formulation,
                "threads": threads,
                "isa": isa,
                "unit": unit,
                "kernels": kernels,
                "precision": precision,
                "dtype": dtype,
                "weights_dtype": weights_dtype,
                "cache_dtype": cache_dtype,
                "tuning_file": tuning_file,
            }
        )
        core, notes = _core.Layer.make(config, largest, weights, options)
        self._adopt(core, config, largest, notes)

    @classmethod
    def load(
        cls,
        path: Union[str, "os.PathLike[str]"],
        *,
        tokens: int,
        batch: int = 1,
        layer: Union[int, str] = "",
        config: Optional[Union[str, "os.PathLike[str]"]] = None,
        family: Optional[str] = None,
        **options: "Unpack[LayerOptions]",
    ) -> "Attention":
        """A layer of a trained model, with all that its ``config.json`` says of it.

        Args:
            path: a safetensors file, a folder with one or with the index of several, or a folder
                of ``.npy`` files
            tokens: the most tokens of one sequence in one call
            batch: ``batch * tokens`` is the most rows of one call
            layer: its number, or what the names of its tensors share. Default: the lowest number.
            config: the model's configuration. Default: ``config.json`` beside the weights, if there
                is one.
            family: the family of models, such as ``"llama"``, whose layers compute what this one
                does, where that of the configuration is not known
            options: ``backend``, ``threads`` and all that follows them in the constructor

        Raises:
            ValueError: ``layer`` is not there, or an option has no such value.
            FileNotFoundError: a file is not there.
            RuntimeError: a file is not what it should be, or the model does something in this layer
                that headroom does not.
        """
        described = "" if config is None else os.fspath(config)
        try:
            loaded = _core.load_weights(os.fspath(path), str(layer), described, family or "")
        except (RuntimeError, ValueError) as error:
            said = in_python_words(str(error))
            raise error_of_file(said) or type(error)(said) from None
        for note in loaded.warnings:
            warnings.warn(note, RuntimeWarning, stacklevel=2)
        return cls._of_loaded(loaded, tokens, batch, options)

    @classmethod
    def _of_loaded(
        cls, loaded: _core.LayerWeights, tokens: int, batch: int, options: Mapping[str, Any]
    ) -> "Attention":
        largest = _core.CallSizes()
        largest.batch, largest.tokens = whole("batch", batch), whole("tokens", tokens)
        if loaded.config.fields()["d_memory"]:
            largest.memory_tokens = largest.tokens
        made = cls.__new__(cls)
        core, notes = loaded.make(largest, options_of(options))
        made._adopt(core, loaded.config, largest, notes)
        return made

    def _adopt(
        self,
        core: _core.Layer,
        config: _core.LayerConfig,
        largest: _core.CallSizes,
        notes: List[str],
    ) -> None:
        self._core, self._config = core, config
        self._width = config.output_width
        self._id = f"B{largest.batch}_T{largest.tokens}_{config.id()}"
        for note in notes:
            warnings.warn(note, RuntimeWarning, stacklevel=3)

    @property
    def config(self) -> Dict[str, Any]:
        """What is fixed since the weights were packed: ``heads``, ``causal``, ``rotary``, ``norm``,
        ``scale`` and all others, by the names of ``LayerConfig`` in ``headroom/layer_config.hpp``.
        """
        return self._config.fields()

    def __call__(
        self,
        x: Array,
        out: Optional[Array] = None,
        *,
        lengths: Optional[Sequence[int]] = None,
        padding_side: str = "right",
        cache: Optional[KeyValueCache] = None,
        memory: Optional[Array] = None,
        memory_lengths: Optional[Sequence[int]] = None,
        places_before: Optional[Sequence[int]] = None,
        positions: Optional[Array] = None,
        context: int = 0,
        mask: Optional[Array] = None,
    ) -> Array:
        """Computes the layer. The interpreter is unlocked meanwhile; calls of one layer take turns.

        Args:
            x: ``(tokens, d_in)``, one sequence, or ``(batch, tokens, d_in)``; float32 or, of a
                layer with dtype ``"bf16"``, a tensor of bfloat16, or its bits as uint16 of numpy.
                Rows must be contiguous each and evenly apart; nothing is copied.
            out: receives the result, of the shape of x but for its width; float32 or bfloat16, as
                above. Must not overlap x.
            lengths: tokens of each sequence. With two dimensions of x, sequences follow each other
                without gaps; with three, rows after a sequence's length are padding: they are
                neither read nor written, and 0 where the result is new.
            padding_side: ``"left"`` where padding comes before a sequence's rows, which are then
                the last ones
            cache: the rows are appended, and each sees all that came before it.
            memory: of a layer with ``memory_tokens``, ``(tokens, d_memory)`` or
                ``(batch, tokens, d_memory)``. With a cache it may be left out after the first call.
            memory_lengths: tokens of each sequence in ``memory``, which then has two dimensions.
            places_before: padding before the first token of each sequence, in earlier calls too.
                A ``temperature`` counts it, as Llama 4 does, and nothing else.
            positions: of a layer with rotary positions, what each row of x is turned by in place of
                its place in its sequence: whole numbers of the shape of x without its last
                dimension, or three of these, ``(3, batch, tokens)``, where ``Rotary`` has sections:
                times, heights and widths. Masks, windows and all else go by places.
            context: of a layer whose ``Rotary`` has a ``context``, how far the call reaches at
                least, in tokens: say the whole length if a prompt is given in chunks. Otherwise it
                is the largest position of its rows plus 1.
            mask: of ``(batch, heads, tokens, keys)`` or what broadcasts to it, beside what the
                layer hides itself. A boolean one is true where a key is seen; one of float32 or
                bfloat16 is added to scaled scores. ``tokens`` are those of x, padding included, or
                of the longest sequence; ``keys`` are those of the cache and then those of x, as
                many as the longest sequence has. With ``padding_side="left"`` the keys of a
                sequence are the last ones, as its rows are. A row that sees no key has 0 in place
                of what it would have seen. Values behind hidden keys must be finite.

        Returns:
            ``out``, or a new array of the type of x: a tensor if x is one, and of numpy otherwise.

        Raises:
            TypeError: an array is none, or of another type.
            ValueError: a shape, stride or length does not fit, ``out`` is read-only or overlaps, a
                mask has a NaN, or the cache has too little room. ``out`` and the cache are as
                before.
        """
        array = x if type(x) is np.ndarray else activations("x", x)
        if out is None:
            result = new_result(array, self._width, lengths is not None)
            out = result if array is x else like(x, result)
        else:
            result = out if type(out) is np.ndarray else written("out", out)
        self._core.forward(
            array,
            result,
            padded(lengths, padding_side),
            cache if cache is None else cache._core,
            memory if memory is None else activations("memory", memory),
            None if memory_lengths is None else wholes("memory_lengths", memory_lengths),
            None if places_before is None else wholes("places_before", places_before),
            positions_of(positions, array),
            whole("context", context),
            mask_array("mask", mask),
        )
        return out

    def append(
        self,
        x: Array,
        cache: KeyValueCache,
        *,
        lengths: Optional[Sequence[int]] = None,
        padding_side: str = "right",
        positions: Optional[Array] = None,
        context: int = 0,
    ) -> None:
        """Puts the keys and values of x into the cache and computes no output.

        Args:
            x: as in a call
            cache: as in a call
            lengths: as in a call
            padding_side: as in a call
            positions: as in a call
            context: as in a call

        Raises:
            ValueError: as in a call, and for a layer with a second input.
        """
        array = activations("x", x)
        self._core.append(
            array,
            padded(lengths, padding_side),
            cache._core,
            positions_of(positions, array),
            whole("context", context),
        )

    def __repr__(self) -> str:
        choice = self.choice
        threads = choice["threads"]
        count = "1 thread" if threads == 1 else f"{threads} threads"
        return f"Attention({self._id}, {choice['backend']}, {choice['precision']}, {count})"

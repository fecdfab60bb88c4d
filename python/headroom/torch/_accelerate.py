"""Whole attention layers of models of ``transformers``, replaced in place and back."""

import json
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

import torch
from torch import nn

from .._numbers import whole
from ._cross_layer import CrossLayer
from ._forwards import own_forward
from ._model_layer import Place, note_positions
from ._transformers import register_rows
from ._whole_layer import Sizes, WholeLayer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._config import LayerOptions


class Family(NamedTuple):
    """How models of a ``model_type`` name their attention."""

    attention: str  # class of the modules
    prefix: str = "layers.{}.self_attn."  # of their tensors in a checkpoint, by number and stack
    ending: str = ""  # of the modules' names, where others of the class attend to a second input
    crossed: str = ""  # prefix of the tensors of those
    biases: str = ""  # the tensor of the first layer that all of a stack add to scores
    apart: bool = False  # the last product is the parent's output.dense
    hooked: bool = True  # masks are made for the implementation
    mask: str = "shown"  # what its masks say, see ``Place``
    residual: bool = False  # what it returns has the layer's input added, as it is handed it
    results: int = 2  # that it returns
    told: bool = True  # it is handed the positions that turn it, and not only what they give
    asked: bool = True  # it can know that attention weights are asked for, and not only its parent


_H = "h.{}.self_attention."
_BERT = "layer.{}.attention.self."
FAMILIES: Dict[str, Family] = {
    "bert": Family("BertSelfAttention", _BERT, apart=True),
    "bloom": Family("BloomAttention", _H, hooked=False, residual=True),
    "deepseek_v2": Family("DeepseekV2Attention"),
    "deepseek_v3": Family("DeepseekV3Attention"),
    "falcon": Family("FalconAttention", _H, hooked=False, mask="biased"),
    "gemma2": Family("Gemma2Attention"),
    "gemma3_text": Family("Gemma3Attention"),
    "glm4_moe": Family("Glm4MoeAttention"),
    "gpt_oss": Family("GptOssAttention"),
    "granite": Family("GraniteAttention"),
    "llama": Family("LlamaAttention"),
    "llama4_text": Family("Llama4TextAttention", told=False),
    "mistral": Family("MistralAttention"),
    "modernbert": Family("ModernBertAttention", "layers.{}.attn.", told=False),
    "mpt": Family("MptAttention", "blocks.{}.attn.", hooked=False, mask="hidden", asked=False),
    "olmo2": Family("Olmo2Attention"),
    "phi3": Family("Phi3Attention"),
    "qwen3": Family("Qwen3Attention"),
    "qwen3_next": Family("Qwen3NextAttention"),
    "t5": Family(
        "T5Attention",
        "{1}.block.{0}.layer.0.SelfAttention.",
        ".SelfAttention",
        "{1}.block.{0}.layer.1.EncDecAttention.",
        biases="relative_attention_bias.weight",
        results=3,
    ),
    "roberta": Family("RobertaSelfAttention", _BERT, apart=True),
    "vit": Family("ViTAttention", "layers.{}.self_attn."),
    "whisper": Family(
        "WhisperAttention",
        "{1}.layers.{0}.self_attn.",
        ".self_attn",
        "{1}.layers.{0}.encoder_attn.",
    ),
}


def _config_of(name: str, model: nn.Module) -> Any:
    """Of a module, or of the nearest one around it that has one."""
    config = getattr(model.get_submodule(name), "config", None)
    while config is None and name:
        name = name.rpartition(".")[0]
        config = getattr(model.get_submodule(name), "config", None)
    return config


def _place(name: str, module: nn.Module, model: nn.Module) -> Optional[Tuple[Place, Family]]:
    if "Attention" not in type(module).__name__:
        return None
    family = FAMILIES.get(str(getattr(_config_of(name, model), "model_type", None)))
    if family is None or type(module).__name__ != family.attention:
        return None
    memory = not name.endswith(family.ending)
    words = name.split(".")
    # T5's layers have a number within a block, after that of the block.
    numbers = [int(one) for one in words if one.isdigit()]
    number = numbers[0] if numbers else 0
    output = None
    if family.apart:
        output = model.get_submodule(name.rpartition(".")[0]).get_submodule("output.dense")
    stack = "decoder" if "decoder" in words else "encoder"
    prefix = (family.crossed if memory else family.prefix).format(number, stack)
    first, biases = None, ""
    if family.biases and not memory:
        first = model.get_submodule(name.replace(f".block.{number}.", ".block.0."))
        biases = family.prefix.format(0, stack) + family.biases
    place = Place(
        name,
        module,
        output,
        prefix,
        family.mask,
        family.residual,
        family.results,
        memory,
        family.hooked,
        first,
        biases,
    )
    return place, family


def _parts_of(place: Place) -> Iterator[Tuple[str, nn.Module]]:
    """What a layer is computed for, by name."""
    yield from place.module.named_modules(prefix=place.name)
    if place.output is not None:
        above = place.name.rpartition(".")[0]
        yield from place.output.named_modules(prefix=f"{above}.output.dense")
    if place.first is not None:
        yield f"{place.name}: the table of its biases", place.first.relative_attention_bias


def _check(place: Place) -> None:
    if isinstance(place.module.__dict__.get("forward"), WholeLayer):
        raise ValueError(
            f"{place.name} is accelerated already; restore() what accelerated it first"
        )
    for name, module in _parts_of(place):
        own = own_forward(module, hooks=module is not place.module)
        if own is not None:
            raise ValueError(
                f"{name} {own}, which the layer would leave out; merge it into the weights, or take"
                " it away first"
            )
    for name, one in place.module.named_parameters():
        if type(one) is not nn.Parameter:
            raise ValueError(
                f"{place.name}.{name} is a {type(one).__name__}; allowed are plain parameters, not"
                " quantized ones"
            )
        if one.device.type != "cpu" or one.dtype not in (torch.float32, torch.bfloat16):
            raise ValueError(
                f"{place.name}.{name} is of {one.dtype} on {one.device}; allowed are float32 and"
                " bfloat16 on the CPU: call model.to('cpu', torch.float32) first"
            )


def _description(config: Any) -> Dict[str, Any]:
    """What ``config.json`` would say."""
    said: Dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    return said


def _layer(place: Place, model: nn.Module, options: Mapping[str, Any], sizes: Sizes) -> WholeLayer:
    kind = CrossLayer if place.memory else WholeLayer
    return kind(place, _description(_config_of(place.name, model)), dict(options), sizes)


class Acceleration:
    """What ``accelerate`` replaced. Use it in a ``with`` statement, or call ``restore``."""

    def __init__(
        self, model: Any, layers: List[WholeLayer], before: Optional[str], notes: List[Any]
    ) -> None:
        self.model = model
        self._layers = layers
        self._before = before
        self._notes = notes

    @property
    def layers(self) -> List[str]:
        """Names of the modules that were replaced."""
        return [one.place.name for one in self._layers]

    @property
    def packed_bytes(self) -> int:
        """Memory of the packed weights; the model keeps its own beside them."""
        return sum(one.packed_bytes for one in self._layers)

    def repack(self) -> None:
        """Packs the weights that the model has now. ``load_state_dict`` of the model or of a part
        of it does it; call it after any other change of them."""
        for one in self._layers:
            one.repack()

    def restore(self) -> Any:
        """Gives the model its own layers back, and returns it. A second time changes nothing. A
        forward that was set on a layer meanwhile stays there."""
        for one in self._layers:
            one.leave()
        for note in self._notes:
            note.remove()
        if self._layers and self._before is not None:
            self.model.set_attn_implementation(self._before)
        self._layers = []
        return self.model

    def __enter__(self) -> "Acceleration":
        return self

    def __exit__(self, *_: Any) -> None:
        self.restore()

    def __repr__(self) -> str:
        return f"Acceleration({type(self.model).__name__}, {len(self._layers)} layers)"


def accelerate(model: Any, *, rows: int = 1024, **options: "Unpack[LayerOptions]") -> Acceleration:
    """Replaces the attention layers of a loaded model of ``transformers``, products included.

    The weights are packed once, here; the model keeps its own as well. What the model is called for
    stays the same: prompts, steps, several tokens after a cache, padding on either side, batches,
    ``generate``. Keys and values of a replaced layer lie in a cache of headroom's, inside the cache
    of ``transformers`` that the caller or ``generate`` makes: it has lengths, and can be cropped,
    reset and reordered, but no tensors to show. Without a cache none is made. A copy or a pickle of
    the model has such layers as well, which pack at their first call; copy what this returns to be
    able to restore it.

    Args:
        model: of float32 or bfloat16 on the CPU
        rows: tokens that a layer computes at once; what is longer is done in pieces, with the same
            bits. Its workspace grows with them.
        options: of ``headroom.Attention``: ``backend``, ``threads``, ``isa``, ``kernels``,
            ``precision``, ``weights_dtype`` ...

    Returns:
        What gives the model its own layers back: ``restore()``, or the end of a ``with`` statement.

    Raises:
        ImportError: ``transformers`` is not installed.
        TypeError: an option is not known, or ``rows`` is no whole number.
        ValueError: the model has no layer of a family that is known, or is accelerated already, or
            is of another dtype or device, or a part of such a layer has a forward of its own or
            hooks; or ``rows`` is below 1.
        RuntimeError: the model does something in its attention that headroom does not.
    """
    rows = whole("rows", rows, least=1)
    found = [_place(name, module, model) for name, module in model.named_modules()]
    places = [one for one in found if one is not None]
    if not places:
        kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
        raise ValueError(
            f"{kind} has no attention layer that headroom can replace; families that are known are"
            f" {', '.join(sorted(FAMILIES))}; register_transformers() computes attention alone for"
            " most others"
        )
    for place, _ in places:
        _check(place)
    layers = [_layer(place, model, options, Sizes(rows, rows)) for place, _ in places]
    before = None
    if all(family.hooked for _, family in places):
        before = model.config._attn_implementation
        model.set_attn_implementation(register_rows(options))
    notes: List[Any] = []
    if not all(family.told for _, family in places):
        notes = [
            one.register_forward_hook(note_positions, with_kwargs=True)
            for one in model.modules()
            if type(one).__name__.endswith("RotaryEmbedding")
        ]
    for one, (place, family) in zip(layers, places):
        if not family.asked:
            parent = model.get_submodule(place.name.rpartition(".")[0])
            notes.append(parent.register_forward_pre_hook(one.note_asked, with_kwargs=True))
    for one in layers:
        one.enter()
    return Acceleration(model, layers, before, notes)

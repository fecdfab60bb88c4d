"""A layer of a loaded model, read as one of a checkpoint."""

import json
import os
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional

from torch import Tensor, nn

from .. import _core
from ._rows import Rule
from ._seen import Pattern


class Place(NamedTuple):
    """Where a layer stands in its model."""

    name: str  # of the module, for messages
    module: nn.Module  # that attends
    output: Optional[nn.Module]  # the last product, if another module computes it
    prefix: str  # of its tensors, as headroom knows them
    mask: str  # says which keys are "shown", or "hidden", or has the position bias in it: "biased"
    residual: bool  # adds what it is handed by this name
    results: int  # that it gives, its output included
    memory: bool  # attends to a second input
    hooked: bool  # its model makes masks for the implementation
    first: Any = None  # the module that has the biases of all, and hands them on
    biases: str = ""  # the name of its tensor


def tensors_of(place: Place) -> Dict[str, Tensor]:
    """By the names of a checkpoint."""
    found = {place.prefix + name: x for name, x in place.module.state_dict().items()}
    if place.output is not None:
        above = place.prefix.removesuffix("self.") + "output.dense."
        found.update({above + name: x for name, x in place.output.state_dict().items()})
    if place.first is not None:
        table = place.first.relative_attention_bias.weight
        found[place.biases] = table.detach()
    # What is written to a file is their memory, which does not have a sign that was taken later.
    return {
        name: x.resolve_neg().contiguous() for name, x in found.items() if x.is_floating_point()
    }


def load(place: Place, config: Dict[str, Any]) -> _core.LayerWeights:
    """Reads a module's weights as those of a checkpoint, from memory."""
    loaded = _read(place, config)
    if place.memory:  # which no checkpoint says
        loaded.config.d_memory, loaded.config.causal = loaded.config.d_in, False
    return loaded


def _read(place: Place, config: Dict[str, Any]) -> _core.LayerWeights:
    from safetensors.torch import save

    file = os.memfd_create("headroom", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(file), "wb") as to:
            to.write(save(tensors_of(place)))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as description:
            json.dump(config, description)
            description.flush()
            return _core.load_weights(f"/proc/self/fd/{file}", "", description.name, "")
    finally:
        os.close(file)


def note_positions(_: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
    """A hook of a rotary module: keeps with what it gives what it was made of, for attention
    modules that are handed no more than that."""
    first = output[0] if isinstance(output, tuple) else output
    first.headroom_positions = kwargs.get("position_ids", args[1] if len(args) > 1 else None)


def noted_positions(turned: Any) -> Optional[Tensor]:
    """What ``note_positions`` kept."""
    first = turned[0] if isinstance(turned, tuple) else turned
    return getattr(first, "headroom_positions", None)


def rule_of(config: Dict[str, Any], names: List[str]) -> Rule:
    """Of a layer, and the arguments of its module: an ``alibi`` is made of the model's mask."""
    reach = config["window"]
    bias = "none"
    if config["position_bias"]["kind"] != "none":
        bias = "tokens" if "alibi" in names else "places"
    return Rule(
        Pattern(config["causal"], reach, config["chunk"]),
        config["rotary"]["pairs"] != "none" or bias != "none",
        config["temperature"][0] > 0,
        bias,
    )

"""Modules that something else was made of than what headroom computes in their place."""

import weakref
from typing import Any, List, Optional, Protocol, Tuple

import torch
from torch import nn

_KNOWN = ("torch.nn.modules.", "transformers.models.")


def own_forward(module: nn.Module, hooks: bool = True) -> Optional[str]:
    """What a module does that the classes of PyTorch and of ``transformers`` do not; None: nothing.

    A class that inherits their forward is as they are.

    Args:
        hooks: whether hooks would be left out
    """
    kind = type(module)
    if "forward" in module.__dict__:
        return "has a forward that was set on it"
    if not kind.forward.__module__.startswith(_KNOWN):
        return f"is a {kind.__name__} with a forward of its own"
    if hooks and (module._forward_hooks or module._forward_pre_hooks):
        return "has forward hooks"
    return None


def is_recorded() -> bool:
    """Whether ``torch.jit.trace`` writes a call down, for which what we compute is a constant."""
    return torch._C._get_tracing_state() is not None


def is_traced() -> bool:
    """Whether a call is written down for other processes, which have no layer of this one."""
    exporting = getattr(torch.compiler, "is_exporting", None)  # since PyTorch 2.7
    return bool(exporting is not None and exporting()) or is_recorded()


TRACED = "a traced or exported program has the original module in it, and no layer of headroom"


class Packs(Protocol):
    """What keeps packed weights of a module."""

    def forget(self) -> None:
        """They are no longer those of the module."""


class Watch:
    """A hook of a module whose weights somebody has packed: ``load_state_dict`` of the module, or
    of one around it, calls it. A copy of the module has one that tells nobody."""

    def __init__(self, owner: Optional[Packs] = None) -> None:
        self._owner = None if owner is None else weakref.ref(owner)

    def __call__(self, *_: Any) -> None:
        owner = None if self._owner is None else self._owner()
        if owner is not None:
            owner.forget()

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Watch, ())


def watch(owner: Packs, *modules: nn.Module) -> List[Any]:
    """Has ``owner`` told when weights are loaded into these modules or parts of them.

    Returns:
        Handles that end it.
    """
    hook = Watch(owner)
    parts = {part for module in modules for part in module.modules()}
    made: List[Any] = []
    for part in parts:
        made.append(part.register_load_state_dict_post_hook(hook))  # type: ignore[no-untyped-call]
    return made

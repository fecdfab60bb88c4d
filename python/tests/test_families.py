"""The families of tests/models with the attention of headroom: as their own, in every way."""

import warnings

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import families  # noqa: E402
from headroom.torch import FallbackWarning, fallbacks, register_transformers  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", families.FAMILIES)
def test_a_family(name):
    family = families.FAMILIES[name]
    result = families.measure(family)
    assert result.calls > 0 and not result.fallbacks
    assert max(result.errors.values()) <= families.LIMIT, result.errors
    assert all(result.same.values()), result.same
    assert not result.lost
    # Where a router decides otherwise in bfloat16, either may be far away.
    assert min(result.half.values()) < 1.5, result.half


@pytest.mark.parametrize("name", families.FAMILIES)
def test_gradients_are_those_of_others(name):
    models = families.Models(families.FAMILIES[name])
    given, shown = list(models.cases().values())[-1]  # padded, if it can be
    fallbacks(reset=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        for model in (models.eager, models.ours):
            y = model(**given).logits
            (y if shown is None else y[shown]).square().mean().backward()
    assert all(reason.startswith("gradients") for reason in fallbacks(reset=True))
    for own, other in zip(models.eager.parameters(), models.ours.parameters()):
        assert (own.grad is None) == (other.grad is None)
        if own.grad is not None:
            assert (own.grad - other.grad).norm() <= 1e-4 * own.grad.norm() + 1e-6


@pytest.mark.parametrize("name", families.ALONE)
def test_a_family_that_asks_nobody(name):
    family = families.ALONE[name]
    register_transformers()
    own = {"bloom": "Bloom", "mpt": "Mpt"}.get(name, "Falcon")
    with pytest.raises(ValueError, match=f"{own}ForCausalLM computes attention itself"):
        families.make(family, "headroom")
    model = families.make(family, family.implementation)
    with pytest.raises(ValueError, match=f"{own}ForCausalLM computes attention itself"):
        model.set_attn_implementation("headroom")

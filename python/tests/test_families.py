"""The families of tests/models with the attention of headroom: as their own, in every way."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import families  # noqa: E402
from headroom.torch import register_transformers  # noqa: E402

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

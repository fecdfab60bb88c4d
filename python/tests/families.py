"""Tiny random models of the families of tests/models: what the hook gives against the model's own.

``measure`` is for the test of families and for docs/models.md, which tests/models/hook_page.py
makes of it.
"""

import contextlib
import copy
import dataclasses
import inspect
import pathlib
import sys
import warnings

import torch
import transformers
from headroom.torch import (
    FallbackWarning,
    _packed,
    _transformers,
    _whole_layer,
    accelerate,
    fallbacks,
    register_transformers,
)
from transformers import masking_utils
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "models"))
import make_models  # noqa: E402

LIMIT = 2e-6
BATCH, TOKENS, NEW = 4, 18, 64

# A sequence of 64 new tokens needs room.
_ROOM = {"whisper": {"max_target_positions": 128}}
REFUSED = ("falcon", "falcon_new", "falcon_rw", "bloom", "mpt")
FAMILIES = {one.folder: one for one in make_models.FAMILIES if one.folder not in REFUSED}
ALONE = {one.folder: one for one in make_models.FAMILIES if one.folder in REFUSED}


@dataclasses.dataclass
class Result:
    """What was found of a family."""

    errors: dict = dataclasses.field(default_factory=dict)  # nrmse by case
    half: dict = dataclasses.field(default_factory=dict)  # bfloat16: of ours over that of eager
    same: dict = dataclasses.field(default_factory=dict)  # whether generate gives the same tokens
    calls: int = 0  # of our kernels
    fallbacks: dict = dataclasses.field(default_factory=dict)
    lost: dict = dataclasses.field(default_factory=dict)  # what the model itself cannot do


def configuration(family):
    published = {**copy.deepcopy(family.published), **_ROOM.get(family.folder, {})}
    return CONFIG_MAPPING[family.model_type].from_dict(published)


def make(family, implementation):
    """In float32, without weights that are worth anything."""
    auto = getattr(transformers, family.auto)
    return auto.from_config(
        configuration(family),
        attn_implementation=implementation,
        experts_implementation="eager",  # the others know no float64
    ).eval()


@contextlib.contextmanager
def exact_masks():
    """The mask that transformers adds to scores in float64 leaves no room for the scores."""

    def mask(*sizes, **options):
        made = masking_utils.eager_mask(*sizes, **options)
        return made.clamp(min=-1e30) if made is not None and made.dtype == torch.float64 else made

    known = transformers.AttentionMaskInterface._global_mapping
    before = known["eager"]
    known["eager"] = mask
    try:
        yield
    finally:
        known["eager"] = before


@contextlib.contextmanager
def counted(result, whole=False):
    """Counts the calls of our kernels, or of our layers."""
    place, name = (_whole_layer.WholeLayer, "_run") if whole else (_transformers, "attend")
    real = getattr(place, name)

    def count(*arguments):
        result.calls += 1
        return real(*arguments)

    setattr(place, name, count)
    try:
        yield
    finally:
        setattr(place, name, real)


def nrmse(got, want):
    return float(((got.double() - want) ** 2).mean().sqrt() / (want**2).mean().sqrt())


class Models:
    """A family's model, by its own functions in float64 and float32, and by us."""

    def __init__(self, family, whole=False):
        torch.manual_seed(34)
        self.family = family
        own = family.implementation if family.folder in ALONE else "eager"
        self.exact = make(family, own).double()
        make_models.draw(self.exact, family.gain)
        state = self.exact.state_dict()
        ours = own if whole else register_transformers()
        self.eager, self.ours = (make(family, own), make(family, ours))
        for model in (self.eager, self.ours):
            model.load_state_dict(state)
        self.config = self.exact.config

    @property
    def decoder(self):
        return self.family.auto == "AutoModelForCausalLM"

    @property
    def generates(self):
        return self.decoder or self.config.is_encoder_decoder

    def tokens(self, count=TOKENS):
        return torch.randint(3, 90, (BATCH, count), generator=torch.Generator().manual_seed(5))

    def padded(self, side, count=TOKENS):
        """Tokens and a mask, of which all sequences but the first have padding."""
        tokens, mask = self.tokens(count), torch.ones(BATCH, count, dtype=torch.long)
        for i, padding in enumerate((0, 3, 7, 1)):
            places = slice(0, padding) if side == "left" else slice(count - padding, count)
            mask[i, places] = 0
        pad = self.config.pad_token_id or 0
        return torch.where(mask.bool(), tokens, pad), mask

    def cases(self):
        """By name: arguments of a call, and which rows are anybody's answer."""
        kind = self.config.model_type
        if kind == "vit":
            return {"whole": (self._pictures(), None)}
        if kind == "whisper":
            return {"whole": ({**self._sound(), "decoder_input_ids": self.tokens()}, None)}
        cases = {}
        for side in ("none", "left", "right"):
            tokens, mask = (self.tokens(), None) if side == "none" else self.padded(side)
            given = {"input_ids": tokens, "attention_mask": mask}
            shown = None if mask is None else mask.bool()
            if self.config.is_encoder_decoder:
                given["decoder_input_ids"], shown = self.tokens(13), None
            name = "whole" if side == "none" else f"padded {side}"
            cases[name] = (given, shown)
        return cases

    def _pictures(self):
        size = self.config.image_size
        numbers = torch.Generator().manual_seed(6)
        return {"pixel_values": torch.randn(BATCH, 3, size, size, generator=numbers)}

    def _sound(self):
        sizes = (BATCH, self.config.num_mel_bins, 2 * self.config.max_source_positions)
        numbers = torch.Generator().manual_seed(6)
        return {"input_features": torch.randn(sizes, generator=numbers)}

    def source(self, padding):
        """What ``generate`` starts from."""
        if self.config.model_type == "whisper":
            return self._sound()
        if not padding:
            return {"input_ids": self.tokens()[:1]}
        tokens, mask = self.padded("left")
        return {"input_ids": tokens, "attention_mask": mask}


def _as(dtype, given):
    return {
        name: value.to(dtype) if value is not None and value.is_floating_point() else value
        for name, value in given.items()
    }


def _logits(model, given):
    return model(**_as(model.dtype, given)).logits


def _error(got, want, shown):
    return nrmse(got, want) if shown is None else nrmse(got[shown], want[shown])


def _parts(model, cache, first=11):
    """Logits of tokens of a left-padded batch that come in two parts, after a cache."""
    tokens, mask = Models.padded(model.models, "left")
    if cache == "static":
        kept = transformers.StaticCache(config=model.config, max_cache_len=32)
    else:
        kept = transformers.DynamicCache(config=model.config)
    known = inspect.signature(model.forward).parameters
    name = "cache" if "cache" in known else "past_key_values"
    logits = []
    for begin, end in ((0, first), (first, TOKENS - 1), (TOKENS - 1, TOKENS)):
        given = {name: kept, "attention_mask": mask[:, :end], "use_cache": True}
        logits.append(model(input_ids=tokens[:, begin:end], **given).logits)
    return torch.cat(logits, 1), mask.bool()


def _generate(model, source, new=NEW, **more):
    more = {"max_new_tokens": new, "min_new_tokens": new, "do_sample": False, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", FallbackWarning)
        return model.generate(**source, **more)


def _measure_logits(models, result):
    for name, (given, shown) in models.cases().items():
        want = _logits(models.exact, given)
        result.errors[name] = _error(_logits(models.ours, given), want, shown)


def _measure_caches(models, result):
    if not models.decoder:
        return
    for model in (models.exact, models.ours):
        object.__setattr__(model, "models", models)
    for cache in ("dynamic", "static"):
        try:
            want, shown = _parts(models.exact, cache)
            got = _parts(models.ours, cache)[0]
        except (RuntimeError, ValueError, NotImplementedError, AttributeError, IndexError) as error:
            result.lost[f"{cache} cache"] = str(error)
            continue
        result.errors[f"parts, {cache} cache"] = _error(got, want, shown)


def _measure_generate(models, result):
    if not models.generates:
        return
    batch = "a batch" if models.config.model_type == "whisper" else "a left-padded batch"
    for name, padding, new, more in (
        ("one sequence", False, NEW, {}),
        (batch, True, NEW, {}),
        (f"{batch}, static cache", True, NEW, {"cache_implementation": "static"}),
    ):
        source = models.source(padding)
        try:
            want = _generate(models.eager, source, new, **more)
        except (RuntimeError, ValueError, NotImplementedError, AttributeError) as error:
            result.lost[name] = str(error)
            continue
        got = _generate(models.ours, source, new, **more)
        result.same[name] = got.shape[1] >= new and bool(torch.equal(got, want))


def _measure_half(models, result):
    """bfloat16: the model's own products are of it, so both are as far away."""
    for name, (given, shown) in models.cases().items():
        want = _logits(models.exact, given)
        ours, eager = (
            _error(_logits(one, given), want, shown) for one in (models.ours, models.eager)
        )
        result.half[name] = ours / eager


def measure_whole(family):
    """As ``measure``, with whole layers of ours."""
    result = Result()
    _packed._said.clear()
    with torch.inference_mode(), exact_masks(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        models = Models(family, whole=True)
        fallbacks(reset=True)
        with counted(result, whole=True):
            # Few rows, so that prompts come in pieces.
            with accelerate(models.ours, rows=16):
                for part in (_measure_logits, _measure_caches, _measure_generate):
                    part(models, result)
            models.ours, models.eager = models.ours.bfloat16(), models.eager.bfloat16()
            with accelerate(models.ours):
                _measure_half(models, result)
        result.fallbacks = fallbacks(reset=True)
    return result


def measure(family):
    """Of one family, all that it has; a call that is not ours is counted in ``fallbacks``."""
    result = Result()
    _packed._said.clear()
    with torch.inference_mode(), exact_masks(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        models = Models(family)
        fallbacks(reset=True)
        with counted(result):
            for part in (_measure_logits, _measure_caches, _measure_generate):
                part(models, result)
            models.ours, models.eager = models.ours.bfloat16(), models.eager.bfloat16()
            _measure_half(models, result)
        result.fallbacks = fallbacks(reset=True)
    return result

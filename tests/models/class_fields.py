#!/usr/bin/env python3
"""Writes src/library/weights/layer/config/class_fields.cpp, or holds it against transformers.

    pip install transformers==5.24.* && class_fields.py [--check]

For each family that src/library/weights/layer/families.cpp names: the fields of its configuration's
class that say something of attention, with what they are where a file leaves them out. A base of
rotary positions, and the part of a head that turns, stand there under the names that published
files give them.
"""

import dataclasses
import json
import pathlib
import re
import sys

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

ROOT = pathlib.Path(__file__).parents[2]
LAYER = ROOT / "src/library/weights/layer"
TABLE = LAYER / "config/class_fields.cpp"
# Classes that read what these files say of their decoders.
SAME_AS = {"kimi_k2": "deepseek_v3", "qwen2_vl": "qwen2_vl_text", "qwen2_5_vl": "qwen2_5_vl_text"}
FIELDS = """
    attention_bias attention_chunk_size attention_multiplier attn_logit_softcapping attn_scale
    attn_temperature_tuning bias clip_qkv d_kv d_model decoder_attention_heads dim enable_bias
    encoder_attention_heads floor_scale head_dim hidden_size key_multiplier kv_lora_rank layer_types
    local_attention max_position_embeddings max_window_layers multi_query n_embd n_head n_heads
    new_decoder_architecture no_rope_layer_interval no_rope_layers num_attention_heads num_heads
    num_key_value_heads num_kv_heads original_max_position_embeddings q_lora_rank qk_nope_head_dim
    qk_rope_head_dim qkv_bias query_pre_attn_scalar relative_attention_max_distance
    relative_attention_num_buckets rms_norm_eps rope_interleave rope_parameters sliding_window
    sliding_window_pattern use_bias use_bidirectional_attention use_qk_norm use_qkv_bias
    use_sliding_window v_head_dim
""".split()
# What classes take by other names than their own, and what that is where a file leaves it out.
BY_NAME = {
    "cohere2": {"sliding_window_pattern": 4},
    "gemma3_text": {"sliding_window_pattern": 6},
    "modernbert": {"global_attn_every_n_layers": 3},
}


def families():
    text = (LAYER / "families.cpp").read_text()
    return re.findall(r'\.name = "([^"]+)"', text)


def code_of(config):
    module = sys.modules[type(config).__module__]
    path = pathlib.Path(module.__file__)
    return path.with_name(path.name.replace("configuration_", "modeling_")).read_text()


def bases(config):
    """The bases of rotary positions, as published files spell them."""
    rope = getattr(config, "rope_parameters", None)
    if not rope:
        return {}
    if "full_attention" not in rope:
        found = {"rope_theta": rope["rope_theta"]}
        turns_a_part = "partial_rotary_factor" in code_of(config)
        part = rope.get("partial_rotary_factor", 1)
        return found | ({"partial_rotary_factor": part} if turns_a_part else {})
    full, local = (rope[f"{kind}_attention"]["rope_theta"] for kind in ("full", "sliding"))
    if config.model_type == "modernbert":
        return {"global_rope_theta": full, "local_rope_theta": local}
    return {"rope_theta": full} | ({"rope_local_base_freq": local} if local != full else {})


def fields_of(family):
    read_by = CONFIG_MAPPING[SAME_AS.get(family, family)]
    found = {f.name: f.default for f in dataclasses.fields(read_by) if f.name in FIELDS}
    config = read_by()
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type", "default") != "default":
        found["rope_parameters"] = rope
    return dict(sorted({**found, **BY_NAME.get(family, {}), **bases(config)}.items()))


def known_to_transformers():
    return [f for f in families() if SAME_AS.get(f, f) in CONFIG_MAPPING]


def table():
    lines = [f'  "{name}": {json.dumps(fields_of(name))}' for name in known_to_transformers()]
    return (
        "// Written by tests/models/class_fields.py from transformers 5.24; not by hand.\n"
        '#include "weights/layer/config/class_fields.hpp"\n\n'
        "#include <nlohmann/json.hpp>\n#include <string>\n\n"
        "namespace headroom::weights {\nnamespace {\n\n"
        "// clang-format off\n"
        'constexpr std::string_view kTable = R"({\n' + ",\n".join(lines) + '\n})";\n'
        "// clang-format on\n\n"
        "}  // namespace\n\n"
        "const nlohmann::json* find_class_fields(std::string_view family) {\n"
        "  static const nlohmann::json table = nlohmann::json::parse(kTable);\n"
        "  const auto found = table.find(family);\n"
        "  return found == table.end() ? nullptr : &*found;\n"
        "}\n\n"
        "}  // namespace headroom::weights\n"
    )


def main(arguments):
    if arguments == ["--check"]:
        if TABLE.read_text() != table():
            sys.exit(f"{TABLE.relative_to(ROOT)} is not what transformers says; run {sys.argv[0]}")
        return
    TABLE.write_text(table())
    left = [f for f in families() if f not in known_to_transformers()]
    print(len(known_to_transformers()), "families; without a class:", *left)


if __name__ == "__main__":
    main(sys.argv[1:])

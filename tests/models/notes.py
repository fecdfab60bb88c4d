"""What is to be known of each family beyond its features: order of steps, formulas, surprises.

Paragraphs become the list `notes` in models.json.
"""

NOTES = {
    "llama3": """
q, k, v without bias, no norms. Rotation of the whole head in halves: value i pairs with i +
head_dim/2; (a, b) becomes (a cos - b sin, b cos + a sin).

rope llama3: f_i = base^(-2i/rotary_dim), wavelength w_i = 2 pi / f_i, L =
original_max_position_embeddings. w > L/low_freq_factor: f/factor. w < L/high_freq_factor: f as it
is. Between: s = (L/w - low) / (high - low), f (1-s)/factor + f s. No factor on cos and sin.
Applies at every length, also below L.

Scale head_dim^-0.5. head_dim is its own field (default hidden_size / heads).
""",
    "qwen3": """
RMS norm of every head of q and of k (one weight of head_dim for all heads, eps = rms_norm_eps)
after the projection, before rotation: x / sqrt(mean(x^2) + eps) * w. v has none.

head_dim is its own field: heads * head_dim is not the width (here 64 and 32).
""",
    "gemma2": """
scale = query_pre_attn_scalar^-0.5, not head_dim^-0.5.

Cap: c tanh(scale q k / c) on the scaled scores, before the mask and before the softmax's maximum.
final_logit_softcapping is for the vocabulary's logits, not for attention.

Layers alternate; layer 0 has the window (layer_types; older files have none: even layers have
it). Window W: key j is seen by row i if i - W < j <= i, so W keys with the row's own.

No norms of q and k. The norm in front of the layer has weight 1 + w.
""",
    "gemma3": """
Norm of q and k by head before rotation, weight 1 + w: x / sqrt(mean(x^2) + eps) * (1 + w).

Two sets of rotary frequencies: sliding layers have rope_local_base_freq (default 10,000) and
never a scaling; full layers have rope_theta (default 1,000,000) and rope_scaling. linear: f /
factor. New files say the same in rope_parameters, by kind of layer.

Every sliding_window_pattern-th layer is full (default 6: layers 5, 11, ...); layer_types goes
before. Window W: i - W < j <= i.

scale = query_pre_attn_scalar^-0.5. No cap (the field exists and is null).

Checkpoints with a vision tower nest this in text_config and prefix the tensors with
language_model. (or model.language_model.).
""",
    "gpt_oss": """
Sinks: one learned logit a head, not scaled, not capped, seen by every row: weights are exp(s - m)
/ (sum_j exp(s_j - m) + exp(sink - m)), m the maximum with the sink. It has no value. Present in
sliding and full layers.

rope yarn: d = rotary_dim, L = original_max_position_embeddings, dim(r) = d ln(L / (2 pi r)) / (2
ln base); low = dim(beta_fast), high = dim(beta_slow); with truncate (the default, false in
gpt-oss) floor(low), ceil(high); low at least 0, high at most d - 1 (if equal, high += 0.001).
ramp_i = clamp((i - low) / (high - low), 0, 1), i = 0 .. d/2 - 1. inv_freq_i = f_i / factor *
ramp_i + f_i (1 - ramp_i), f_i = base^(-2i/d).

attention_factor, if not given: with mscale and mscale_all_dim both given and not 0, m(mscale) /
m(mscale_all_dim), else m(1); m(a) = 0.1 a ln(factor) + 1, or 1 if factor <= 1. It multiplies cos
and sin, so q and k each, and scores by its square (of the rotated part).

Halves are rotated (the code has one cos for both). Biases on q, k, v and o. Window as Gemma 2's;
layers alternate, layer 0 has it.
""",
    "mistral": """
All layers have the window where sliding_window is a number (v0.1: 4096); null (v0.2 and later) is
none. Window W: i - W < j <= i. No biases ever: there is no attention_bias field.

head_dim may differ from hidden_size / heads (Nemo: 128 and 160).
""",
    "olmo2": """
RMS norm over the whole width of q (heads * head_dim) and of k (kv_heads * head_dim) after the
projection, before the split into heads and before rotation; weights of those widths.

The layer has no norm in front: the layer's input is x itself, and post_attention_layernorm stands
between the output projection and the residual.
""",
    "granite": """
scale = attention_multiplier itself, not a root of it (published: 1 / head_dim, 0.015625 at 64).
residual_multiplier scales the layer's output outside of attention, and is not in `expected`.
""",
    "phi4": """
qkv_proj has rows q (all heads), k, v. No biases.

The first int(head_dim * partial_rotary_factor) values of a head are rotated in halves among
themselves (value i with i + rotary_dim/2); the rest passes. Frequencies go by rotary_dim:
base^(-2i/rotary_dim).

rope longrope: inv_freq_i = 1 / (ext_i base^(2i/rotary_dim)), ext = long_factor if the largest
position + 1 is above original_max_position_embeddings, else short_factor: one choice for all
positions of a call, also for keys that a cache has already (they are not rotated again). Kinds
short and long are the two.

attention_factor on cos and sin, both for short and long: given, or sqrt(1 + ln(factor) /
ln(original_max_position_embeddings)) with factor = max_position_embeddings /
original_max_position_embeddings where rope_parameters has no factor; 1 if factor <= 1.

Published files have original_max_position_embeddings beside rope_scaling, not in it. Types 'su'
and 'yarn' mean longrope in phi3's files.
""",
    "glm4_moe": """
q, k and v have biases where attention_bias says so, the output projection never.

use_qk_norm (true in GLM-4.5, false in GLM-4.5-Air): RMS norm by head before rotation, weight w,
eps = rms_norm_eps.

Rotated is the first half of a head (partial_rotary_factor 0.5, the default of this class), in
halves of that half. Unlike GLM-4 (class Glm4), which rotates neighbours.

head_dim is its own field (128 at 96 heads of a width of 5120).
""",
    "llama4": """
Two kinds of layers. no_rope_layers[i] (sic) is 1 where layer i has rotation, 0 where it has none;
by default every fourth has none. Layers with rotation see chunks, layers without see everything.

Rotation of neighbours (complex numbers): value 2i pairs with 2i + 1. Then, with use_qk_norm, q
and k of every head through an RMS norm without weight, eps = rms_norm_eps (called L2 norm, but it
divides by the root of the MEAN square). The order is rotation, norm; with no factor on cos and
sin and the whole head rotated it gives the same either way. v has none; layers without rotation
have none.

Chunk C: key j is seen by row i if j <= i and j // C == i // C (integer division of positions from
0). With left padding of p tokens: (j - p) // C == (i - p) // C. It is not a window: a chunk's
first row sees itself alone. layer_types says chunked_attention; attention_chunk_size null is no
chunks.

Temperature, only in layers without rotation and with attn_temperature_tuning: q of position p
(from 0, after the cache's tokens) is multiplied by ln(1 + floor((p + 1) / floor_scale)) *
attn_scale + 1, for all heads. Published: floor_scale 8192, attn_scale 0.1. It counts columns,
left padding included.

rope llama3 with low_freq_factor = high_freq_factor = 1 (as Scout has it): the middle is empty,
and its formula divides by zero; the code computes it and does not select it. Maverick: no
scaling, no qk norm.

The tensors of published checkpoints have the prefix language_model., the configuration is
text_config.
""",
    "qwen3_next": """
Layers with layer_types full_attention only (every fourth, index 3, 7, ...); the others are linear
(gated delta rule) and no attention.

q_proj has twice the rows: of each head first head_dim rows of q, then head_dim rows of its gate.
The context of a head, before the output projection, is multiplied by sigmoid(gate), element by
element. The gate has no norm and no rotation.

Norm of q and k by head before rotation, weight 1 + w ("zero centred"), eps = rms_norm_eps.
Rotated are the first head_dim * partial_rotary_factor values of a head (0.25 by default), in
halves.
""",
    "deepseek_v3": """
q: q_b(norm(q_a x)); k and v: c, r = kv_a x (kv_lora_rank and qk_rope_head_dim values); n =
norm(c); kv_b n gives of each head qk_nope_head_dim values of k and v_head_dim of v. A head's key
is its own part, then the rotated r, which all heads share. A head's query is nope, then rope
part; only the last qk_rope_head_dim values of both are rotated. A cache keeps n (after the norm)
and r (rotated).

The two latent norms have eps 1e-6 whatever rms_norm_eps says: the class passes none (here
rms_norm_eps is 0.01 to show it). They have weight w; r has no norm.

Rotation of neighbours (rope_interleave, default true). The code writes the result as halves,
first elements then second ones, in q and k alike, so scores are the same as with neighbours left
in place; only a cache of r shows it.

scale = (nope + rope)^-0.5, times m^2 with m = 0.1 mscale_all_dim ln(factor) + 1 where
rope_parameters is of another type than default and mscale_all_dim is not 0. Apart from this, cos
and sin have yarn's attention_factor = m(mscale) / m(mscale_all_dim): 1 in V3, where both are 1.
yarn as in gpt-oss's notes, with rotary_dim = qk_rope_head_dim and truncate true.

Values are narrower than keys (12 and 16 here, 128 and 192 in V3); o_proj has heads * v_head_dim
columns. attention_bias (false in V3) would give biases to q_a, kv_a and o, never to q_b and kv_b.
""",
    "deepseek_plain": """
The same without q_lora_rank (null, as V2-Lite and others): q_proj alone. No scaling of rotation,
so scale is (nope + rope)^-0.5.
""",
    "deepseek_v2": """
As V3, with three differences of code and file. There is no rope_interleave: neighbours are always
rotated (as complex numbers, left in place). mscale and mscale_all_dim are 0.707 both in published
files, so attention_factor is 1 and only scale grows. V2-Lite has q_lora_rank null, V2 has 1536.
Files that this version writes have head_dim too, which is qk_rope_head_dim and not a head's width.
""",
    "modernbert": """
Wqkv has rows q, k, v (all heads of each); not causal; halves rotated.

Layers with index % global_attn_every_n_layers = 0 see everything (first one included), the others
a window on both sides: |i - j| <= local_attention // 2, so local_attention + 1 keys (128: 64 on
each side). The attention function of the hook is given sliding_window = local_attention // 2 + 1:
one more than the distance.

Frequencies by kind: full layers global_rope_theta (160,000), sliding layers local_rope_theta
(10,000); new files say it in rope_parameters by kind. Layer 0 has no norm in front (Identity).
""",
    "t5": """
No scale at all (1.0). Bias by position added to the scores: table[bucket(j - i)][head], one table
for the encoder and one for the decoder, both in block 0 and used by all blocks of that stack;
cross attention has none. mT5 has the same, UMT5 a table in every block.

bucket, with n = relative_attention_num_buckets, M = relative_attention_max_distance, d = j - i:
encoder: n /= 2, start = n if d > 0 else 0, d = |d|; decoder: start = 0, d = max(i - j, 0). e = n
/ 2. d < e: start + d. Else start + min(n - 1, e + trunc(ln(d / e) / ln(M / e) * (n - e))). The
published models compute the logarithm in float32; for (32, 128) and four other pairs it was
compared with float64 up to a distance of 300: no difference.

inner width is heads * d_kv, not always d_model (T5 11B: 128 heads of 128, width 1024). No biases.
The decoder's own attention is causal.
""",
    "bert": """
`expected` is the output of attention.output.dense, before the residual and the LayerNorm, which
stand behind it (post norm). Biases everywhere. Old checkpoints have no prefix bert., or gamma and
beta in the norms.
""",
    "roberta": """
As BERT; positions count from pad_token_id + 1 in the embeddings, which attention does not see.
""",
    "vit": """
Files keep the old names (attention.attention.query, attention.output.dense); in the running model
of this version the module has q_proj, k_proj, v_proj, o_proj. qkv_bias is for q, k, v; the output
projection always has a bias. 17 tokens: class token and 16 patches.
""",
    "whisper": """
k_proj has no bias, q, v and out_proj have. The scale head_dim^-0.5 is applied to q after the
bias, in the projection; the attention function is called with scaling 1.0. The same numbers, but
a hook must take the scaling that it is given.

Encoder: not causal, always max_source_positions tokens. Cross attention: k and v of the encoder's
output, nothing causal.
""",
    "falcon": """
Falcon 7B: query_key_value has rows q (all heads), one k, one v. Halves rotated. No biases (bias:
false).

No attention function of the registry is called (eager and sdpa are written out in the class), and
any other attn_implementation ends in a KeyError when the model is made.
""",
    "falcon_new": """
Falcon 40B and 180B (new_decoder_architecture): for each of num_kv_heads groups the rows q of its
heads, k, v. multi_query is ignored then.
""",
    "falcon_rw": """
Falcon-RW: multi_query false, rows of each head q, k, v one after the other (as BLOOM), biases,
ALiBi and no rotation.

ALiBi is added before the scale: (q k + slope * j) / sqrt(head_dim); the slopes given here have
the factor in them. j is the key's position; relative to the row's it differs by a constant in a
row.

`expected` is what sdpa computes. EAGER OF THIS VERSION ADDS ALIBI TWICE: FalconModel.forward puts
alibi / sqrt(head_dim) into the mask (meant for sdpa) and the eager branch adds alibi again; here
that differs by 0.11. With 32 or 64 heads (all published ones) the slopes and their products with
j are rounded to bfloat16, so beyond j = 256 the bias is a staircase (more than 1 off in a score
at 2048): equal tokens need that table, not the formula. With 4 heads all products are exact.
""",
    "bloom": """
Rows of each head q, k, v one after the other; biases. Scores: scale * q k + slope * j, not scaled
again. j counts unmasked tokens only.

Slopes: P the largest power of two <= heads, slope_h = 2^(-8 (h + 1) / P) for h < P; the remaining
heads take every second slope of 2 P heads: 2^(-8 (2 i + 1) / (2 P)), i = 0, 1, ... Here 6 heads.

The module adds the residual to its output; it was zero here.

No attention function of the registry is called; the class is eager whatever attn_implementation
says, and masks as the mask function of that name says. One that returns None (sdpa_mask does, for a
prompt without padding) leaves it without any mask: not causal, and no error.
""",
    "mpt": """
Wqkv has rows q, k, v (all heads of each); no biases. clip_qkv clamps all of q, k, v to [-c, c]
before anything else. scale = softmax_scale, or 1 / sqrt(head_dim) where it is null.

ALiBi after the scale: slope * (j - last key), a constant less than slope * j. Slopes as BLOOM's
for every number of heads, though built otherwise. This version ignores alibi_bias_max (always 8),
alibi false, qk_ln and prefix_lm: refuse files that set them.

No attention function of the registry is called (as BLOOM); a mask function that returns None ends
in an AttributeError.
""",
}


def notes_of(folder):
    return [" ".join(text.split()) for text in NOTES[folder].split("\n\n")]

#!/usr/bin/env python3
"""Makes the golden files of the model families: tiny random models and the logits that transformers computes for them.

Run with torch 2.11.0 and transformers 4.57 (CPU, two threads); every case is a folder beside this file:
  config.json          as transformers writes it (InternLM2 and 3, Gemma 3 with its vision half: as their repositories do); not
                       in other layouts (layouts.py)
  model.safetensors    (or pytorch_model.bin and others, as the case says) weights, drawn with a fixed seed and rounded to bfloat16, which halves the files and loses nothing
  golden.safetensors   `tokens.N` and `logits.N` (fp32 run) of each sequence; for some cases also
                       `logits.N.bfloat16` and `logits.N.float16`, of runs in those dtypes
Nothing but the goldens is needed to run the tests. `make_goldens.py NAME...` makes only these cases.
"""

import copy
import json
import math
import shutil
import sys
from pathlib import Path

import layouts
import torch
import transformers
from safetensors.torch import save_file

HERE = Path(__file__).parent
VOCABULARY = 61
LLAMA = dict(
    vocab_size=VOCABULARY, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, pad_token_id=0,
)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)
LONGROPE = dict(type="longrope", short_factor=[1.0, 1.1], long_factor=[1.5, 3.0])
MOE = dict(moe_intermediate_size=24, num_experts=6, num_experts_per_tok=3, decoder_sparse_step=1, mlp_only_layers=[])
GPT2 = dict(vocab_size=VOCABULARY, n_positions=48, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
NEOX = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
OPT = dict(vocab_size=VOCABULARY, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4,
           max_position_embeddings=48, word_embed_proj_dim=32, bos_token_id=1, eos_token_id=2, pad_token_id=0)
GEMMA3 = LLAMA | dict(head_dim=12, num_hidden_layers=3, sliding_window=8, query_pre_attn_scalar=10, rope_theta=100000.0,
                      rope_local_base_freq=1000.0, sliding_window_pattern=3)
# Heads of 8 + 4 entries for keys, of 10 for values.
LATENT = LLAMA | dict(num_key_value_heads=4, kv_lora_rank=14, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=10,
                      moe_intermediate_size=20, n_routed_experts=6, num_experts_per_tok=3, n_shared_experts=2, first_k_dense_replace=1)
SHORT = (1, 5, 33)

# name: (class of transformers, changes to its configuration, lengths of the sequences, extra)
CASES = {
    "llama": ("Llama", LLAMA, SHORT, dict(dtypes=True)),
    "llama-mqa": ("Llama", LLAMA | dict(num_attention_heads=8, num_key_value_heads=1), SHORT, {}),
    "llama-head-dim-tied": ("Llama", LLAMA | dict(head_dim=6, tie_word_embeddings=True), SHORT, {}),
    "llama-biases": ("Llama", LLAMA | dict(attention_bias=True, mlp_bias=True, num_key_value_heads=4), SHORT, {}),
    "llama-linear": ("Llama", LLAMA | dict(rope_scaling=dict(rope_type="linear", factor=2.0)), (40, 80), {}),
    "llama-dynamic": ("Llama", LLAMA | dict(max_position_embeddings=24, rope_scaling=dict(rope_type="dynamic", factor=2.0)),
                      (20, 24, 25, 60), dict(decode=False)),
    "llama-llama3": ("Llama", LLAMA | dict(head_dim=16, rope_theta=500000.0, rope_scaling=LLAMA3), (40, 80), {}),
    "llama-yarn": ("Llama", LLAMA | dict(head_dim=16, rope_scaling=YARN), (12, 60), {}),
    "llama-yarn-mscale": ("Llama", LLAMA | dict(head_dim=16, rope_scaling=YARN | dict(
        mscale=0.8, mscale_all_dim=0.5, beta_fast=16, beta_slow=2, truncate=False)), (60,), {}),
    "mistral": ("Mistral", LLAMA | dict(sliding_window=12, head_dim=12), (1, 11, 12, 13, 60), dict(dtypes=True)),
    "mistral-no-window": ("Mistral", LLAMA | dict(sliding_window=None), SHORT, {}),
    "qwen2": ("Qwen2", LLAMA, SHORT, dict(dtypes=True)),
    "qwen2-tied-window": ("Qwen2", LLAMA | dict(tie_word_embeddings=True, use_sliding_window=True, sliding_window=9,
                                                max_window_layers=1), (33,), {}),
    "qwen3": ("Qwen3", LLAMA | dict(head_dim=12), SHORT, dict(dtypes=True)),
    "qwen3-tied-biases": ("Qwen3", LLAMA | dict(head_dim=8, tie_word_embeddings=True, attention_bias=True,
                                                num_attention_heads=8, num_key_value_heads=1), SHORT, {}),
    "internlm2": ("InternLM2", LLAMA, SHORT, dict(dtypes=True)),
    "internlm2-biases-dynamic": ("InternLM2", LLAMA | dict(attention_bias=True, num_attention_heads=8, max_position_embeddings=24,
                                 rope_scaling=dict(rope_type="dynamic", factor=2.0)), (20, 60), dict(decode=False)),
    "gemma2": ("Gemma2", LLAMA | dict(head_dim=12, sliding_window=8, query_pre_attn_scalar=10, attn_logit_softcapping=2.0,
                                      final_logit_softcapping=20.0), (1, 5, 33), dict(dtypes=True)),
    "gemma2-no-caps": ("Gemma2", LLAMA | dict(head_dim=8, sliding_window=8, query_pre_attn_scalar=8, attn_logit_softcapping=None,
                                              final_logit_softcapping=None), (33,), {}),
    "phi3": ("Phi3", LLAMA | dict(sliding_window=20), (1, 5, 33), dict(dtypes=True)),
    "phi3-longrope": ("Phi3", LLAMA | dict(num_attention_heads=8, max_position_embeddings=96,
                      original_max_position_embeddings=32, rope_scaling=LONGROPE), (32, 33, 60), {}),
    "phi3-partial": ("Phi3", LLAMA | dict(partial_rotary_factor=0.5, num_key_value_heads=4, tie_word_embeddings=True), SHORT, {}),
    "gpt2": ("GPT2", GPT2, (1, 5, 33, 48), dict(dtypes=True)),
    "gpt2-inner-untied": ("GPT2", GPT2 | dict(n_inner=40, tie_word_embeddings=False, activation_function="gelu",
                          scale_attn_by_inverse_layer_idx=True), (33,), dict(eager=True)),
    "gpt-neox": ("GPTNeoX", NEOX | dict(rotary_pct=0.25), SHORT, dict(dtypes=True)),
    "gpt-neox-serial": ("GPTNeoX", NEOX | dict(rotary_pct=1.0, use_parallel_residual=False, attention_bias=False,
                        tie_word_embeddings=True, hidden_act="gelu_new"), SHORT, {}),
    "opt": ("OPT", OPT, (1, 5, 33, 48), dict(dtypes=True)),
    "opt-projected": ("OPT", OPT | dict(word_embed_proj_dim=20, do_layer_norm_before=False), SHORT, {}),
    "opt-untied-no-biases": ("OPT", OPT | dict(enable_bias=False, tie_word_embeddings=False,
                             activation_function="gelu"), SHORT, {}),
    "mixtral": ("Mixtral", LLAMA | dict(num_local_experts=4, num_experts_per_tok=2, intermediate_size=24), SHORT, dict(dtypes=True)),
    "mixtral-window": ("Mixtral", LLAMA | dict(num_local_experts=3, num_experts_per_tok=2, intermediate_size=20, sliding_window=10), (33,), {}),
    "qwen2-moe": ("Qwen2Moe", LLAMA | MOE | dict(shared_expert_intermediate_size=28), SHORT, dict(dtypes=True)),
    "qwen2-moe-mixed": ("Qwen2Moe", LLAMA | MOE | dict(shared_expert_intermediate_size=28, mlp_only_layers=[0], norm_topk_prob=True,
                        qkv_bias=False), SHORT, {}),
    "qwen3-moe": ("Qwen3Moe", LLAMA | MOE | dict(head_dim=12, norm_topk_prob=True), SHORT, dict(dtypes=True)),
    "pickle-llama": ("Llama", LLAMA, (33,), dict(store="zip")),
    "pickle-qwen2-shards": ("Qwen2", LLAMA, (33,), dict(store="shards")),
    "pickle-old-gpt2": ("GPT2", GPT2, (33,), dict(store="old")),
    # Sizes inside as Meta's arithmetic makes them of `dim` and `multiple_of`.
    "meta-llama-2": ("Llama", LLAMA | dict(intermediate_size=88), SHORT, dict(store="meta", layout=dict(
        ranks=2, embeddings_by=layouts.BY_COLUMNS, params=dict(n_kv_heads=2, multiple_of=8, vocab_size=-1)))),
    "meta-llama-3": ("Llama", LLAMA | dict(vocab_size=64, intermediate_size=112, num_key_value_heads=4, rope_theta=500000.0,
                     rope_scaling=dict(LLAMA3, original_max_position_embeddings=8192)), SHORT, dict(store="meta", layout=dict(
        ranks=2, embeddings_by=layouts.BY_ROWS, params=dict(multiple_of=16, ffn_dim_multiplier=1.3, vocab_size=64,
                                                            rope_theta=500000.0, use_scaled_rope=True)))),
    "internlm-ranks": ("Llama", LLAMA | dict(vocab_size=64, num_key_value_heads=4, attention_bias=True), SHORT,
                       dict(store="internlm", layout=dict(ranks=2, stages=2))),
    # Phi-4-mini: a part of each head turned, by `longrope`.
    "phi4-mini": ("Phi3", LLAMA | dict(partial_rotary_factor=0.75, tie_word_embeddings=True, max_position_embeddings=96, sliding_window=200,
                  original_max_position_embeddings=32, rope_scaling=dict(
                      type="longrope", short_factor=[1.0, 1.1, 1.2], long_factor=[1.5, 3.0, 4.0])), (32, 33, 60), {}),
    "olmo2": ("Olmo2", LLAMA, SHORT, dict(dtypes=True)),
    "olmo2-biases": ("Olmo2", LLAMA | dict(attention_bias=True, num_key_value_heads=4), SHORT, {}),
    "gemma": ("Gemma", LLAMA | dict(head_dim=12, num_key_value_heads=1, hidden_act="gelu_pytorch_tanh"), SHORT, dict(dtypes=True)),
    "gemma3": ("Gemma3", GEMMA3, (1, 5, 8, 9, 33), dict(dtypes=True)),
    # As the published models with a vision half are stored; only the text is asked for.
    "gemma3-vision": ("Gemma3", GEMMA3 | dict(num_attention_heads=8, num_key_value_heads=4, head_dim=4, query_pre_attn_scalar=256,
                      rope_theta=1000000.0, rope_local_base_freq=10000.0, rope_scaling=dict(rope_type="linear", factor=8.0),
                      final_logit_softcapping=20.0), (33,),
                      dict(vision=True)),
    "glm": ("Glm", LLAMA | dict(head_dim=12, attention_bias=True), SHORT, dict(dtypes=True)),
    "glm4": ("Glm4", LLAMA | dict(head_dim=8, attention_bias=True), SHORT, dict(dtypes=True)),
    "glm4-whole-untied": ("Glm4", LLAMA | dict(head_dim=8, attention_bias=False, partial_rotary_factor=1.0), SHORT, {}),
    "internlm3": ("InternLM3", LLAMA | dict(head_dim=12, qkv_bias=True, bias=False), SHORT, dict(dtypes=True)),
    "internlm3-biases-dynamic": ("InternLM3", LLAMA | dict(head_dim=8, qkv_bias=False, bias=True, max_position_embeddings=24,
                                 rope_scaling=dict(rope_type="dynamic", factor=2.0)), (20, 60), {}),
    "deepseek-v2": ("DeepseekV2", LATENT | dict(q_lora_rank=None, rope_scaling=YARN | dict(mscale=0.7, mscale_all_dim=0.7)),
                    (1, 5, 60), dict(dtypes=True)),
    "deepseek-v2-groups": ("DeepseekV2", LATENT | dict(q_lora_rank=12, topk_method="group_limited_greedy", n_group=3, topk_group=2,
                           routed_scaling_factor=4.0, attention_bias=True), SHORT, {}),
    "deepseek-v3": ("DeepseekV3", LATENT | dict(q_lora_rank=12, n_routed_experts=8, n_group=2, topk_group=1, routed_scaling_factor=2.5,
                    rope_scaling=YARN | dict(mscale=1.0, mscale_all_dim=1.0), num_nextn_predict_layers=1), (1, 5, 60), dict(dtypes=True)),
    "deepseek-v3-direct": ("DeepseekV3", LATENT | dict(q_lora_rank=None, n_group=1, topk_group=1, norm_topk_prob=False, n_shared_experts=1,
                           rope_interleave=False, v_head_dim=12), SHORT, {}),
}


def draw(model, seed):
    """Random weights, large enough for every part to show in the logits, each a bfloat16 number."""
    generator = torch.Generator().manual_seed(seed)
    # A buffer that is learnt, by another rule than the parameters (DeepSeek-V3).
    learnt = [(name, buffer) for name, buffer in model.named_buffers() if name.endswith("e_score_correction_bias")]
    for name, parameter in [*model.named_parameters(), *learnt]:
        values = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() == 2:
            embedding = "embed" in name or "wte" in name or "wpe" in name
            values *= 1.0 if embedding else parameter.shape[-1] ** -0.5
        elif "norm" in name or "ln_" in name:
            centred = name.endswith("bias") or "Gemma" in type(model).__name__
            values = values * 0.2 + (0.0 if centred else 1.0)
        else:
            values *= 0.3
        parameter.data = values.to(torch.bfloat16).float()


def internlm2_names(model, config):
    """A Llama's tensors in InternLM2's layout: per key-value head its queries, then the key, then the value, in one matrix."""
    heads, groups = config.num_key_value_heads, config.num_attention_heads // config.num_key_value_heads
    width = config.hidden_size // config.num_attention_heads
    state = model.state_dict()
    out = {"model.tok_embeddings.weight": state["model.embed_tokens.weight"], "model.norm.weight": state["model.norm.weight"],
           "output.weight": state["lm_head.weight"]}
    renamed = {"self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3",
               "mlp.down_proj": "feed_forward.w2", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    for layer in range(config.num_hidden_layers):
        at = f"model.layers.{layer}."
        for kind in ("weight", "bias"):
            for theirs, ours in renamed.items():
                if f"{at}{theirs}.{kind}" in state:
                    out[f"{at}{ours}.{kind}"] = state[f"{at}{theirs}.{kind}"]
            if f"{at}self_attn.q_proj.{kind}" in state:
                rows = state[f"{at}self_attn.q_proj.weight"].shape[1:] if kind == "weight" else ()
                q, k, v = (state[f"{at}self_attn.{name}_proj.{kind}"] for name in "qkv")
                parts = [q.view(heads, groups, width, *rows), k.view(heads, 1, width, *rows), v.view(heads, 1, width, *rows)]
                out[f"{at}attention.wqkv.{kind}"] = torch.cat(parts, dim=1).flatten(0, 2).contiguous()
    return out


def internlm2_config(config, biases):
    keys = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
            "max_position_embeddings", "rms_norm_eps", "bos_token_id", "eos_token_id", "pad_token_id", "hidden_act",
            "rope_theta", "tie_word_embeddings")
    out = {"architectures": ["InternLM2ForCausalLM"], "model_type": "internlm2", "bias": biases}
    out |= {key: getattr(config, key) for key in keys}
    scaling = config.rope_scaling
    return out | {"rope_scaling": scaling and {"type": scaling["rope_type"], "factor": scaling["factor"]}}


def internlm3_config(config, changes):
    keys = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
            "head_dim", "max_position_embeddings", "rms_norm_eps", "bos_token_id", "eos_token_id", "pad_token_id", "hidden_act",
            "rope_theta", "rope_scaling", "tie_word_embeddings")
    out = {"architectures": ["InternLM3ForCausalLM"], "model_type": "internlm3", "bias": changes["bias"], "qkv_bias": changes["qkv_bias"]}
    return out | {key: getattr(config, key) for key in keys}


def adapt(kind, model, config, changes):
    """What a class of transformers 4.57 lacks for the model that is meant."""
    for layer in model.model.layers:
        attention = layer.self_attn
        # InternLM3's class is code of its repository: a Llama whose biases are chosen in two groups, queries, keys and values, and all
        # others.
        if kind == "InternLM3":
            unbiased = ([] if changes["qkv_bias"] else [attention.q_proj, attention.k_proj, attention.v_proj]) + (
                [] if changes["bias"] else [attention.o_proj])
            for linear in unbiased:
                linear.bias = None
        # The authors' code, vLLM, and transformers from pull request 47435 on scale DeepSeek-V2's scores by `mscale_all_dim` as
        # DeepSeek-V3's; transformers 4.57 forgets to.
        if kind == "DeepseekV2" and config.rope_scaling:
            mscale = 0.1 * config.rope_scaling["mscale_all_dim"] * math.log(config.rope_scaling["factor"]) + 1.0
            attention.scaling *= mscale * mscale


def store_beside_vision(folder, weights, config):
    """Gemma 3 as its repositories with a vision half: the text's tensors under `language_model.`, its keys under `text_config`, without
    those that have the default value, and the layers' kinds as a number."""
    weights = {f"language_model.{key}": value for key, value in weights.items()}
    for name in ("vision_tower.vision_model.embeddings.patch_embedding.weight", "multi_modal_projector.mm_soft_emb_norm.weight"):
        weights[name] = torch.ones(3, 2, dtype=torch.bfloat16)
    defaults = type(config)().to_dict()
    outer = ("architectures", "bos_token_id", "eos_token_id", "pad_token_id", "layer_types", "_sliding_window_pattern")
    text = {key: value for key, value in config.to_dict().items() if key not in outer and value != defaults.get(key)}
    keys = dict(architectures=["Gemma3ForConditionalGeneration"], model_type="gemma3", bos_token_id=1, eos_token_id=[2],
                image_token_index=60, text_config=text, vision_config=dict(hidden_size=2, model_type="siglip_vision_model"))
    (folder / "config.json").write_text(json.dumps(keys, indent=2) + "\n")
    return weights


def logits(model, tokens):
    # A fresh rotary state each time: transformers' `dynamic` remembers the longest sequence it saw.
    inner = getattr(model, "model", None)
    if getattr(inner, "rotary_emb", None) is not None:
        inner.rotary_emb = type(inner.rotary_emb)(model.config)
    # And in f32, which a conversion of the whole model would round.
    if getattr(inner, "rotary_emb_local", None) is not None:
        local = copy.deepcopy(model.config)
        local.rope_theta, local.rope_scaling = local.rope_local_base_freq, dict(rope_type="default")
        inner.rotary_emb_local = type(inner.rotary_emb_local)(local)
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits[0].float().contiguous()


def store(folder, weights, kind, config, layout=None):
    """Writes the weights as safetensors, as one of the forms that torch.save has, or in another layout."""
    if kind == "meta":
        layouts.store_meta(folder, weights, config, **layout)
    elif kind == "internlm":
        layouts.store_internlm(folder, weights, config, **layout)
    elif kind is None:
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    elif kind == "zip":
        # One tensor stored as a transposed view, and one as a part of a larger storage.
        up, norm = "model.layers.0.mlp.up_proj.weight", "model.norm.weight"
        weights[up] = weights[up].t().contiguous().t()
        weights[norm] = torch.cat([torch.full((3,), 9.0, dtype=torch.bfloat16), weights[norm]])[3:]
        torch.save(weights, folder / "pytorch_model.bin")
    elif kind == "shards":
        names = [f"pytorch_model-{number}-of-2.bin" for number in (1, 2)]
        places = {key: names["layers.1" in key] for key in weights}
        for name in names:
            part = {key: torch.nn.Parameter(weights[key].float()) for key in weights if places[key] == name}
            torch.save(part, folder / name)
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}, indent=1) + "\n")
    elif kind == "old":
        # As the first GPT-2 was stored: without the head's prefix, with causal masks, in the format before torch 1.6.
        weights = {key.removeprefix("transformer."): value.half() for key, value in weights.items()}
        for layer in (0, 1):
            weights[f"h.{layer}.attn.bias"] = torch.ones(1, 1, 8, 8).tril().byte()
        torch.save(weights, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)


def build(kind, changes, extra):
    """A model of a class as it is meant, and its configuration; its weights are not drawn."""
    family = {"InternLM2": "Llama", "InternLM3": "Llama"}.get(kind, kind)
    if kind == "InternLM3":
        biases = dict(attention_bias=changes["qkv_bias"] or changes["bias"], mlp_bias=changes["bias"])
    else:
        biases = {}
    name_of_config = "Gemma3TextConfig" if kind == "Gemma3" else family + "Config"
    config = getattr(transformers, name_of_config)(**(changes | biases))
    # transformers' sdpa path leaves out Gemma 2's and 3's soft caps and GPT-2's scaling by layer; its eager path is the formula.
    capped = getattr(config, "attn_logit_softcapping", None) is not None
    config._attn_implementation = "eager" if capped or kind == "Gemma2" or extra.get("eager") else "sdpa"
    suffix = "LMHeadModel" if kind == "GPT2" else "ForCausalLM"
    model = getattr(transformers, family + suffix)(config).eval()
    if kind in ("InternLM3", "DeepseekV2"):
        adapt(kind, model, config, changes)
    return model, config


def write(folder, kind, model, config, changes, extra, number):
    """The model's files, with its weights in the dtype `number`."""
    if kind == "InternLM2":
        weights = internlm2_names(model, config)
        text = json.dumps(internlm2_config(config, changes.get("attention_bias", False)), indent=2)
        (folder / "config.json").write_text(text + "\n")
    elif kind == "InternLM3":
        weights = model.state_dict()
        (folder / "config.json").write_text(json.dumps(internlm3_config(config, changes), indent=2) + "\n")
    else:
        weights = {name: value for name, value in model.state_dict().items() if name not in (model._tied_weights_keys or [])
                   or not config.tie_word_embeddings}
        model.config.architectures = [type(model).__name__]
        if "layout" not in extra and "vision" not in extra:
            model.config.save_pretrained(folder)
    weights = {key: value.to(number).contiguous() for key, value in weights.items()}
    if "vision" in extra:
        weights = store_beside_vision(folder, weights, config)
    # The layer that predicts a token more, which no evaluation uses.
    for layer in range(changes.get("num_nextn_predict_layers", 0)):
        weights[f"model.layers.{config.num_hidden_layers + layer}.eh_proj.weight"] = torch.ones(2, 3, dtype=torch.bfloat16)
    store(folder, weights, extra.get("store"), config, extra.get("layout"))


def make(name, seed):
    kind, changes, lengths, extra = CASES[name]
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    model, config = build(kind, changes, extra)
    draw(model, seed)
    model.tie_weights()
    generator = torch.Generator().manual_seed(seed + 1000)
    golden = {}
    sequences = [torch.randint(3, changes["vocab_size"], (length,), generator=generator).tolist() for length in lengths]
    for place, tokens in enumerate(sequences):
        golden[f"tokens.{place}"] = torch.tensor(tokens)
        golden[f"logits.{place}"] = logits(model, tokens)
    write(folder, kind, model, config, changes, extra, torch.bfloat16)
    if extra.get("dtypes"):
        place = len(sequences) - 1
        for dtype in (torch.bfloat16, torch.float16):
            key = f"logits.{place}.{str(dtype).removeprefix('torch.')}"
            golden[key] = logits(model.to(dtype), sequences[place])
    save_file(golden, folder / "golden.safetensors")
    worst = golden[f"logits.{len(sequences) - 1}"].abs().max().item()
    print(f"{name}: {len(sequences)} sequences, largest logit {worst:.2f}")


if __name__ == "__main__":
    torch.set_num_threads(2)
    transformers.logging.set_verbosity_error()
    names = sys.argv[1:] or list(CASES)
    for number, case in enumerate(CASES):
        if case in names:
            make(case, 100 + number)

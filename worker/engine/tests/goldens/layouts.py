"""A Llama's tensors in the layouts of others: what Meta distributes, and what InternLM's training code writes.

The names and the cutting are those that transformers' convert_llama_weights_to_hf.py and the InternLM repository's
convert2hf.py undo.
"""

import json

import torch

BY_ROWS, BY_COLUMNS, WHOLE = 0, 1, None


def cut(tensor, dimension, ranks, rank, blocks=1):
    """The part of a rank; a matrix of several blocks of rows is cut block by block."""
    if dimension is WHOLE:
        return tensor.clone()
    parts = [block.chunk(ranks, dim=dimension)[rank] for block in tensor.chunk(blocks, dim=0)]
    return torch.cat(parts, dim=0).contiguous().clone()


def in_pairs(weight, heads):
    """Rows of each head: the two that are rotated together side by side."""
    rows, hidden = weight.shape
    return weight.view(heads, 2, rows // heads // 2, hidden).transpose(1, 2).reshape(rows, hidden)


def store_meta(folder, state, config, ranks, params, embeddings_by):
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    tensors = {
        "tok_embeddings.weight": (state["model.embed_tokens.weight"], embeddings_by),
        "norm.weight": (state["model.norm.weight"], WHOLE),
        "output.weight": (state["lm_head.weight"], BY_ROWS),
        "rope.freqs": (torch.ones(config.hidden_size // heads // 2, dtype=torch.bfloat16), WHOLE),
    }
    for layer in range(config.num_hidden_layers):
        theirs, ours = f"model.layers.{layer}.", f"layers.{layer}."
        tensors |= {
            ours + "attention.wq.weight": (in_pairs(state[theirs + "self_attn.q_proj.weight"], heads), BY_ROWS),
            ours + "attention.wk.weight": (in_pairs(state[theirs + "self_attn.k_proj.weight"], kv_heads), BY_ROWS),
            ours + "attention.wv.weight": (state[theirs + "self_attn.v_proj.weight"], BY_ROWS),
            ours + "attention.wo.weight": (state[theirs + "self_attn.o_proj.weight"], BY_COLUMNS),
            ours + "feed_forward.w1.weight": (state[theirs + "mlp.gate_proj.weight"], BY_ROWS),
            ours + "feed_forward.w2.weight": (state[theirs + "mlp.down_proj.weight"], BY_COLUMNS),
            ours + "feed_forward.w3.weight": (state[theirs + "mlp.up_proj.weight"], BY_ROWS),
            ours + "attention_norm.weight": (state[theirs + "input_layernorm.weight"], WHOLE),
            ours + "ffn_norm.weight": (state[theirs + "post_attention_layernorm.weight"], WHOLE),
        }
    for rank in range(ranks):
        part = {name: cut(tensor, by, ranks, rank) for name, (tensor, by) in tensors.items()}
        torch.save(part, folder / f"consolidated.{rank:02}.pth")
    params = dict(dim=config.hidden_size, n_layers=config.num_hidden_layers, n_heads=heads,
                  norm_eps=config.rms_norm_eps) | params
    (folder / "params.json").write_text(json.dumps(params) + "\n")


def store_internlm(folder, state, config, ranks, stages):
    joined = lambda at, kind: torch.cat([state[f"{at}self_attn.{name}_proj.{kind}"] for name in "qkv"])
    per_stage = config.num_hidden_layers // stages
    for stage in range(stages):
        tensors = {}
        if stage == 0:
            tensors["model.embedding.weight"] = (state["model.embed_tokens.weight"], BY_COLUMNS, 1)
        if stage == stages - 1:
            tensors["model.norm.weight"] = (state["model.norm.weight"], WHOLE, 1)
            tensors["model.head.weight"] = (state["lm_head.weight"], BY_ROWS, 1)
        for number in range(per_stage):
            theirs, ours = f"model.layers.{stage * per_stage + number}.", f"model.blocks.{number}."
            tensors |= {
                ours + "mixer.rotary_emb.inv_freq": (torch.ones(2), WHOLE, 1),
                ours + "mixer.Wqkv.weight": (joined(theirs, "weight"), BY_ROWS, 3),
                ours + "mixer.Wqkv.bias": (joined(theirs, "bias"), BY_ROWS, 3),
                ours + "mixer.out_proj.weight": (state[theirs + "self_attn.o_proj.weight"], BY_COLUMNS, 1),
                ours + "mlp.w1.weight": (state[theirs + "mlp.gate_proj.weight"], BY_ROWS, 1),
                ours + "mlp.w2.weight": (state[theirs + "mlp.up_proj.weight"], BY_ROWS, 1),
                ours + "mlp.w3.weight": (state[theirs + "mlp.down_proj.weight"], BY_COLUMNS, 1),
                ours + "norm1.weight": (state[theirs + "input_layernorm.weight"], WHOLE, 1),
                ours + "norm2.weight": (state[theirs + "post_attention_layernorm.weight"], WHOLE, 1),
            }
        for rank in range(ranks):
            part = {name: cut(tensor, by, ranks, rank, blocks) for name, (tensor, by, blocks) in tensors.items()}
            if rank == 0:
                # A row-parallel layer has its bias on the first rank only.
                for number in range(per_stage):
                    theirs = f"model.layers.{stage * per_stage + number}."
                    part[f"model.blocks.{number}.mixer.out_proj.bias"] = state[theirs + "self_attn.o_proj.bias"].clone()
            torch.save(part, folder / f"model_tp{rank}_pp{stage}.pt")
    torch.save(dict(num_layers=config.num_hidden_layers, hidden_size=config.hidden_size, vocab_size=config.vocab_size,
                    num_attention_heads=config.num_attention_heads, mlp_ratio=8 / 3, dtype=torch.bfloat16,
                    layer_norm_epsilon=config.rms_norm_eps, norm_type="rmsnorm", embed_split_hidden=True,
                    use_flash_attn=False), folder / "model_config.pt")

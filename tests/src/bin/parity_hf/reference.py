"""Computes with transformers what `parity-hf` compares: random models of every family, and their logits.

Called as `reference.py FOLDER THREADS SEED [NAME...]`. Each case becomes a folder of its own under FOLDER:
  config.json, weights      the model, its weights in fp32 (or as the case stores them)
  golden.safetensors        `tokens.N`; `prompt.N`, how many of them are computed at once when decoding; and for each
                            DTYPE `prefill.N.DTYPE` and `decode.N.DTYPE`, [tokens, vocabulary] in fp32
Prints the name of each case when it is complete. The small cases are those of the committed goldens with other weights;
the larger ones below have shapes that are no multiples of vector widths, longer prompts, and windows that slide.
"""

import copy
import sys
from pathlib import Path

import make_goldens as goldens
import torch
import transformers
from safetensors.torch import save_file

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
BIG = dict(goldens.LLAMA, vocab_size=509, hidden_size=96, intermediate_size=250, num_hidden_layers=3,
           num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=1024)
LONG = (1, 17, 300)
LARGER = {
    "llama-8-to-1": ("Llama", BIG | dict(num_key_value_heads=1), LONG),
    "llama-wide-heads": ("Llama", BIG | dict(head_dim=34, num_attention_heads=5, num_key_value_heads=5,
                         tie_word_embeddings=True), LONG),
    "llama-3.1": ("Llama", BIG | dict(rope_theta=500000.0, rope_scaling=dict(goldens.LLAMA3,
                  original_max_position_embeddings=256)), LONG),
    "llama-yarn-long": ("Llama", BIG | dict(rope_scaling=dict(goldens.YARN, original_max_position_embeddings=128)), LONG),
    "mistral-window": ("Mistral", BIG | dict(sliding_window=64), (1, 63, 64, 65, 300)),
    "qwen2-biases": ("Qwen2", BIG, LONG),
    "qwen2-window-on-top": ("Qwen2", BIG | dict(use_sliding_window=True, sliding_window=50, max_window_layers=1), LONG),
    "qwen3-wide-heads": ("Qwen3", BIG | dict(head_dim=32), LONG),
    "internlm2-8-to-1": ("InternLM2", BIG | dict(num_key_value_heads=1, attention_bias=True), LONG),
    "gemma2-window": ("Gemma2", BIG | dict(head_dim=20, sliding_window=64), LONG),
    "phi3-window": ("Phi3", BIG | dict(sliding_window=100), LONG),
    "phi3-long": ("Phi3", BIG | dict(original_max_position_embeddings=256, rope_scaling=dict(
                  type="longrope", short_factor=[1.0 + i / 50 for i in range(6)],
                  long_factor=[1.5 + i / 2 for i in range(6)])), LONG),
    "gpt2-longer": ("GPT2", goldens.GPT2 | dict(vocab_size=509, n_positions=720, n_embd=84, n_layer=3, n_head=7), LONG),
    "gpt-neox-longer": ("GPTNeoX", goldens.NEOX | dict(vocab_size=509, hidden_size=96, intermediate_size=250,
                        max_position_embeddings=1024, rotary_pct=0.5), LONG),
    "opt-longer": ("OPT", goldens.OPT | dict(vocab_size=509, hidden_size=84, ffn_dim=250, num_attention_heads=7,
                   max_position_embeddings=720, word_embed_proj_dim=84), LONG),
    "mixtral-8-experts": ("Mixtral", BIG | dict(num_local_experts=8, num_experts_per_tok=2, intermediate_size=50), LONG),
    "qwen2-moe-larger": ("Qwen2Moe", BIG | goldens.MOE | dict(num_experts=10, shared_expert_intermediate_size=70), LONG),
    "qwen3-moe-larger": ("Qwen3Moe", BIG | goldens.MOE | dict(num_experts=10, head_dim=32), LONG),
}


def cases():
    for name, (kind, changes, lengths, extra) in goldens.CASES.items():
        yield name, kind, changes, lengths, extra
    for name, (kind, changes, lengths) in LARGER.items():
        yield name, kind, changes, lengths, {}


def fresh_rotation(model):
    """transformers' `dynamic` and `longrope` remember the longest sequence that they saw; and `to(dtype)` halves the
    frequencies, which loading in that dtype does not."""
    for parent in model.modules():
        for name, rotation in parent.named_children():
            if name.startswith("rotary_emb") and hasattr(rotation, "config"):
                setattr(parent, name, type(rotation)(rotation.config))


def step_by_step(model, tokens, prompt):
    """Logits of the first `prompt` tokens at once, and of each further token over the cache."""
    fresh_rotation(model)
    cache, rows, start = transformers.DynamicCache(config=model.config), [], 0
    for end in [prompt, *range(prompt + 1, len(tokens) + 1)]:
        out = model(torch.tensor([tokens[start:end]]), past_key_values=cache, use_cache=True)
        cache, start = out.past_key_values, end
        rows.append(out.logits[0].float())
    return torch.cat(rows)


def prompt_of(changes, length):
    """All but a dozen tokens, but beyond the length at which `longrope` changes its frequencies: a forward pass over a cache
    does not begin again there, as generate() does."""
    change = changes.get("original_max_position_embeddings") or 0
    return max(length - 12, 1, min(change + 1, length) if length > change else 1)


def make(folder, name, kind, changes, lengths, extra, seed):
    folder.mkdir()
    model, config = goldens.build(kind, changes, extra)
    goldens.draw(model, seed)
    stored_as = extra.get("store")
    if stored_as is None:
        # No bfloat16 numbers any more: halving the precision now rounds.
        generator = torch.Generator().manual_seed(seed + 1)
        for parameter in model.parameters():
            parameter.data += torch.randn(parameter.shape, generator=generator) * 1e-3
    model.tie_weights()
    number = torch.float32 if stored_as is None else torch.bfloat16
    goldens.write(folder, kind, model, config, changes, extra, number)
    golden = {}
    generator = torch.Generator().manual_seed(seed + 2)
    for dtype in DTYPES:
        halved = model if dtype == torch.float32 else copy.deepcopy(model).to(dtype)
        word = str(dtype).removeprefix("torch.")
        for place, length in enumerate(lengths):
            if dtype == torch.float32:
                tokens = torch.randint(3, changes["vocab_size"], (length,), generator=generator)
                golden |= {f"tokens.{place}": tokens, f"prompt.{place}": torch.tensor([prompt_of(changes, length)])}
            tokens = golden[f"tokens.{place}"].tolist()
            with torch.no_grad():
                fresh_rotation(halved)
                golden[f"prefill.{place}.{word}"] = halved(torch.tensor([tokens]), use_cache=False).logits[0].float()
                golden[f"decode.{place}.{word}"] = step_by_step(halved, tokens, golden[f"prompt.{place}"].item())
    save_file({name: value.contiguous() for name, value in golden.items()}, folder / "golden.safetensors")
    print(name, flush=True)


if __name__ == "__main__":
    to, threads, seed, *wanted = sys.argv[1:]
    torch.set_num_threads(int(threads))
    transformers.logging.set_verbosity_error()
    for number, (name, *case) in enumerate(cases()):
        if not wanted or name in wanted:
            make(Path(to) / name, name, *case, seed=int(seed) * 1000 + number)

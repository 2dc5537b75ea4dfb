"""Computes with transformers what `gpu-check` compares: for small models of random weights, and for a user's model.

Called as `python - DEVICE FAMILIES [MODEL DTYPE]`, the script on standard input. Each folder in FAMILIES has a
config.json; it gets its weights, in fp32, and golden.safetensors: `tokens`, `prefill` and `greedy` (the tokens that fp32
continues them with), and in bfloat16 `eager`, `sdpa` and `steps`, the last ones over a cache. MODEL is loaded as it is, in DTYPE; its golden goes to
FAMILIES/golden.safetensors: `tokens`, `eager`, `sdpa`. Logits are [tokens, vocabulary] in fp32. Prints one JSON object a
line: the versions, then each folder's name, with what went wrong where something did.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file

TOKENS, PROMPT, NEW = 48, 29, 16


def say(**what):
    print(json.dumps(what), flush=True)


def draw(model):
    """Weights that are large enough for every part to show in the logits."""
    generator = torch.Generator().manual_seed(20261126)
    for name, parameter in model.named_parameters():
        values = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() >= 2:
            embedding = any(word in name for word in ("embed", "wte", "wpe"))
            values *= 1.0 if embedding else parameter.shape[-1] ** -0.5
        elif "norm" in name or "ln_" in name:
            centred = name.endswith("bias") or "Gemma" in type(model).__name__
            values = values * 0.2 + (0.0 if centred else 1.0)
        else:
            values *= 0.3
        parameter.data = values
    model.tie_weights()


def tokens_of(vocabulary):
    return [(at * 37 + at * at * 11 + 5) % vocabulary for at in range(TOKENS)]


def logits(model, tokens, attention):
    model.set_attn_implementation(attention)
    ids = torch.tensor([tokens], device=model.device)
    return model(ids, use_cache=False).logits[0].float().cpu().contiguous()


def stepwise(model, tokens):
    """Logits of the first PROMPT tokens at once, and of each further one over the cache."""
    model.set_attn_implementation("eager")
    cache, rows, start = transformers.DynamicCache(config=model.config), [], 0
    for end in [PROMPT, *range(PROMPT + 1, len(tokens) + 1)]:
        ids = torch.tensor([tokens[start:end]], device=model.device)
        out = model(ids, past_key_values=cache, use_cache=True)
        cache, start = out.past_key_values, end
        rows.append(out.logits[0].float().cpu())
    return torch.cat(rows).contiguous()


def greedy(model, tokens):
    made = list(tokens)
    for _ in range(NEW):
        made.append(int(logits(model, made, "eager")[-1].argmax()))
    return made[len(tokens):]


def family(folder, device):
    config = transformers.AutoConfig.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval().float()
    draw(model)
    saved = folder / "saved"
    model.save_pretrained(saved)
    for weights in saved.glob("*.safetensors"):
        weights.rename(folder / weights.name)
    model = model.to(device)
    tokens = tokens_of(config.vocab_size)
    golden = {"tokens": torch.tensor(tokens), "prefill": logits(model, tokens, "eager"),
              "greedy": torch.tensor(greedy(model, tokens))}
    # Loaded, not converted: converting halves the precision of the frequencies too.
    halved = transformers.AutoModelForCausalLM.from_pretrained(saved_again(folder, saved), dtype=torch.bfloat16)
    halved = halved.eval().to(device)
    for attention in ("eager", "sdpa"):
        golden[attention] = logits(halved, tokens, attention)
    golden["steps"] = stepwise(halved, tokens)
    save_file(golden, folder / "golden.safetensors")


def saved_again(folder, saved):
    """The folder as transformers wrote it."""
    for weights in folder.glob("*.safetensors"):
        (saved / weights.name).symlink_to(weights)
    return saved


def own(model, dtype, device, to):
    loaded = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, dtype)).eval().to(device)
    tokens = tokens_of(loaded.config.vocab_size)
    golden = {"tokens": torch.tensor(tokens)}
    for attention in ("eager", "sdpa"):
        golden[attention] = logits(loaded, tokens, attention)
    save_file(golden, to / "golden.safetensors")


def attempt(name, work, *arguments):
    try:
        with torch.no_grad():
            work(*arguments)
        say(name=name)
    except Exception as error:
        say(name=name, error=f"{type(error).__name__}: {error}".splitlines()[0][:300])


if __name__ == "__main__":
    device, families, *model = sys.argv[1:]
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(2)
    say(versions=f"torch {torch.__version__}, transformers {transformers.__version__}")
    for folder in sorted(path for path in Path(families).iterdir() if path.is_dir()):
        attempt(folder.name, family, folder, device)
    if model:
        attempt("", own, *model, device, Path(families))

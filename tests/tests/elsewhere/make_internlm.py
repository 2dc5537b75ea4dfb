"""Writes `internlm/`: a checkpoint of random numbers as InternLM's training code leaves it, two ranks by two stages.

Its vocabulary is that of worker/engine/tests/tokenizer/goldens/bpe.model. Run it with any torch:
    python3 make_internlm.py
"""

import sys
from pathlib import Path
from types import SimpleNamespace

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "worker/engine/tests/goldens"))
from layouts import store_internlm  # noqa: E402

VOCABULARY, HIDDEN, LAYERS, HEADS = 480, 32, 2, 4
INNER = 86  # as the training code makes it: 8/3 of the hidden size, rounded to a multiple of two

torch.manual_seed(0)
draw = lambda *shape: torch.randn(*shape, dtype=torch.float32).mul(0.3).to(torch.bfloat16)
state = {
    "model.embed_tokens.weight": draw(VOCABULARY, HIDDEN),
    "model.norm.weight": torch.ones(HIDDEN, dtype=torch.bfloat16),
    "lm_head.weight": draw(VOCABULARY, HIDDEN),
}
for layer in range(LAYERS):
    at = f"model.layers.{layer}."
    for name in ["q", "k", "v", "o"]:
        state[f"{at}self_attn.{name}_proj.weight"] = draw(HIDDEN, HIDDEN)
        state[f"{at}self_attn.{name}_proj.bias"] = draw(HIDDEN)
    for name, shape in [("gate", (INNER, HIDDEN)), ("up", (INNER, HIDDEN)), ("down", (HIDDEN, INNER))]:
        state[f"{at}mlp.{name}_proj.weight"] = draw(*shape)
    for name in ["input_layernorm", "post_attention_layernorm"]:
        state[f"{at}{name}.weight"] = torch.ones(HIDDEN, dtype=torch.bfloat16)
config = SimpleNamespace(num_hidden_layers=LAYERS, hidden_size=HIDDEN, vocab_size=VOCABULARY, num_attention_heads=HEADS,
                         rms_norm_eps=1e-5)
(HERE / "internlm").mkdir(exist_ok=True)
store_internlm(HERE / "internlm", state, config, ranks=2, stages=2)

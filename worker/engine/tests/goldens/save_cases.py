#!/usr/bin/env python3
"""Saves the models of make_goldens.py as the transformers that is installed saves them, with their logits, to see whether all load:

    python save_cases.py DIR            # 4.57, 5.24
    python save_cases.py DIR --raw      # 5.24 with save_original_format = False
    python save_cases.py DIR --shards   # several files
    COMPASS_GOLDENS=DIR cargo nextest run ... -E 'test(fp32_logits_are_those_of_transformers)'

Models of layouts that are not transformers' own are left out.
"""

import sys
from pathlib import Path

import make_goldens
import torch
import transformers
from safetensors.torch import save_file

VISION = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14,
              model_type="siglip_vision_model")


def with_vision(changes):
    # Gemma3ForConditionalGeneration caps no logits, whatever its text half says.
    text = transformers.Gemma3TextConfig(**(changes | dict(final_logit_softcapping=None)))
    config = transformers.Gemma3Config(text_config=text, vision_config=VISION, mm_tokens_per_image=4, image_token_index=60,
                                       boi_token_index=58, eoi_token_index=59)
    config._attn_implementation = "eager"
    return transformers.Gemma3ForConditionalGeneration(config).eval(), config


def save(folder, seed, case, options):
    kind, changes, lengths, extra = case
    model, config = with_vision(changes) if "vision" in extra else make_goldens.build(kind, changes, extra)
    make_goldens.draw(model, seed)
    model.tie_weights()
    generator, golden = torch.Generator().manual_seed(seed + 1000), {}
    for place, length in enumerate(lengths):
        # Dynamic frequencies remember the longest sequence.
        fresh = type(model)(config).eval()
        fresh.load_state_dict(model.state_dict())
        if kind == "DeepseekV2":
            fresh = model
        tokens = torch.randint(3, 58, (length,), generator=generator)
        with torch.no_grad():
            logits = fresh(tokens[None], use_cache=False).logits[0].float().contiguous()
        golden |= {f"tokens.{place}": tokens, f"logits.{place}": logits}
    folder.mkdir(parents=True)
    model.save_pretrained(folder, **options)
    save_file(golden, folder / "golden.safetensors")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    if int(transformers.__version__.split(".")[0]) >= 5:
        # What 4.57 lacks is in it.
        make_goldens.adapt = lambda *_: None
    options = dict(save_original_format=False) if "--raw" in sys.argv else {}
    options |= dict(max_shard_size="30KB") if "--shards" in sys.argv else {}
    for number, (name, case) in enumerate(make_goldens.CASES.items()):
        if case[0] not in ("InternLM2", "InternLM3") and "store" not in case[3]:
            save(Path(sys.argv[1]) / name, 100 + number, case, options)
            print(name)

"""Adapters that `peft` makes for models of `tests/goldens`, and the logits of `merge_and_unload`.

    pip install torch==2.11.0 transformers==4.57.6 peft==0.17.1
    python make_adapters.py

Each case is a folder: what `save_pretrained` writes, `base` (the model's name in `tests/goldens`), and `golden.safetensors` with
`tokens`, `logits` in float32 and `logits.bfloat16`.
"""

import json
import os
import shutil

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CASES = {
    "lora": ("llama", dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])),
    "patterns": ("llama", dict(r=2, lora_alpha=4, target_modules=LLAMA, rank_pattern={"down_proj": 3},
                               alpha_pattern={"layers.1.self_attn.q_proj": 16, "down_proj": 1})),
    "rank-stabilised": ("llama-biases", dict(r=3, lora_alpha=6, use_rslora=True, target_modules=["q_proj", "o_proj"], bias="all")),
    "whole-parts": ("llama", dict(r=2, lora_alpha=2, target_modules=["embed_tokens", "o_proj"], modules_to_save=["lm_head", "norm"])),
    "dora": ("llama", dict(r=2, lora_alpha=5, use_dora=True, target_modules=LLAMA)),
    "turned": ("gpt2", dict(r=2, lora_alpha=3, fan_in_fan_out=True, target_modules=["c_attn", "c_proj"])),
    "turned-dora": ("gpt2", dict(r=2, lora_alpha=3, fan_in_fan_out=True, use_dora=True, target_modules=["c_attn"])),
}


def main():
    torch.manual_seed(7)
    for name, (base, settings) in CASES.items():
        source = os.path.join(HERE, "..", "goldens", base)
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)

        def loaded(dtype):
            return AutoModelForCausalLM.from_pretrained(source, torch_dtype=dtype, attn_implementation="eager").eval()

        adapted = get_peft_model(loaded(torch.float32), LoraConfig(task_type="CAUSAL_LM", **settings))
        with torch.no_grad():
            for parameter in (parameter for parameter in adapted.parameters() if parameter.requires_grad):
                parameter.add_(torch.randn_like(parameter) * 0.2)
        adapted.save_pretrained(folder)
        os.remove(os.path.join(folder, "README.md"))
        path = os.path.join(folder, "adapter_config.json")
        with open(path) as file:
            config = json.load(file)
        with open(path, "w") as file:
            json.dump({**config, "base_model_name_or_path": base}, file, indent=2)
        with open(os.path.join(folder, "base"), "w") as file:
            file.write(base + "\n")
        tokens = torch.randint(0, adapted.config.vocab_size, (1, 20))
        golden = {"tokens": tokens[0].contiguous()}
        for dtype, key in ((torch.float32, "logits"), (torch.bfloat16, "logits.bfloat16")):
            merged = PeftModel.from_pretrained(loaded(dtype), folder).merge_and_unload().eval()
            with torch.no_grad():
                golden[key] = merged(tokens).logits[0].float().contiguous()
        with torch.no_grad():
            plain = loaded(torch.float32)(tokens).logits[0]
        moved = (golden["logits"] - plain).abs().max() / plain.abs().max()
        assert moved > 0.05, (name, moved)
        save_file(golden, os.path.join(folder, "golden.safetensors"))
        print(name, base, f"moves the logits by {moved:.2f}", sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)))


main()

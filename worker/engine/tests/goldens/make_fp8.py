#!/usr/bin/env python3
"""Makes the golden files of checkpoints in eight-bit floats: tiny random models, and the logits of what they stand for.

    pip install torch==2.11.0 transformers==4.57.6 compressed-tensors==0.12.2
    python make_fp8.py

Cases are folders as those of make_goldens.py. Linear layers are stored as float8_e4m3fn with their scales, as DeepSeek
(`weight_scale_inv`, blocks) and compressed-tensors (`weight_scale`, whole or by row) write them. The reference is a model whose
weights `compressed_tensors` has dequantised, in float32, run by transformers.
"""

import json
import shutil

import torch
import transformers
from compressed_tensors.quantization import QuantizationArgs, QuantizationStrategy
from compressed_tensors.quantization.lifecycle.forward import dequantize
from make_goldens import HERE, LLAMA, MOE, SHORT, draw, logits
from safetensors.torch import save_file

LARGEST = torch.finfo(torch.float8_e4m3fn).max


def compressed(strategy):
    """`quantization_config` as compressed-tensors writes it."""
    weights = {"num_bits": 8, "type": "float", "strategy": strategy, "symmetric": True, "dynamic": False, "block_structure": None}
    group = {"targets": ["Linear"], "weights": weights, "input_activations": dict(weights, strategy="tensor")}
    return {"quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed",
            "config_groups": {"group_0": group}, "ignore": ["lm_head"], "kv_cache_scheme": None}


def blocks(rows, columns):
    """`quantization_config` as DeepSeek writes it."""
    return {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [rows, columns]}


# name: (class of transformers, changes to its configuration, quantization_config, dtype of the scales)
CASES = {
    # 32 and 40 are no multiples of these: blocks at the edges are cut.
    "fp8-blocks-llama": ("Llama", LLAMA, blocks(12, 20), torch.float32),
    "fp8-blocks-qwen3-moe": ("Qwen3Moe", LLAMA | MOE | dict(head_dim=12, norm_topk_prob=True), blocks(16, 8), torch.bfloat16),
    "fp8-tensors-llama": ("Llama", LLAMA | dict(attention_bias=True), compressed("tensor"), torch.bfloat16),
    "fp8-rows-qwen2": ("Qwen2", LLAMA, compressed("channel"), torch.bfloat16),
    "fp8-static-llama": ("Llama", LLAMA, {"quant_method": "fp8", "activation_scheme": "static"}, torch.float32),
}


def padded(weight, block):
    """The weight with zeros at its ends, so that the blocks are whole."""
    rows, columns = (-size % side for size, side in zip(weight.shape, block))
    return torch.nn.functional.pad(weight, (0, columns, 0, rows))


def quantised(weight, config, kind):
    """The weight in eight bits, its scale, and what both stand for."""
    block = config.get("weight_block_size")
    if block:
        whole = padded(weight, block)
        parts = whole.unflatten(0, (-1, block[0])).unflatten(2, (-1, block[1]))
        scale = (parts.abs().amax((1, 3)) / LARGEST).clamp(min=1e-6).to(kind)
        spread = scale.float().repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
        stored = (whole / spread).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
        args = QuantizationArgs(num_bits=8, type="float", strategy=QuantizationStrategy.BLOCK, block_structure=block)
        meant = dequantize(stored, scale.float(), args=args)
        rows, columns = weight.shape
        return stored[:rows, :columns].contiguous(), scale, meant[:rows, :columns].contiguous()
    groups = config.get("config_groups")
    by_row = groups is not None and groups["group_0"]["weights"]["strategy"] == "channel"
    largest = weight.abs().amax(1, keepdim=True) if by_row else weight.abs().amax().reshape(1)
    scale = (largest / LARGEST).to(kind)
    stored = (weight / scale.float()).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
    strategy = QuantizationStrategy.CHANNEL if by_row else QuantizationStrategy.TENSOR
    args = QuantizationArgs(num_bits=8, type="float", strategy=strategy)
    # A scalar, as some programs write it.
    written = scale.reshape(()) if groups is None else scale
    return stored, written.contiguous(), dequantize(stored, scale.float(), args=args)


def make(name, seed):
    kind, changes, quantization, scales = CASES[name]
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = getattr(transformers, kind + "Config")(**changes)
    config._attn_implementation = "sdpa"
    model = getattr(transformers, kind + "ForCausalLM")(config).eval()
    draw(model, seed)
    weights = {key: value.to(torch.bfloat16) for key, value in model.state_dict().items()}
    for module_name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear) or module_name == "lm_head" or module_name.endswith("gate"):
            continue
        stored, scale, meant = quantised(module.weight.data, quantization, scales)
        weights[f"{module_name}.weight"] = stored
        suffix = "weight_scale_inv" if "weight_block_size" in quantization else "weight_scale"
        weights[f"{module_name}.{suffix}"] = scale
        if suffix == "weight_scale":
            weights[f"{module_name}.input_scale"] = torch.tensor([0.02])
        module.weight.data = meant.float()
    generator = torch.Generator().manual_seed(seed + 1000)
    golden = {}
    sequences = [torch.randint(3, changes["vocab_size"], (length,), generator=generator).tolist() for length in SHORT]
    for place, tokens in enumerate(sequences):
        golden[f"tokens.{place}"] = torch.tensor(tokens)
        golden[f"logits.{place}"] = logits(model, tokens)
    model.to(torch.bfloat16)
    for place, tokens in enumerate(sequences):
        golden[f"logits.{place}.bfloat16"] = logits(model, tokens)
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    path = folder / "config.json"
    written = json.loads(path.read_text()) | {"quantization_config": quantization, "torch_dtype": "bfloat16"}
    path.write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")
    save_file({key: value.contiguous() for key, value in weights.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    save_file(golden, folder / "golden.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(2)
    for place, name in enumerate(CASES):
        make(name, 500 + place)

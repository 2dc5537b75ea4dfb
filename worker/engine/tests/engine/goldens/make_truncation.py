"""Writes truncation.json: how OpenCompass 0.5.4's classes shorten a prompt that is too long, and what the demo's model then says.

Run from the repository root with torch 2.11, transformers 4.57, mmengine-lite and opencompass 0.5.4 importable, on the CPU.
All texts are this script's own. `ids` are those that the class handed to the model; `text` is its answer, `ppl` its score of
the prompt.
"""

import json
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
# OpenCompass imports every class that it knows of when a package of it is imported; only two files are wanted.
import importlib.metadata  # noqa: E402

sys.modules.setdefault("importlib_metadata", importlib.metadata)
import opencompass  # noqa: E402


def without_init(name, **contents):
    """Puts a package in place whose own __init__ is not run."""
    module = types.ModuleType("opencompass." + name)
    module.__path__ = [str(Path(opencompass.__file__).parent / name.replace(".", "/"))]
    vars(module).update(contents)
    sys.modules[module.__name__] = module


without_init("models", BaseModel=object)

import torch  # noqa: E402
from opencompass.models.huggingface import HuggingFaceCausalLM  # noqa: E402
from opencompass.models.huggingface_above_v4_33 import (  # noqa: E402
    HuggingFaceBaseModel,
    HuggingFacewithChatTemplate,
)

torch.set_num_threads(1)
HERE = Path(__file__).parent
MODEL = HERE.parents[3].parent / "deploy/demo/model"
CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '[' + m['role'] + '] ' + m['content'] + eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '[assistant]' }}{% endif %}"
)
PROMPTS = [
    "Tom has a red ball. He gives the ball to Anna. Anna has a",
    "1 + 2 = 3\n4 + 5 = 9\n12 + 7 =",
    "The cat sat on the mat, the dog under the table, and the bird in a tree.\nWho was in a tree? The",
    "Ünïcode, 你好 and 🙂 in a long line, then 3 + 4 =",
    "A dog",
]
FLOAT = {"torch_dtype": "float32", "device_map": "cpu"}
OLD_FLOAT = {"torch_dtype": "torch.float", "device_map": "cpu"}
OUT = 8


def copy_model(directory):
    """The demo's model with a chat template; a Llama takes no `token_type_ids`."""
    shutil.copytree(MODEL, directory, dirs_exist_ok=True)
    path = Path(directory, "tokenizer_config.json")
    settings = {"chat_template": CHAT_TEMPLATE, "model_input_names": ["input_ids", "attention_mask"]}
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


def cases(name, model, settings, scores):
    handed = []
    own = model.model.generate

    def generate(*arguments, **named):
        handed.append(named["input_ids"][0].tolist())
        return own(*arguments, **named)

    model.model.generate = generate
    for prompt in PROMPTS:
        text = model.generate([prompt], max_out_len=OUT)[0]
        case = {"class": name, **settings, "prompt": prompt, "ids": handed.pop(), "text": text}
        if scores:
            case["ppl"] = float(model.get_ppl([prompt])[0])
        yield case


def main():
    found = []
    with tempfile.TemporaryDirectory() as directory:
        copy_model(directory)
        for length in (12, 17):
            settings = {"max_seq_len": length, "drop_middle": True}
            model = HuggingFaceBaseModel(directory, model_kwargs=dict(FLOAT), **settings)
            found += cases("HuggingFaceBaseModel", model, settings, True)
        # Of the last no half would stay.
        for length in (23, 30, 9):
            settings = {"max_seq_len": length, "mode": "mid"}
            model = HuggingFacewithChatTemplate(directory, model_kwargs=dict(FLOAT), **settings)
            found += cases("HuggingFacewithChatTemplate", model, settings, False)
        for length in (20, 25):
            for more in ({}, {"mode": "mid"}, {"tokenizer_kwargs": {"truncation_side": "left"}}):
                settings = {"max_seq_len": length, **more}
                model = HuggingFaceCausalLM(directory, model_kwargs=dict(OLD_FLOAT), **settings)
                found += cases("HuggingFaceCausalLM", model, settings, True)
    document = {"chat_template": CHAT_TEMPLATE, "max_out_len": OUT, "cases": found}
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in found)
    head = json.dumps({"chat_template": CHAT_TEMPLATE, "max_out_len": OUT})[:-1]
    assert len(document["cases"]) == 55, len(found)
    (HERE / "truncation.json").write_text(head + ', "cases": [\n' + lines + "\n]}\n")


main()

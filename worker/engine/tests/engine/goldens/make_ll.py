"""Writes ll.json: sentences with a gap and two names, as OpenCompass 0.5.4's `winogrande_5shot_ll_252f01` asks them.

Run from the repository root with torch 2.11, transformers 4.57, mmengine-lite and opencompass 0.5.4 importable, on the CPU.
The sentences are this script's own, and so is how it puts the prompts together (every preset's prompts are compared with
OpenCompass's elsewhere); the scores are `HuggingFaceBaseModel.get_loglikelihood`'s and the choice `LLInferencer`'s argmax.
`sums` are `HuggingFaceCausalLM`'s, which takes the continuation out of the text wherever it stands: the shots have it, too.
"""

import importlib.metadata
import json
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.modules.setdefault("importlib_metadata", importlib.metadata)
import opencompass  # noqa: E402


def without_init(name, **contents):
    """Puts a package in place whose own __init__ is not run."""
    module = types.ModuleType("opencompass." + name)
    module.__path__ = [str(Path(opencompass.__file__).parent / name.replace(".", "/"))]
    vars(module).update(contents)
    sys.modules[module.__name__] = module


without_init("models", BaseModel=object)
without_init("openicl")
without_init("openicl.icl_inferencer")
without_init("openicl.icl_prompt_template", PromptTemplate=object)
without_init("openicl.icl_retriever", BaseRetriever=object)

import numpy  # noqa: E402
import torch  # noqa: E402
from opencompass.models.huggingface import HuggingFaceCausalLM  # noqa: E402
from opencompass.models.huggingface_above_v4_33 import HuggingFaceBaseModel  # noqa: E402

torch.set_num_threads(1)
HERE = Path(__file__).parent
MODEL = HERE.parents[3].parent / "deploy/demo/model"

NAMES = ["Tom", "Anna", "Rex the dog", "Ben", "Lily and her big brother", "Mia"]
ENDS = [" was very happy.", " ran home to eat.", " gave it back.", " had a red ball to play with all day long.", " said no."]


def row(i, names=NAMES):
    one, two = names[i % 6], names[(i * i + i // 2 + 1) % 6]
    start = [f"{one} played with {two} in the park because ", f"When {one} saw {two}, ", f"Then {two} and {one} went to bed, but "][i % 3]
    return {"before": start, "option1": one, "option2": two, "cont": ENDS[(i * 3) % 5], "answer": "AB"[(i // 2) % 2]}


def main():
    test, train = [row(i) for i in range(24)], [row(i) for i in range(30, 35)]
    option = lambda row: row["option1"] if row["answer"] == "A" else row["option2"]
    shots = "\n".join(row["before"] + option(row) + row["cont"] for row in train) + "\n"
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model")
        shutil.copytree(MODEL, model)
        settings = json.loads((model / "tokenizer_config.json").read_text())
        settings["model_input_names"] = ["input_ids", "attention_mask"]
        (model / "tokenizer_config.json").write_text(json.dumps(settings))
        mean = HuggingFaceBaseModel(str(model), model_kwargs={"torch_dtype": "float32", "device_map": "cpu"}, max_seq_len=512)
        sum_ = HuggingFaceCausalLM(str(model), model_kwargs={"torch_dtype": "torch.float", "device_map": "cpu"}, max_seq_len=512)
        for row_ in test:
            prompts = [shots + row_["before"] + row_[name] + row_["cont"] for name in ("option1", "option2")]
            scores, sums = ([float(model.get_loglikelihood([prompt], [row_["cont"]])[0]) for prompt in prompts] for model in (mean, sum_))
            samples.append({
                "prompts": prompts,
                "scores": scores,
                "prediction": "AB"[int(numpy.argmax(scores))],
                "sums": sums,
                "prediction_of_sums": "AB"[int(numpy.argmax(sums))],
            })
    document = {"test": test, "train": train, "samples": samples}
    (HERE / "ll.json").write_text(json.dumps(document, indent=0) + "\n")


main()

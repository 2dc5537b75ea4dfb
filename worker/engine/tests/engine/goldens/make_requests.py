"""Writes requests.json: what OpenCompass 0.5.4 and lm-eval 0.4.13 themselves make of the demo's model, kind by kind.

Run from the repository root with torch 2.11, transformers 4.57, lm_eval 0.4.13 and opencompass 0.5.4 importable, on the
CPU. All texts are this script's own. Only the classes of the peers are driven; nothing of them is rewritten here.
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
# OpenCompass imports every class that it knows of when a package of it is imported; only three files are wanted.
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

import torch  # noqa: E402
from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from opencompass.models.huggingface_above_v4_33 import (  # noqa: E402
    HuggingFaceBaseModel,
    HuggingFacewithChatTemplate,
)
from opencompass.models.huggingface import HuggingFaceCausalLM  # noqa: E402
from opencompass.openicl.icl_inferencer.icl_clp_inferencer import CLPInferencer  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402

torch.set_num_threads(1)
HERE = Path(__file__).parent
MODEL = HERE.parents[3].parent / "deploy/demo/model"

TEXTS = [
    "Tom has a red ball. He gives the ball to Anna.",
    "12 + 7 = 19\n",
    "Larger of 4 and 31: 31",
    "The cat </s> sat <s> on the mat",
    "Ünïcode, 你好 and 🙂.",
    "a",
]
CONTEXTS = ["3 + 4 =", "Tom has a", "Larger of 12 and 9:", "Once there was a dog ", "The ball is red.\n\n", "x" * 40]
CONTINUATIONS = [" 7", " red ball", " 12", "called Rex", "It rolls", " y"]
CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '[' + m['role'] + '] ' + m['content'] + eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '[assistant]' }}{% endif %}"
)


def copy_model(directory, **settings):
    """The demo's model with more in its tokenizer_config.json."""
    shutil.copytree(MODEL, directory, dirs_exist_ok=True)
    path = Path(directory, "tokenizer_config.json")
    # OpenCompass hands whatever the tokenizer returns to the model, and a Llama takes no `token_type_ids`.
    names = ["input_ids", "attention_mask"]
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_input_names": names, **settings}))
    return directory


def opencompass_base(document, directory):
    copy_model(directory)
    model = HuggingFaceBaseModel(directory, model_kwargs={"torch_dtype": "float32", "device_map": "cpu"}, max_seq_len=512)
    short = HuggingFaceBaseModel(directory, model_kwargs={"torch_dtype": "float32", "device_map": "cpu"}, max_seq_len=12)
    one = lambda model, text, mask=None: float(model.get_ppl([text], None if mask is None else [mask])[0])
    document["ppl"] = [{"text": text, "ppl": one(model, text), "short": one(short, text)} for text in TEXTS]
    document["normalized"] = []
    for context, answer in zip(CONTEXTS, CONTINUATIONS):
        for normalizer in ("Answer:", "unconditional answer is"):
            tokens = model.get_token_len(context), model.get_token_len(normalizer)
            scores = one(model, context + answer, tokens[0]), one(model, normalizer + answer, tokens[1])
            document["normalized"].append({"context": context, "answer": answer, "normalizing_str": normalizer,
                                           "score": scores[0] - scores[1]})
    document["opencompass_ll"] = [
        {"context": context, "continuation": continuation,
         "score": float(model.get_loglikelihood([context + continuation], [continuation])[0])}
        for context, continuation in zip(CONTEXTS, CONTINUATIONS)]
    document["opencompass_gen"] = []
    for prompt in CONTEXTS + ["The cat sat.\n"]:
        for kwargs, stop, least in [({}, [], None), ({"repetition_penalty": 1.3}, [], 12), ({"repetition_penalty": 0.6}, ["a"], None),
                                    ({}, ["\n", "the "], None), ({}, ["</s>"], 20)]:
            text = model.generate([prompt], 24, least, stopping_criteria=stop, **kwargs)[0]
            document["opencompass_gen"].append({"prompt": prompt, "stop": stop, "min_out_len": least, **kwargs, "text": text})
    document["opencompass_gen_short"] = [
        {"prompt": prompt, "text": short.generate([prompt], 16)[0]} for prompt in TEXTS[:2] + ["x" * 40]]


def opencompass_chat(document, directory):
    copy_model(directory, chat_template=CHAT_TEMPLATE)
    model = HuggingFacewithChatTemplate(directory, model_kwargs={"torch_dtype": "float32", "device_map": "cpu"},
                                        max_seq_len=512)
    document["chat_template"] = CHAT_TEMPLATE
    document["chat"] = [{"prompt": prompt, "stop": stop, "text": model.generate([prompt], 24, stopping_criteria=stop)[0]}
                        for prompt in CONTEXTS for stop in ([], [" ", "\n"], ["."])]


def opencompass_clp(document):
    model = HuggingFaceCausalLM(str(MODEL), model_kwargs={"torch_dtype": "torch.float", "device_map": "cpu"}, max_seq_len=512)
    document["clp"] = []
    for prompt in CONTEXTS:
        choices = ["A", "B", "7", "T", "x"]
        ids = [model.tokenizer.encode(choice, add_special_tokens=False)[0] for choice in choices]
        shares = CLPInferencer._get_cond_prob(types.SimpleNamespace(model=model), [prompt], [-1], ids)[0]
        document["clp"].append({"prompt": prompt, "choices": choices, "prediction": shares})


def generate_on_random_models(document):
    """Greedy answers of the families' tiny random models, token for token."""
    generator = torch.Generator().manual_seed(5)
    document["generate"] = []
    for family in ["llama", "gpt2", "qwen3", "gemma2", "mistral", "opt", "phi3-longrope", "llama-dynamic"]:
        path = HERE.parents[1] / "goldens" / family
        # Only eager attention has Gemma 2's cap.
        attention = "eager" if family == "gemma2" else "sdpa"
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation=attention).eval()
        room = min(40, model.config.max_position_embeddings - 14)
        for length in (1, 5, 14):
            prompt = torch.randint(3, model.config.vocab_size, (1, length), generator=generator)
            for rules in ({}, {"repetition_penalty": 1.2}, {"repetition_penalty": 2.5, "min_new_tokens": 30},
                          {"repetition_penalty": 0.7, "min_new_tokens": 9}):
                ids = model.generate(prompt, max_new_tokens=room, do_sample=False, pad_token_id=0,
                                     attention_mask=torch.ones_like(prompt), eos_token_id=2, **rules)
                document["generate"].append({"family": family, "vocabulary": model.config.vocab_size, "max_new_tokens": room,
                                             "prompt": prompt[0].tolist(), **rules, "answer": ids[0, length:].tolist()})


def requests(kind, arguments):
    return [Instance(kind, {}, argument, index) for index, argument in enumerate(arguments)]


def lm_eval(document):
    pairs = [(c, t) for c in CONTEXTS for t in CONTINUATIONS] + [("", t) for t in TEXTS] + [("x" * 40 + " ", "y" * 20)]
    for name, dtype, length in [("float32", "float32", 512), ("bfloat16", "bfloat16", 512), ("short", "float32", 24)]:
        model = HFLM(pretrained=str(MODEL), dtype=dtype, max_length=length, batch_size=1, device="cpu")
        scores = model.loglikelihood(requests("loglikelihood", pairs), disable_tqdm=True)
        rolling = model.loglikelihood_rolling(requests("loglikelihood_rolling", [(text,) for text in TEXTS]), disable_tqdm=True)
        document["lm_eval_" + name] = {
            "loglikelihood": [{"context": c, "continuation": t, "sum": s, "is_greedy": g} for (c, t), (s, g) in zip(pairs, scores)],
            "rolling": [{"text": text, "sum": score} for text, score in zip(TEXTS, rolling)],
        }
        if dtype == "float32":
            kwargs = {"until": ["\n", "."], "do_sample": False, "max_gen_toks": 16}
            texts = model.generate_until(requests("generate_until", [(prompt, kwargs) for prompt in CONTEXTS + TEXTS]),
                                         disable_tqdm=True)
            document["lm_eval_" + name]["generate_until"] = [
                {"prompt": prompt, "text": text} for prompt, text in zip(CONTEXTS + TEXTS, texts)]


def main():
    document = {}
    with tempfile.TemporaryDirectory() as directory:
        opencompass_base(document, directory)
    with tempfile.TemporaryDirectory() as directory:
        opencompass_chat(document, directory)
    opencompass_clp(document)
    lm_eval(document)
    generate_on_random_models(document)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in document.items())
    (HERE / "requests.json").write_text("{" + lines + "}\n")


main()

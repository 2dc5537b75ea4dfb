"""OpenCompass 0.5.4 without its heavy dependencies: its loaders, retrievers, templates and inferencers are run as they are,
with a model that only writes down what it is asked.

The package is found on PYTHONPATH (`pip install --no-deps opencompass==0.5.4`); beside it only mmengine-lite, datasets,
torch, numpy, pandas, rank_bm25 and nltk are wanted. Every other import becomes a stub.
"""

import copy
import glob
import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import os
import sys
import tempfile
import tomllib
import types

import datasets
import jinja2  # noqa: F401  (imported before stubs could stand in for parts of it)
import mmengine
import mmengine.config  # noqa: F401
import mmengine.utils.dl_utils  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401
import sympy  # noqa: F401
import torch
import tqdm  # noqa: F401

logging.disable(logging.INFO)
datasets.disable_progress_bars()
BANNED = {"transformers", "sentence_transformers"}
ABSENT = {"torch_musa", "torch_npu", "torch_mlu", "torch_dipu"}


class Stub:
    def __init__(self, name="stub"):
        self.__dict__["_name"] = name

    def __getattr__(self, key):
        if key.startswith("__") and key.endswith("__"):
            raise AttributeError(key)
        return Stub(f"{self._name}.{key}")

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]
        return Stub(f"{self._name}()")

    def __iter__(self):
        return iter(())

    def __mro_entries__(self, bases):
        return (object,)

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __getitem__(self, key):
        return self

    def __index__(self):
        return 0

    def __bool__(self):
        return False


class StubModule(types.ModuleType):
    def __getattr__(self, key):
        if key.startswith("__") and key.endswith("__"):
            raise AttributeError(key)
        return Stub(f"{self.__name__}.{key}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stubs for what is not installed."""

    def find_spec(self, name, path, target=None):
        top, parent = name.split(".")[0], name.rpartition(".")[0]
        if top in ABSENT:
            raise ImportError(name)
        if top not in BANNED:
            if parent and not isinstance(sys.modules.get(parent), StubModule):
                return None
            if name.startswith("_") or name in sys.builtin_module_names or name in sys.stdlib_module_names:
                return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = StubModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


class Banned(Finder):
    def find_spec(self, name, path, target=None):
        return super().find_spec(name, path, target) if name.split(".")[0] in BANNED | ABSENT else None


sys.meta_path.insert(0, Banned())
sys.meta_path.append(Finder())

from opencompass.openicl import icl_inferencer  # noqa: E402
from opencompass.models.base import LMTemplateParser  # noqa: E402
from opencompass.models.base_api import APITemplateParser  # noqa: E402
from opencompass.registry import ICL_INFERENCERS, ICL_PROMPT_TEMPLATES, ICL_RETRIEVERS, LOAD_DATASET  # noqa: E402
import opencompass.datasets  # noqa: E402,F401

CONFIGS = os.path.join(os.path.dirname(sys.modules["opencompass"].__file__), "configs")
# The names of the presets that ship with the program.
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../config/presets")
PRESETS = sorted(name for path in glob.glob(os.path.join(FOLDER, "*.toml")) for name in tomllib.load(open(path, "rb")))
FILES = {}
for folder, _, names in sorted(os.walk(os.path.join(CONFIGS, "datasets"))):
    for name in names:
        if name.endswith(".py"):
            FILES.setdefault(name[:-3], os.path.join(folder, name))


def clear_stubs():
    """`datasets` asks whether these are imported, and would use the stubs."""
    for name in ("spacy", "tiktoken", "transformers"):
        sys.modules.pop(name, None)


def package(name, path):
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__path__ = [path]
        sys.modules[name] = module


def sort_keys(value):
    """Puts the keys of every dict into the order in which `run.py` writes them down before it reads them again."""
    if isinstance(value, dict):
        for key, item in sorted(value.items(), key=lambda entry: str(entry[0])):
            sort_keys(item)
            value[key] = value.pop(key)
    elif isinstance(value, (list, tuple)):
        for item in value:
            sort_keys(item)


def load(stem):
    """The data sets of a configuration."""
    parts = os.path.relpath(FILES[stem], CONFIGS)[:-3].split("/")
    package("opencompass.configs", CONFIGS)
    for at in range(1, len(parts)):
        package("opencompass.configs." + ".".join(parts[:at]), os.path.join(CONFIGS, *parts[:at]))
    module = importlib.import_module("opencompass.configs." + ".".join(parts))
    clear_stubs()
    found, seen = [], set()
    for key, value in vars(module).items():
        if key.endswith("_datasets") and isinstance(value, list):
            for dataset in value:
                if isinstance(dataset, dict) and "infer_cfg" in dataset and id(dataset) not in seen:
                    seen.add(id(dataset))
                    sort_keys(dataset)
                    found.append(dataset)
    return found


def role(name, begin, end, **more):
    return dict(role=name, begin=begin, end=end, **more)


METAS = {
    "": None,
    "lm": dict(
        begin="<s>",
        round=[role("HUMAN", "<|H|>", "<|/H|>\n"), role("BOT", "<|B|>", "<|/B|>\n", generate=True)],
        end="<END>",
        reserved_roles=[role("SYSTEM", "<|S|>", "<|/S|>\n")],
    ),
    "lm2": dict(round=[role("HUMAN", "U: ", "\n"), dict(role="BOT", begin="A:", generate=True)]),
    "api": dict(
        round=[dict(role="HUMAN", api_role="HUMAN"), dict(role="BOT", api_role="BOT", generate=True)],
        reserved_roles=[dict(role="SYSTEM", api_role="SYSTEM")],
    ),
}


class Tokenizer:
    add_bos_token = add_eos_token = False

    def encode(self, *args, **kwargs):
        return [1]


class Model:
    """Answers nothing; what it is asked stands in the inferencer's own records."""

    is_api = False

    def __init__(self, meta):
        self.max_seq_len, self.tokenizer, self.meta_template, self.generation_kwargs = 10**9, Tokenizer(), meta, {}
        self.template_parser = APITemplateParser(meta) if meta is METAS["api"] else LMTemplateParser(meta)

    def parse_template(self, template, mode):
        return self.template_parser.parse_template(template, mode)

    def get_token_len_from_template(self, template, mode="ppl"):
        return 0

    def get_ppl(self, inputs, mask_length=None):
        return torch.zeros(len(inputs)).numpy()

    get_ppl_from_template = get_ppl

    def get_loglikelihood_from_template(self, template, conts=None, **kwargs):
        return torch.zeros(len(template)).numpy()

    get_loglikelihood = get_loglikelihood_from_template

    def get_logits(self, inputs):
        return torch.zeros(len(inputs), 4, 8), {"tokens": {"input_ids": torch.zeros(len(inputs), 4)}}

    def generate_from_template(self, template, *args, **kwargs):
        return ["x"] * len(template)

    def generate(self, *args, **kwargs):
        return ["x"]

    def sync_rank(self):
        pass


def class_of(registry, named):
    return registry.get(named) if isinstance(named, str) else named


def short(named):
    return (named if isinstance(named, str) else named.__name__).split(".")[-1]


def run(config, dataset, metas):
    """What the inferencer wrote down, by meta template."""
    records = {}
    for meta in metas:
        infer = copy.deepcopy(dict(config["infer_cfg"]))
        inferencer, retriever = dict(infer["inferencer"]), dict(infer["retriever"])
        kind = class_of(ICL_INFERENCERS, inferencer.pop("type"))
        if meta == "api" and "Gen" not in kind.__name__:
            continue
        if "fix_id_list" in inferencer:
            retriever["fix_id_list"] = inferencer.pop("fix_id_list")
        retriever = class_of(ICL_RETRIEVERS, retriever.pop("type"))(dataset=dataset, **retriever)
        folder = tempfile.mkdtemp()
        inferencer.pop("batch_size", None)
        if issubclass(kind, icl_inferencer.GenInferencer):
            inferencer.setdefault("max_out_len", 1)
        writer = kind(
            model=Model(METAS[meta]),
            batch_size=1,
            output_json_filepath=folder,
            output_json_filename="o.json",
            **inferencer,
        )
        templates = {
            key: ICL_PROMPT_TEMPLATES.build(infer[key]) for key in ("ice_template", "prompt_template") if key in infer
        }
        writer.inference(retriever, **templates)
        with open(f"{folder}/o.json") as file:
            records[meta] = [asked(record) for record in json.load(file).values()]
    return records


def asked(record):
    labels = {key[7:]: value["prompt"] for key, value in record.items() if key.startswith("label: ")}
    if labels:
        return labels
    prompt = record["origin_prompt"] if "origin_prompt" in record else record["prompt"]
    if isinstance(prompt, list) and prompt and all("content" in message for message in prompt):
        names = dict(user="HUMAN", assistant="BOT", system="SYSTEM")
        return [dict(role=names[message["role"]], prompt=message["content"]) for message in prompt]
    return prompt


def build(config):
    """The data set through OpenCompass's own loader."""
    named = {key: value for key, value in config.items() if key not in ("infer_cfg", "eval_cfg", "mode")}
    named.setdefault("abbr", "dataset")
    return class_of(LOAD_DATASET, named.pop("type"))(**named)

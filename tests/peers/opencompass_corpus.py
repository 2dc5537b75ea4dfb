"""What OpenCompass 0.5.4 itself makes of its configurations: its loaders, retrievers, inferencers, template parsers, evaluators and
postprocessors, run as its tasks run them, with models that answer what is made up here.

    python tests/peers/opencompass_corpus.py TREE WORK [NAME ...]

TREE holds the package `opencompass`. WORK is what `oc-corpus TREE --keep WORK` left: `files.json` names the configurations, and
each has a folder of its name, in which `data/` is OpenCompass's data folder and `hub/` the hub's cache. For each of them
`peer/NAME/` becomes a folder of results as OpenCompass writes it, with `predictions/` and `results/` of the models `base`, `lm`,
`lm2` and `chat`, and `peer/NAME.json` says what could not be run. NAMEs restrict the run. `oc-corpus` compares. Packages that are missing are stood in for; without torch, `clp` is left out.
"""

import copy
import hashlib
import json
import os
import random
import shutil
import sys
import traceback

TREE, WORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
os.environ["COMPASS_DATA_CACHE"] = WORK
for offline in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
    os.environ[offline] = "1"
os.environ.setdefault("HF_HOME", os.path.join(WORK, "hub"))
os.environ.setdefault("HF_DATASETS_CACHE", os.path.join(WORK, "hub-tables"))
sys.path.insert(0, TREE)
os.chdir(WORK)

import logging  # noqa: E402

import datasets  # noqa: E402
import huggingface_hub.constants  # noqa: E402

SCREEN = os.fdopen(os.dup(1), "w", buffering=1)
LOG = open(os.path.join(WORK, "peer.log"), "w", buffering=1)
os.dup2(LOG.fileno(), 1)
os.dup2(LOG.fileno(), 2)
logging.disable(logging.WARNING)
datasets.disable_progress_bars()
import pandas as pd  # noqa: E402

REAL_LOAD = datasets.load_dataset
DATA = os.path.join(WORK, "data")


def lines(path):
    with open(os.path.join(DATA, path)) as file:
        return datasets.Dataset.from_list([json.loads(line) for line in file])


def load_dataset(*args, **kwargs):
    """Tables of the hub that the made folder has as files; whatever else is read as it is."""
    path = kwargs.get("path") or args[0]
    name = kwargs.get("name") or (args[1] if len(args) > 1 else None)
    split = kwargs.get("split")
    table = lambda file: datasets.Dataset.from_parquet(os.path.join(DATA, file))
    found = None
    if path == "wikitext":
        found = {part: table(f"wikitext/{name}/{part}.parquet") for part in ("validation", "test")}
        found["train"] = datasets.Dataset.from_list([{"text": "x"}])
    elif path == "winograd_wsc":
        found = {"test": table("winograd_wsc/wsc285.parquet")}
    elif path == "crows_pairs":
        rows = pd.read_csv(os.path.join(DATA, "crows_pairs/crows_pairs_anonymized.csv"))
        found = {"test": datasets.Dataset.from_pandas(rows)}
    elif path == "xcopa":
        language = name.removeprefix("translation-")
        folder = "data-gmt" if language != name else "data"
        found = {"validation": lines(f"xcopa/{folder}/{language}/val.{language}.jsonl")}
    elif "Longbench" in path and name:
        found = {"test": lines(f"Longbench/data/{name}.jsonl")}
    if found is None:
        return REAL_LOAD(*args, **kwargs)
    found = datasets.DatasetDict(found)
    return found[split] if split else found


datasets.load_dataset = load_dataset

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import opencompass_stubs as oc  # noqa: E402
from mmengine.config import Config, ConfigDict  # noqa: E402
from mmengine.config import utils as config_utils  # noqa: E402

from opencompass.models.base import LMTemplateParser  # noqa: E402
from opencompass.models import huggingface_above_v4_33 as hf  # noqa: E402
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask  # noqa: E402
import opencompass.tasks.openicl_infer as infer_module  # noqa: E402
import opencompass.utils.datasets as data_module  # noqa: E402
from opencompass.utils import build_dataset_from_cfg, dataset_abbr_from_cfg  # noqa: E402

from opencompass.utils.prompt import PromptList, get_prompt_hash  # noqa: E402

import numpy  # noqa: E402


def no_download(path, *_args, **_kwargs):
    raise FileNotFoundError(f"no data at {path}")


data_module.download_dataset = no_download
# mmengine takes frozen modules of newer interpreters for others' modules.
is_builtin = config_utils._is_builtin_module
for module in (config_utils, sys.modules["mmengine.config.lazy"], sys.modules["mmengine.config.config"]):
    if hasattr(module, "_is_builtin_module"):
        module._is_builtin_module = lambda name: name.split(".")[0] in sys.stdlib_module_names or is_builtin(name)



def role(name, begin, end, **more):
    return dict(role=name, begin=begin, end=end, **more)


METAS = {
    "base": None,
    "lm": dict(
        begin="<s>",
        round=[role("HUMAN", "<|H|>", "<|/H|>\n"), role("BOT", "<|B|>", "<|/B|>\n", generate=True)],
        end="<END>",
        reserved_roles=[role("SYSTEM", "<|S|>", "<|/S|>\n")],
    ),
    "lm2": dict(round=[role("HUMAN", "U: ", "\n"), dict(role="BOT", begin="A:", generate=True)]),
    "chat": None,
}
WORDS = "amber basin cedar delta ember fjord grove harbor".split()


def drawn(*of):
    digest = hashlib.sha256("\0".join(map(str, of)).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def answer(gold, abbr, at, turn):
    """An answer to row `at`: right, wrong, empty or beside the point, in the words of models."""
    draw = drawn(abbr, at, turn)
    text = gold[0] if isinstance(gold, list) and gold else gold
    if isinstance(text, dict):
        text = next(iter(text.values()), "")
    text = str(text)
    letter = draw.choice("ABCD")
    shapes = [
        text,
        f"The answer is {text}.",
        f"The answer is ({letter}).",
        f"Let's think step by step. {' '.join(draw.sample(WORDS, 3))}.\nSo the answer is {text}",
        f"{text}\n\nQuestion: {draw.choice(WORDS)}",
        f"**{letter}**",
        "",
        f"答案是{text}。",
        f"\\boxed{{{text}}}",
        f"#### {draw.randrange(100)},{draw.randrange(100, 999)}.50",
        f"<think>no, {letter}</think> {text.lower()}",
        f"[[{letter}]] <answer>{text}</answer>",
        f"{draw.choice(WORDS)} {text.upper()}, {draw.choice(WORDS)}\t",
        f"```python\nprint({draw.randrange(9)})\n```",
        f"正确答案：{letter}",
        f"A. {draw.choice(WORDS)} B. {draw.choice(WORDS)}",
    ]
    return shapes[(at + len(abbr) + 5 * turn) % len(shapes)] if draw.random() < 0.8 else draw.choice(shapes)


class Tokenizer:
    add_bos_token = add_eos_token = False

    def encode(self, *_args, **_kwargs):
        return [1]


class Model:
    """Answers by number, and scores by the text that it is asked."""

    def __init__(self, name, answers, abbr):
        self.name, self.answers, self.abbr = name, answers, abbr
        self.is_api = False
        self.max_seq_len, self.tokenizer, self.generation_kwargs = None, Tokenizer(), {}
        self.meta_template = METAS[name]
        self.template_parser = hf._get_meta_template(None) if name == "chat" else LMTemplateParser(METAS[name])
        self.at = 0

    def parse_template(self, template, mode):
        parsed = self.template_parser.parse_template(template, mode)
        if self.name != "chat":
            return parsed
        # As `HuggingFacewithChatTemplate` does before its tokenizer's template.
        many = isinstance(template, (list, tuple)) and not isinstance(template, PromptList)
        if mode != "gen":
            return parsed
        return [self.told(one) for one in parsed] if many else self.told(parsed)

    @staticmethod
    def told(parsed):
        if isinstance(parsed, list) and any("content" in item for item in parsed if isinstance(item, dict)):
            return [dict(role=item["role"], prompt=item["content"]) for item in parsed]
        messages = hf._convert_chat_messages([parsed])[0]
        return PromptList([dict(role=message["role"], prompt=message["content"]) for message in messages])

    def get_token_len_from_template(self, template, mode="ppl"):
        return 1 if isinstance(template, (str, dict)) or hasattr(template, "format") else [1] * len(template)

    get_token_len = get_token_len_from_template

    def scores(self, texts):
        # Few distinct values: some of them tie.
        return numpy.array([drawn("ppl", text).randrange(12) / 8 + 0.5 for text in texts])

    def get_ppl_from_template(self, templates, mask_length=None):
        return self.scores([str(text) for text in self.parse_template(templates, "ppl")])

    def get_ppl(self, inputs, mask_length=None):
        return self.scores(inputs)

    def get_loglikelihood_from_template(self, templates, conts=None, **_kwargs):
        return -self.get_ppl_from_template(templates)

    def get_loglikelihood(self, inputs, conts=None):
        return -self.scores(inputs)

    def get_logits(self, inputs):
        import torch

        found = torch.zeros(len(inputs), 4, 8)
        for at, text in enumerate(inputs):
            found[at, :, 1] = drawn("clp", text).random()
        return found, {"tokens": {"input_ids": torch.zeros(len(inputs), 4)}}

    def generate_from_template(self, templates, *_args, **_kwargs):
        return self.generate(templates)

    def generate(self, inputs, *_args, **_kwargs):
        given = [self.answers[(self.at + at) % len(self.answers)] for at in range(len(inputs))]
        self.at += len(inputs)
        return given

    def sync_rank(self):
        pass


def sort_keys(value):
    """Puts the keys of every dict into the order in which `run.py` writes them down before it reads them again."""
    if isinstance(value, dict):
        entries = sorted(dict.items(value), key=lambda entry: str(entry[0]))
        for key, item in entries:
            sort_keys(item)
            dict.__delitem__(value, key)
            dict.__setitem__(value, key, item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            sort_keys(item)



def entries(path):
    """The data sets of a file, as `--datasets` reads it."""
    config = Config.fromfile(path, format_python_code=False)
    sort_keys(config._cfg_dict)
    found = []
    for key in config:
        if key.endswith("_datasets") and isinstance(config[key], list):
            found += [entry for entry in config[key] if isinstance(entry, dict)]
    return found


def said(error):
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "opencompass" in frame.filename]
    place = f" ({os.path.basename(places[-1].filename)}:{places[-1].lineno})" if places else ""
    return f"{type(error).__name__}: {error}"[:300] + place


def runs_programs(entry):
    """Whether the answers are run, which `oc-corpus` compares nothing of."""
    evaluator = str(entry.get("eval_cfg", {}).get("evaluator", {}).get("type"))
    return any(word in evaluator for word in ("MBPP", "HumanEval", "Humaneval"))


def settle(home):
    """Data is looked for below the folder of one configuration."""
    global DATA
    DATA = os.path.join(home, "data")
    os.environ["COMPASS_DATA_CACHE"] = home
    huggingface_hub.constants.HF_HUB_CACHE = os.path.join(home, "hub")
    os.chdir(home)


def run(name, path, most):
    settle(os.path.join(WORK, name))
    folder = os.path.join(WORK, "peer", name)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    found = entries(path)
    if len(found) > most:
        step = len(found) / most
        found = [found[int(at * step)] for at in range(most)]
    report = []
    for entry in found:
        abbr = dataset_abbr_from_cfg(entry)
        record = dict(abbr=abbr)
        report.append(record)
        try:
            dataset = build_dataset_from_cfg(entry)
            output = entry["reader_cfg"].get("output_column")
            golds = list(dataset.test[output]) if output else [""] * len(dataset.test)
            record["columns"] = dataset.test.column_names
            record["gold"] = golds if output else None
            record["version"] = get_prompt_hash(copy.deepcopy(entry))[:6]
            oc.clear()
        except Exception as error:
            record["load"] = said(error)
            continue
        if not golds:
            record["load"] = "no row"
            continue
        for turn, model in enumerate(METAS):
            answers = [answer(gold, abbr, at, turn) for at, gold in enumerate(golds)]
            model_cfg = ConfigDict(abbr=model, type="stand-in", batch_size=3)
            task = ConfigDict(models=[model_cfg], datasets=[[copy.deepcopy(entry)]], work_dir=folder)
            try:
                kind = str(entry["infer_cfg"]["inferencer"]["type"])
                if model == "chat" and "Gen" not in kind and "Chat" not in kind:
                    continue
                task["datasets"][0][0]["infer_cfg"]["inferencer"].setdefault("max_out_len", 16)
                infer_module.build_model_from_cfg = lambda _cfg: Model(model, answers, abbr)
                OpenICLInferTask(task).run()
            except Exception as error:
                record[f"infer {model}"] = said(error)
                continue
            if runs_programs(entry):
                continue
            try:
                task = ConfigDict(models=[model_cfg], datasets=[[copy.deepcopy(entry)]], work_dir=folder)
                task["eval"] = dict(runner=dict(task=dict(dump_details=True)))
                OpenICLEvalTask(task).run()
            except Exception as error:
                record[f"eval {model}"] = said(error)
    with open(os.path.join(WORK, "peer", f"{name}.json"), "w") as file:
        json.dump(report, file, ensure_ascii=False, default=str)


def main():
    names = sys.argv[3:]
    most = int(os.environ.get("OC_CORPUS_ENTRIES", "4"))
    with open(os.path.join(WORK, "files.json")) as file:
        files = json.load(file)
    for record in files:
        if names and record["name"] not in names:
            continue
        try:
            run(record["name"], os.path.join(TREE, record["path"]), most)
        except Exception as error:
            print(f"{record['name']}: {said(error)}", file=SCREEN)
            with open(os.path.join(WORK, "peer", f"{record['name']}.json"), "w") as file:
                json.dump([dict(file=said(error))], file)


if __name__ == "__main__":
    main()

"""Writes `presets.json.gz` and `configs.json.gz` beside it: what OpenCompass 0.5.4 asks.

    COMPASS_DATA_CACHE=/some/new/folder PYTHONPATH=<site-packages with opencompass 0.5.4> python make_prompts.py

For every preset that has the name of one of its configurations its loader reads the made data folder. Of further
configurations, drawn at random, the loader is left out: rows are made with the columns that reader and templates name, and
the configuration is written out as TOML. With `--all FOLDER` far larger files go there, for COMPASS_PEER_PROMPTS.
"""

import gzip
import json
import os
import random
import re
import sys

import datasets
import pandas as pd
import tomli_w

import opencompass_run as oc
import made_data as made
from opencompass.datasets.base import BaseDataset
from opencompass.utils import dataset_abbr_from_cfg

HERE = os.path.dirname(os.path.abspath(__file__))
# Families that `make_further.py` sees to.
FURTHER = re.compile(r"/(gpqa|mmlu_pro|MathBench|(Few)?CLUE_\w+|SuperGLUE_(?!BoolQ)\w+)/[^/]+$")
ALL = sys.argv[sys.argv.index("--all") + 1] if "--all" in sys.argv else None
# Rows of a sample, which keep the committed files small.
ROWS = 10_000 if ALL else 2
draw = random.Random(11)


def lines(path):
    with open(os.path.join(made.ROOT, path)) as file:
        return datasets.Dataset.from_list([json.loads(line) for line in file])


def load_dataset(*args, **kwargs):
    """The tables of the hub, from the made folder."""
    path = kwargs.get("path") or args[0]
    name = kwargs.get("name") or (args[1] if len(args) > 1 else None)
    table = lambda file: datasets.Dataset.from_parquet(os.path.join(made.ROOT, file))
    if path == "wikitext":
        splits = {split: table(f"wikitext/{name}/{split}.parquet") for split in ("validation", "test")}
        return datasets.DatasetDict(splits | {"train": datasets.Dataset.from_list([{"text": "x"}])})
    if path == "winograd_wsc":
        return datasets.DatasetDict({"test": table("winograd_wsc/wsc285.parquet")})
    if path == "crows_pairs":
        rows = pd.read_csv(os.path.join(made.ROOT, "crows_pairs/crows_pairs_anonymized.csv"))
        return datasets.DatasetDict({"test": datasets.Dataset.from_pandas(rows)})
    if path == "xcopa":
        language = name.removeprefix("translation-")
        folder = "data-gmt" if language != name else "data"
        return datasets.DatasetDict({"validation": lines(f"xcopa/{folder}/{language}/val.{language}.jsonl")})
    if path == "json":
        return lines(os.path.relpath(kwargs["data_files"], made.ROOT))
    if "Longbench" in path:
        return datasets.DatasetDict({"test": lines("Longbench/data/qasper.jsonl")})
    raise LookupError(path)


def cut(records):
    return {meta: asked[:ROWS] for meta, asked in records.items()}


def of_presets():
    for module in list(sys.modules.values()):
        known = getattr(module, "__name__", "").startswith("opencompass.datasets")
        if known and "load_dataset" in vars(module) and "agieval" not in module.__name__:
            module.load_dataset = load_dataset
    cases, wanted = [], set()
    for preset in oc.PRESETS:
        if preset not in oc.FILES or FURTHER.search(oc.FILES[preset]) or preset == "SuperGLUE_BoolQ_ppl_314797":
            continue
        found = oc.load(preset)
        # The shots of BBH are files of the package; GAOKAO's gaps have no key that a program could mark.
        found = [config for config in found if "Fill-in-the-blank" not in str(config.get("filename"))]
        # C-Eval's test split comes without answers.
        found = [config for config in found if not str(config.get("abbr")).startswith("ceval-test-")]
        # Presets of programs have golden prompts of their own.
        if preset.startswith("bbh_gen") or "humaneval" in preset or "mbpp" in preset:
            continue
        if len(found) > 4:
            found = draw.sample(found, 5 if ALL else 2)
        for config in found:
            dataset = oc.build(config)
            column = dataset.reader.output_column
            gold = [row[column] for row in dataset.test][:ROWS] if column else None
            # Evaluators of ours take the answer from these themselves.
            if preset.startswith(("math_", "IFEval", "agieval_gen_a0c741")):
                gold = None
            raw = "messages" in config["infer_cfg"].get("prompt_template", {})
            metas = ["api"] if raw else list(oc.METAS) if ALL else ["", draw.choice(["lm", "lm2", "api"])]
            records = cut(oc.run(config, dataset, metas))
            cases.append(dict(preset=preset, abbr=dataset_abbr_from_cfg(config), gold=gold, asked=records))
            wanted.add(config.get("name"))
    return cases


def made_files():
    files = {}
    for folder, _, names in os.walk(made.ROOT):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                content = file.read()
            try:
                content = content.decode()
            except UnicodeDecodeError:
                content = {"hex": content.hex()}
            files[os.path.relpath(path, made.ROOT)] = content
    return files


INFERENCERS = {"GenInferencer", "PPLInferencer", "LLInferencer", "PPLOnlyInferencer"}
RETRIEVERS = {"ZeroRetriever", "FixKRetriever", "RandomRetriever", "BM25Retriever", "SlidingWindowRetriever"}


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from texts(inner)


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool)) else oc.short(value)


class Made(BaseDataset):
    @staticmethod
    def load(**splits):
        return datasets.DatasetDict({name: datasets.Dataset.from_list(rows) for name, rows in splits.items()})


def labels_of(infer):
    for key in ("prompt_template", "ice_template"):
        template = infer.get(key, {}).get("template")
        if isinstance(template, dict) and set(template) - {"begin", "round", "end"}:
            return list(template)
    return None


def conversation():
    roles = ["system", "user", "assistant", "user"][draw.randrange(2) :]
    return [dict(role=role, content=made.s()) for role in roles]


def written(stem, config):
    """The rows, the TOML and what is asked of one configuration; `None` where the two programs are known to differ."""
    infer, reader = config["infer_cfg"], config["reader_cfg"]
    kind, retriever = oc.short(infer["inferencer"]["type"]), oc.short(infer["retriever"]["type"])
    output = reader.get("output_column")
    if kind not in INFERENCERS or retriever not in RETRIEVERS or (kind == "GenInferencer" and not output):
        return None
    columns = reader["input_columns"]
    columns = columns.split() if isinstance(columns, str) else list(columns)
    templates = {key: infer[key] for key in ("ice_template", "prompt_template") if key in infer}
    named = re.findall(r"\{(\w+)\}", "".join(texts(templates))) + (["cont"] if kind == "LLInferencer" else [])
    columns = [name for name in dict.fromkeys(columns + named) if name != output and len(name) < 30 and name != "idx"]
    labels = labels_of(infer)
    ids = infer["retriever"].get("fix_id_list") or infer["inferencer"].get("fix_id_list") or [0]
    messages = infer.get("prompt_template", {}).get("messages", [])
    held = [
        message["expand_column"] for message in messages if isinstance(message, dict) and "expand_column" in message
    ]

    def row():
        made_row = {column: made.s() for column in columns} | {column: conversation() for column in held}
        return made_row | ({output: draw.choice(labels) if labels else made.s(2)} if output else {})

    splits = {reader.get("train_split", "train"): [row() for _ in range(max(max(ids) + 1, 6))]}
    splits.setdefault(reader.get("test_split", "test"), [row() for _ in range(3)])
    test = splits[reader.get("test_split", "test")]
    train = splits[reader.get("train_split", "train")]
    dataset = Made(reader_cfg=dict(reader, test_range=None, train_range=None), abbr="d", **splits)
    records = oc.run(
        config, dataset, ["api"] if messages else (list(oc.METAS) if ALL else ["", draw.choice(["lm", "lm2", "api"])])
    )
    files = {
        f"{stem}.{split}.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        for split, rows in (("test", test), ("train", train))
    }
    retriever, inferencer = plain(dict(infer["retriever"])), plain(dict(infer["inferencer"]))
    if "fix_id_list" in inferencer:
        retriever["fix_id_list"] = inferencer.pop("fix_id_list")
    toml = {"retriever": retriever, "inferencer": inferencer} | {
        key: plain(dict(value)) for key, value in templates.items()
    }
    columns = {"input_columns": columns + held} | ({"output_column": output} if output else {})
    entry = {
        "abbr": "d",
        "reader_cfg": columns,
        "test": {"path": f"{stem}.test.jsonl"},
        "train": {"path": f"{stem}.train.jsonl"},
        "infer_cfg": toml,
        "eval_cfg": {"evaluator": "average_ppl" if kind == "PPLOnlyInferencer" else "acc"},
    }
    gold = [row[output] for row in test][:ROWS] if output else None
    case = dict(name=stem, toml=tomli_w.dumps({"dataset": [entry]}), abbr="d", gold=gold, asked=cut(records))
    return files, case


# What Compass refuses, for a reason that it says: a template without a place for its shots, several rounds. And a system
# role within a round, whose words OpenCompass drops where the model knows the role; here its fallback speaks.
REFUSED = {
    "SuperGLUE_BoolQ_few_shot_ppl",
    "MultiIF_gen",
    "arc_prize_public_evaluation_gen",
    "arc_prize_public_evaluation_gen_fedd04",
    "arc_prize_public_evaluation_gen_872059",
}


def of_configs(count):
    files, cases = {}, []
    shipped = set(oc.PRESETS) | REFUSED
    stems = sorted(stem for stem in oc.FILES if stem not in shipped)
    draw.shuffle(stems)
    for stem in stems:
        if len(cases) >= count:
            break
        try:
            found = oc.load(stem)
            one = written(stem, draw.choice(found)) if found else None
        except Exception as error:  # configurations that OpenCompass itself cannot load or run
            print(f"left out {stem}: {error!r:.100}", file=sys.stderr)
            continue
        # Long texts of others are no business of ours.
        if one and (ALL or len(json.dumps(one)) < 12_000):
            files |= one[0]
            cases.append(one[1])
    return dict(files=files, cases=cases)


def write(name, golden):
    text = json.dumps(golden, ensure_ascii=False, default=str)
    if ALL:
        with open(os.path.join(ALL, f"{name}.json"), "w") as file:
            file.write(text)
        return
    with open(os.path.join(HERE, f"{name}.json.gz"), "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


presets = of_presets()
write("presets", dict(files=made_files(), cases=presets))
write("configs", of_configs(2000 if ALL else 80))

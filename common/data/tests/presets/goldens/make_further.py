"""Writes `further.json.gz` beside it: what OpenCompass 0.5.4 asks in the configurations of CLUE, FewCLUE, SuperGLUE, GPQA,
MMLU-Pro and MathBench that ship as presets, from the files of `further_data.py` through its own loaders.

    COMPASS_DATA_CACHE=/some/new/folder PYTHONPATH=<site-packages with opencompass 0.5.4> python make_further.py

With `--all FOLDER` every data set and every row is written there, for COMPASS_PEER_PROMPTS.
"""

import gzip
import json
import os
import random
import re
import sys

import opencompass_run as oc
import further_data as made
from opencompass.utils import dataset_abbr_from_cfg

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = sys.argv[sys.argv.index("--all") + 1] if "--all" in sys.argv else None
ROWS = 10_000 if ALL else 2
FAMILIES = re.compile(r"/(gpqa|mmlu_pro|MathBench|(Few)?CLUE_\w+|SuperGLUE_\w+)/[^/]+$")
draw = random.Random(20)
# Some loaders open the path as it is written: `./data/CLUE/C3/dev_0.json`.
os.chdir(os.environ["COMPASS_DATA_CACHE"])


def one_of_each(configs):
    """The data sets that differ in more than their rows."""
    kinds = {}
    for config in configs:
        kinds.setdefault(json.dumps([config["infer_cfg"], config["eval_cfg"]], default=str), config)
    return draw.sample(list(kinds.values()), min(4, len(kinds)))


def cases():
    for preset in oc.PRESETS:
        if preset not in oc.FILES or not FAMILIES.search(oc.FILES[preset]):
            continue
        found = oc.load(preset)
        for config in found if ALL else one_of_each(found):
            if oc.short(config["type"]) == "BoolQDatasetV3":
                # It takes the name of the data set for a path, and OpenCompass itself finds nothing there.
                config = dict(config, path="./data/SuperGLUE/BoolQ/val.jsonl")
            dataset = oc.build(config)
            gold = [row[dataset.reader.output_column] for row in dataset.test][:ROWS]
            metas = list(oc.METAS) if ALL else ["", draw.choice(["lm", "lm2", "api"])]
            asked = {meta: asked[:ROWS] for meta, asked in oc.run(config, dataset, metas).items()}
            yield dict(preset=preset, abbr=dataset_abbr_from_cfg(config), gold=gold, asked=asked)


def files():
    for folder, _, names in sorted(os.walk(made.ROOT)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                content = file.read()
            text = dict(hex=content.hex()) if name.endswith(".parquet") else content.decode()
            yield os.path.relpath(path, made.ROOT), text


text = json.dumps(dict(files=dict(files()), cases=list(cases())), ensure_ascii=False, default=str)
if ALL:
    with open(os.path.join(ALL, "further.json"), "w") as file:
        file.write(text)
else:
    with open(os.path.join(HERE, "further.json.gz"), "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())

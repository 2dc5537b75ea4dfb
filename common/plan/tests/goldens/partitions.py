"""Writes partitions.json beside it: tasks of OpenCompass 0.5.4's partitioners for random jobs, each piece as
[data set, first sample, end]. Run with PYTHONPATH at a folder that has opencompass 0.5.4 and at
common/data/tests/presets/goldens (for opencompass_run)."""

import json
import os
import random
import tempfile

import opencompass_run  # noqa: F401  (stubs for heavy imports)
from mmengine.config import ConfigDict, Config
from opencompass.partitioners import SizePartitioner, NumWorkerPartitioner, NaivePartitioner

HERE = os.path.dirname(os.path.abspath(__file__))
r = random.Random(5)
cases = []
names = [
    "siqa",
    "gsm8k",
    "bbh-x",
    "mathx",
    "agieval-math",
    "lukaemon_mmlu_professional_law",
    "hellaswag",
    "strategyqa",
    "cmnli",
    "mmlu_a",
    "math",
    "bbh-date",
    "agieval-jec-qa-kd",
    "xprofessional_law",
]
os.chdir(tempfile.mkdtemp())
for n in range(400):
    k = r.randint(1, 6)
    ds = []
    sizes = {}
    for a in r.sample(names, k):
        kind = r.choice(["gen", "ppl2", "ppl4", "ll3"])
        N = r.choice([1, 2, 5, 15, 16, 17, 33, 100, 296, 1165, 1319, r.randint(1, 5000)])
        rng = r.choice(["", "", "", "[:100]", "[10:60]", "[::3]", "[-7:]"])
        t = {
            "gen": "x {q}",
            "ppl2": {0: "a", 1: "b"},
            "ppl4": {c: "x" for c in "ABCD"},
            "ll3": {c: "x" for c in "ABC"},
        }[kind]
        if kind == "gen" and r.random() < 0.5:
            t = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
        sizes[a] = N
        ds.append(
            dict(
                abbr=a,
                type="X",
                reader_cfg=dict(test_range=rng),
                infer_cfg=dict(prompt_template=dict(template=t)),
                _kind=kind,
            )
        )
    models = [dict(abbr=f"m{i}", path=f"p{i}") for i in range(r.choice([1, 1, 2]))]
    part = r.choice(["size", "size", "num_worker", "num_worker", "naive"])
    if part == "size":
        cfg = dict(
            max_task_size=r.choice([100, 2000, 2000, 40000, r.randint(40, 5000)]),
            gen_task_coef=r.choice([1, 20, 20, 7]),
            strategy=r.choice(["heuristic", "heuristic", "split"]),
        )
        P = SizePartitioner
    elif part == "num_worker":
        cfg = dict(
            num_worker=r.choice([1, 2, 3, 8, 16]),
            num_split=r.choice([None, None, 1, 4]),
            min_task_size=r.choice([16, 16, 1, 50]),
            strategy=r.choice(["heuristic", "heuristic", "split"]),
        )
        P = NumWorkerPartitioner
    else:
        cfg = dict(n=1)
        P = NaivePartitioner
    out = tempfile.mkdtemp()
    p = P(out_dir=out, **({k: v for k, v in cfg.items()}))
    if part != "naive":
        p.dataset_size_path = "none.json"
        p._dataset_size = dict(sizes)
    try:
        tasks = p.partition(
            [dict(models=[ConfigDict(m) for m in models], datasets=[ConfigDict(d) for d in ds])], "w", out
        )
    except ZeroDivisionError:
        continue
    except ValueError as e:
        continue
    res = []
    for t in tasks:
        L = []
        for d in t["datasets"][0]:
            b = d["abbr"]
            root = max([a for a in sizes if b == a or b.startswith(a + "_")], key=len)
            rng = d["reader_cfg"].get("test_range", "")
            idx = list(eval("range(%d)%s" % (sizes[root], rng)))
            base = [x for x in ds if x["abbr"] == root][0]["reader_cfg"]["test_range"]
            full = list(eval("range(%d)%s" % (sizes[root], base)))
            if idx:
                s = full.index(idx[0])
                L.append([root, s, s + len(idx)])
        res.append([t["models"][0]["abbr"], L])
    cases.append(
        dict(
            partitioner=part,
            config={k: v for k, v in cfg.items() if v is not None},
            models=[m["abbr"] for m in models],
            datasets=[
                dict(
                    abbr=d["abbr"],
                    kind=d["_kind"],
                    rows=len(eval("range(%d)%s" % (sizes[d["abbr"]], d["reader_cfg"]["test_range"]))),
                )
                for d in ds
            ],
            tasks=res,
        )
    )
cases = [c for c in cases if len(json.dumps(c)) < 1500 and all(d["rows"] for d in c["datasets"])][:150]
open(HERE + "/partitions.json", "w").write(
    "[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n"
)

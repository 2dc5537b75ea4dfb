"""Writes swce.json and ../../../src/executor/swce_vectors.json: what OpenCompass 0.5.4's own SWCELossInferencer,
SlidingWindowEvalDataset and BPCEvaluator make of the demo's model, and which targets their masks leave.

    python make_swce.py OPENCOMPASS_TREE      # needs torch, transformers, numpy

Their classes are run from their source, with stand-ins for the packages around them. Batches are of two windows: with
batch_size = 1 the inferencer raises (`Expected input batch_size (49) to match target batch_size (0)`).
"""

import ast
import json
import math
import os
import sys
import typing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = Path(__file__).parent
CASES = [(48, 16), (200, 64), (511, 100), (64, 64), (20, 30)]


class Rows:
    """`datasets.Dataset`: Arrow turns arrays into lists of Python's integers."""

    @staticmethod
    def from_list(items):
        return [dict(item, encoding=[int(token) for token in item["encoding"]]) for item in items]


def classes(tree):
    source = tree / "opencompass/openicl/icl_inferencer/icl_sw_ce_loss_inferencer.py"
    body = [node for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef)]
    register = SimpleNamespace(register_module=lambda: lambda found: found)
    names = {name: getattr(typing, name) for name in ["List", "Optional", "Tuple", "Union"]}
    names.update(np=np, torch=torch, math=math, os=os, mmengine=None, Dataset=Dataset, DataLoader=DataLoader, HFDataset=Rows)
    names.update(BaseInferencer=object, BaseModel=object, BaseRetriever=object, PromptTemplate=object, ICL_INFERENCERS=register)
    names.update(tqdm=lambda items, disable: items, logger=SimpleNamespace(info=lambda *_: None), dump_results_dict=lambda *_: None)
    exec(compile(ast.Module(body, []), str(source), "exec"), names)
    return names["SWCELossInferencer"], names["SlidingWindowEvalDataset"]


def texts():
    made = ["The count of the day: " + " ".join(str((i * i + 7 * r) % 97) for i in range(40 + 25 * r)) + "\n" for r in range(6)]
    made[2] = "Né à “Zürich”, 问题 😀 — " + made[2]
    return made + ["a"]


def targets(windows, tokens, block, stride):
    found = windows([dict(prompt="x" * tokens, encoding=list(range(tokens)))], block_size=block + 1, stride=stride)
    items = (found[at] for at in range(max(0, math.floor((tokens - block - 1) / stride + 1))))
    return [item["input_ids"][1:][item["attention_mask"][1:]].tolist() for item in items]


def main():
    inferencer, windows = classes(Path(sys.argv[1]))
    vectors = []
    for block in (1, 2, 5, 8):
        for stride in (1, 2, 3, 5, 6, 8, 11):
            for tokens in (1, 2, block, block + 1, block + 2, block + stride, block + 1 + stride, 23):
                case = dict(tokens=tokens, block=block, stride=stride, targets=targets(windows, tokens, block, stride))
                vectors += [case] if case not in vectors else []
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in vectors)
    (HERE / "../../../src/executor/swce_vectors.json").write_text(f"[\n{lines}\n]\n")

    path = str(HERE / "../../../../../deploy/demo/model")
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    corpus = texts()
    retriever = SimpleNamespace(
        retrieve=lambda: [[] for _ in corpus],
        generate_prompt_for_generate_task=lambda at, **_: corpus[at],
        dataset_reader=SimpleNamespace(output_column=None),
    )
    cases = []
    for block, stride in CASES:
        run = inferencer.__new__(inferencer)
        run.model = SimpleNamespace(model=model, tokenizer=tokenizer)
        run.max_seq_len, run.batch_size, run.block_size, run.stride, run.save_every = None, 2, block, stride, None
        run.output_json_filepath, run.output_json_filename, run.is_main_process = "/nowhere", "none", False
        batches = run.inference(retriever)
        encoded = [dict(prompt=text, encoding=tokenizer.encode(text)) for text in corpus]
        losses = []
        for window in DataLoader(windows(encoded, block_size=block + 1, stride=stride), 1):
            tokens, mask = window["input_ids"], window["attention_mask"]
            with torch.no_grad():
                logits = model(tokens[:, :block]).logits
                losses.append(run._get_cross_entropy(logits, tokens[:, 1:], attention_mask=mask[:, 1:]).item())
        loss, characters = sum(batch["loss"] for batch in batches), batches[0]["total_chr_num"]
        bpc = float(loss / (characters * np.log(2)))
        cases.append(dict(block_size=block, stride=stride, characters=characters, windows=losses, loss=loss, bpc=bpc))
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE / "swce.json").write_text(f'{{"texts": {json.dumps(corpus, ensure_ascii=False)},\n"cases": [\n{lines}\n]}}\n')


main()

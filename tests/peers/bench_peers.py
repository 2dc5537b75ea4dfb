#!/usr/bin/env python3
"""Whole jobs side by side: the same data sets and the same model run by OpenCompass or lm-eval and by Compass.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install -r tests/peers/requirements.txt
    /tmp/peers/bin/pip install --no-deps opencompass==0.5.4     # its own list pins versions that it can do without
    cargo build --release -p compass-master -p compass-worker
    /tmp/peers/bin/python tests/peers/bench_peers.py opencompass --data DIR --tokenizer DIR
    /tmp/peers/bin/python tests/peers/bench_peers.py lm-eval --data DIR --tokenizer DIR

DIR holds mmlu/{dev,test}, piqa, gsm8k and hellaswag as their publishers lay them out, and a tokenizer.json. The model is a
random Llama of 17 million parameters, made for each seed. Everything is run from the command line as a user would,
start-up and loading included, on the CPU in fp32: Compass as it is by itself, OpenCompass with --max-num-workers 2, lm-eval
with its own threads. Printed are wall and processor time of both (children included), and how far their scores agree sample
by sample; the last lines are `cpu ratio: X` and `ratio: X`, the peer's time over ours. Exit 1 where a score differs.
"""

import argparse
import csv
import ctypes
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

SUBJECTS = ["clinical_knowledge", "college_chemistry", "high_school_geography", "moral_disputes"]
# Per-token losses and log-likelihoods that differ by more are not the same.
TOLERANCE = 1e-3


def model(folder, tokenizer, seed):
    """A random Llama whose states neither vanish nor explode; every 331st token ends a text."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=50304, hidden_size=256, intermediate_size=704, num_hidden_layers=5, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=4096, rms_norm_eps=1e-5, tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=list(range(1, 50304, 331)), pad_token_id=1)
    llama = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, weight in llama.named_parameters():
            if weight.dim() == 2:
                deviation = 0.15 if "embed" in name else weight.shape[1] ** -0.5
                weight.uniform_(-0.5, 0.5).mul_(deviation * 12**0.5)
    llama.save_pretrained(folder)
    shutil.copy(tokenizer / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "pad_token": "<|padding|>",
        "model_max_length": 4096, "model_input_names": ["input_ids", "attention_mask"], "clean_up_tokenization_spaces": False}))


def adopt_orphans():
    """Makes this process the parent of all that it starts and that outlives its own parent."""
    subreaper = 36
    ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)


def timed(command, cwd, log, **env):
    """Runs a command to its end; (wall seconds, processor seconds of it and its children)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with open(log, "w") as out:
        code = subprocess.run(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **env}).returncode
    wall = time.monotonic() - start
    # A process that was left without a parent has come to this process: without its time the sum would be too small.
    try:
        while os.waitpid(-1, 0):
            pass
    except ChildProcessError:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code:
        print(Path(log).read_text()[-4000:])
        sys.exit(f"{command[0]} ended with {code}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compass(args, work, config):
    (work / "eval.toml").write_text(config)
    command = [str(args.compass / "compass-master"), "--config", "eval.toml", "-w", "ours"]
    seconds = timed(command, work, work / "compass.log")
    run = max(glob.glob(str(work / "ours" / "2*")))
    facts = json.loads(Path(run, "logs", "run.json").read_text())
    print(next(line for line in (work / "compass.log").read_text().splitlines() if line.startswith("tokens:")))
    predictions = {}
    for path in glob.glob(f"{run}/predictions/random/*.json"):
        predictions[Path(path).stem] = json.loads(Path(path).read_text())
    return seconds, predictions, facts


def rows(path, limit):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(limit), lines)]


def write_rows(path, what):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in what))


def report(name, theirs, ours, differ, samples):
    print(f"{name}: wall {theirs[0]:.1f} s, processor {theirs[1]:.1f} s")
    print(f"compass: wall {ours[0]:.1f} s, processor {ours[1]:.1f} s")
    print(f"scores: {samples} samples compared, {differ} differ")
    print(f"cpu ratio: {theirs[1] / ours[1]:.1f}")
    print(f"ratio: {theirs[0] / ours[0]:.1f}")
    return 1 if differ or not samples else 0


def opencompass(args, work):
    """MMLU 5-shot and PIQA by perplexity, GSM8K by generation, as its own configurations ask them."""
    data = work / "data"
    for split in ("dev", "test"):
        (data / "mmlu" / split).mkdir(parents=True)
        for subject in args.subjects:
            shutil.copy(args.data / "mmlu" / split / f"{subject}_{split}.csv", data / "mmlu" / split)
    for theirs, ours in (("train", "valid"), ("dev", "valid")):
        (data / "piqa").mkdir(exist_ok=True)
        for end in (".jsonl", "-labels.lst"):
            # Without the ids, which its loader deletes, every row must still have one.
            text = (args.data / "piqa" / (ours + end)).read_text()
            if end == ".jsonl":
                text = "".join(json.dumps({"id": "", **json.loads(line)}) + "\n" for line in text.splitlines())
            (data / "piqa" / (theirs + end)).write_text(text)
    (data / "gsm8k").mkdir()
    shutil.copy(args.data / "gsm8k" / "test.jsonl", data / "gsm8k")
    write_rows(data / "gsm8k" / "train.jsonl", rows(args.data / "gsm8k" / "test.jsonl", 5))
    limits = {"mmlu": args.mmlu, "piqa": args.piqa, "gsm8k": args.gsm8k}
    (work / "peer.py").write_text(f"""
from mmengine.config import read_base
with read_base():
    from opencompass.configs.datasets.mmlu.mmlu_ppl_ac766d import mmlu_datasets
    from opencompass.configs.datasets.piqa.piqa_ppl_1cf9f0 import piqa_datasets
    from opencompass.configs.datasets.gsm8k.gsm8k_gen_1d7fe4 import gsm8k_datasets
from opencompass.models import HuggingFaceBaseModel
limits = {limits!r}
mmlu_datasets = [one for one in mmlu_datasets if one['name'] in {args.subjects!r}]
datasets = []
for name, sets in (('mmlu', mmlu_datasets), ('piqa', piqa_datasets), ('gsm8k', gsm8k_datasets)):
    for one in sets:
        if limits[name]:
            one['reader_cfg']['test_range'] = f"[:{{limits[name]}}]"
            # Batches of texts give other numbers than texts alone (it pads on the left and scores the padding too).
            one['infer_cfg']['inferencer']['batch_size'] = 8 if name == 'gsm8k' else {args.batch}
            datasets.append(one)
gsm8k_datasets[0]['infer_cfg']['inferencer']['max_out_len'] = {args.out_len}
models = [dict(type=HuggingFaceBaseModel, abbr='random', path={str(work / 'model')!r}, max_seq_len=4096,
               max_out_len={args.out_len}, batch_size=8, run_cfg=dict(num_gpus=0))]
""")
    config = f"""
data_dir = "data"
datasets = {json.dumps([f"mmlu_ppl_ac766d/lukaemon_mmlu_{subject}" for subject in args.subjects][:len(args.subjects) if args.mmlu else 0]
                       + ["piqa_ppl_1cf9f0"] * bool(args.piqa) + ["gsm8k_gen_1d7fe4"] * bool(args.gsm8k))}
[[model]]
abbr = "random"
path = "model"
max_seq_len = 4096
max_out_len = {args.out_len}
"""
    inherit = []
    for subject in args.subjects if args.mmlu else []:
        inherit.append((f"lukaemon_mmlu_{subject}", args.mmlu, ""))
    if args.piqa:
        inherit.append(("piqa", args.piqa, ""))
    if args.gsm8k:
        inherit.append(("gsm8k", args.gsm8k, f"infer_cfg = {{ inferencer = {{ type = \"gen\", max_out_len = {args.out_len} }} }}"))
    for abbr, limit, more in inherit:
        config += f"[[dataset]]\nabbr = \"{abbr}\"\nreader_cfg = {{ test_range = \"[:{limit}]\" }}\n{more}\n"
    ours, mine, facts = compass(args, work, config)
    environment = {"COMPASS_DATA_CACHE": str(work), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [str(Path(sys.executable).with_name("opencompass")), "peer.py", "-w", "theirs", "--max-num-workers", "2"]
    theirs = timed(command, work, work / "peer.log", **environment)
    samples = differ = 0
    parts = {}
    for path in glob.glob(str(work / "theirs" / "2*" / "predictions" / "random" / "*.json")):
        name, part = re.fullmatch(r"(.*?)(?:_(\d+))?", Path(path).stem).groups()
        parts.setdefault(name, []).append((int(part or 0), json.loads(Path(path).read_text())))
    for name, predicted in sorted(parts.items()):
        first = 0
        for _, part in sorted(predicted, key=lambda part: part[0]):
            for key, theirs_one in part.items():
                samples += 1
                our_one = mine.get(name, {}).get(str(first + int(key)))
                differ += our_one is None or not same(theirs_one, our_one)
            first += len(part)
    expected = sum(limit for _, limit, _ in inherit)
    if samples != expected:
        sys.exit(f"opencompass has {samples} predictions of {expected}: see {work}/theirs/*/logs")
    return report("opencompass 0.5.4", theirs, ours, differ, samples)


def same(theirs, ours):
    """Whether two predictions agree: all perplexities, or the text."""
    losses = [key for key in theirs if key.startswith("label: ")]
    if any(abs(theirs[key]["PPL"] - ours[key]["PPL"]) > TOLERANCE for key in losses):
        return False
    return str(theirs["prediction"]) == str(ours["prediction"])


def hellaswag(row):
    """As lm-eval's own task cleans a row."""
    def clean(text):
        text = re.sub("\\[.*?\\]", "", text.strip().replace(" [title]", ". "))
        return text.replace("  ", " ")

    context = row["ctx_a"] + " " + row["ctx_b"].capitalize()
    return {"text": clean(row["activity_label"] + ": " + context), "choices": [clean(one) for one in row["endings"]],
            "gold": int(row["label"])}


def mmlu(row):
    options = "".join(f"\n{letter}. {option}" for letter, option in zip("ABCD", row[1:5]))
    return {"text": f"{row[0].strip()}{options}\nAnswer:", "choices": list("ABCD"), "gold": "ABCD".index(row[5])}


def lm_eval(args, work):
    """MMLU 5-shot and HellaSwag 10-shot by log-likelihood, as its own tasks ask them, the first rows as shots."""
    tasks = []
    for subject in args.subjects if args.mmlu else []:
        split = lambda name: [mmlu(row) for row in csv.reader(open(args.data / "mmlu" / name / f"{subject}_{name}.csv"))]
        about = f"The following are multiple choice questions (with answers) about {subject.replace('_', ' ')}.\n\n"
        tasks.append((f"mmlu_{subject}", split("test")[:args.mmlu], split("dev")[:5], about))
    if args.hellaswag:
        every = [hellaswag(row) for row in rows(args.data / "hellaswag" / "hellaswag_val_subset.jsonl", 10 + args.hellaswag)]
        tasks.append(("hellaswag", every[10:], every[:10], ""))
    config = f"""
[[model]]
abbr = "random"
path = "model"
max_seq_len = 4096
"""
    (work / "tasks").mkdir()
    for name, test, train, about in tasks:
        write_rows(work / "data" / f"{name}.jsonl", test)
        write_rows(work / "data" / f"{name}_shots.jsonl", train)
        (work / "tasks" / f"{name}.yaml").write_text(json.dumps({
            "task": name, "dataset_path": "json", "output_type": "multiple_choice", "test_split": "test",
            "dataset_kwargs": {"data_files": {"test": str(work / "data" / f"{name}.jsonl"),
                                              "train": str(work / "data" / f"{name}_shots.jsonl")}},
            "fewshot_split": "train", "fewshot_config": {"sampler": "first_n"}, "num_fewshot": len(train),
            "description": about, "doc_to_text": "{{text}}", "doc_to_target": "{{gold}}", "doc_to_choice": "{{choices}}",
            "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]}))
        config += f"""
[[dataset]]
abbr = "{name}"
reader_cfg = {{ input_columns = ["text", "choices"], output_column = "gold" }}
eval_cfg = {{ evaluator = {{ type = "multiple_choice", metrics = ["acc"] }} }}
[dataset.test]
path = "data/{name}.jsonl"
[dataset.train]
path = "data/{name}_shots.jsonl"
[dataset.infer_cfg]
retriever = {{ type = "fix_k", ids = {list(range(len(train)))} }}
inferencer = "loglikelihood"
description = {json.dumps(about)}
prompt_template = "{{text}}"
options = "{{choices}}"
"""
    ours, mine, facts = compass(args, work, config)
    command = [str(Path(sys.executable).with_name("lm_eval")), "--model", "hf", "--model_args",
               f"pretrained={work / 'model'},dtype=float32", "--device", "cpu", "--tasks", ",".join(name for name, *_ in tasks),
               "--include_path", str(work / "tasks"), "--batch_size", str(args.batch), "--log_samples", "--output_path", "theirs"]
    environment = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(work / "cache")}
    theirs = timed(command, work, work / "peer.log", **environment)
    samples = differ = 0
    for name, test, *_ in tasks:
        (path,) = glob.glob(str(work / "theirs" / "*" / f"samples_{name}_2*.jsonl"))
        for line in rows(path, len(test)):
            samples += 1
            scores = [float(answer[0][0]) for answer in line["resps"]]
            our_one = mine[name].get(str(line["doc_id"]), {})
            our_scores = loglikelihoods(our_one)
            differ += len(scores) != len(our_scores) or any(
                abs(a - b) > TOLERANCE * max(1.0, abs(a)) for a, b in zip(scores, our_scores))
    return report("lm-eval 0.4.13", theirs, ours, differ, samples)


def loglikelihoods(prediction):
    return [option["Loglikelihood"] for key, option in prediction.items() if key.startswith("label: ")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["opencompass", "lm-eval"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--compass", type=Path, default=Path(__file__).parents[2] / "target" / "release")
    parser.add_argument("--work", type=Path, required=True, help="a folder to be made")
    parser.add_argument("--subjects", nargs="+", default=SUBJECTS)
    parser.add_argument("--mmlu", type=int, default=25, help="questions of each subject; 0 leaves it out")
    parser.add_argument("--piqa", type=int, default=100)
    parser.add_argument("--gsm8k", type=int, default=16)
    parser.add_argument("--hellaswag", type=int, default=100)
    parser.add_argument("--out-len", type=int, default=256, help="tokens that an answer may have")
    parser.add_argument("--batch", type=int, default=1, help="the peer's batches of texts to score")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for name in ("data", "tokenizer", "compass", "work"):
        setattr(args, name, getattr(args, name).resolve())
    adopt_orphans()
    args.work.mkdir(parents=True)
    model(args.work / "model", args.tokenizer, args.seed)
    sys.exit((opencompass if args.peer == "opencompass" else lm_eval)(args, args.work))


if __name__ == "__main__":
    main()

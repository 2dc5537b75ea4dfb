"""Writes tasks.json: whole tasks of lm-eval 0.4.13 on the demo's model, every request and every score.

Run from the repository root with torch 2.11, transformers 4.57 and lm_eval 0.4.13 importable, on the CPU, offline. The
tasks, their rows and the chat templates are this script's own; nothing of lm-eval is rewritten here. A task's `compass`
is the same task as lines of a `[dataset.infer_cfg]`.
"""

import importlib.util
import json
import os
import shutil
import tempfile
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["HF_DATASETS_OFFLINE"] = os.environ["HF_HUB_OFFLINE"] = "1"

import lm_eval  # noqa: E402
import torch  # noqa: E402
import yaml  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

torch.set_num_threads(1)
HERE = Path(__file__).parent
MODEL = HERE.parents[3].parent / "deploy/demo/model"

NAMES = ["Tom", "Anna", "Rex", "Ben", "Lily"]
THINGS = ["ball", "hat", "dog", "kite", "book"]
TEST = [
    {
        "question": f"{NAMES[i % 5]} has a {THINGS[i % 5]} and {i + 3} cats. {'He runs home. ' * (i % 4)}What does {NAMES[i % 5]} have?",
        "choices": [f"a {THINGS[i % 5]}", f"the {THINGS[(i + 1) % 5]} of {NAMES[(i + 2) % 5]}", "nothing", "a big red house"],
        "labels": [1, 0, 1, 0] if i % 3 == 0 else [1, 1, 0, 0] if i % 3 == 1 else [1, 0, 0, 0],
        "answer": "ABCD"[i % 4],
        "aliases": [f"a {THINGS[i % 5]}", " 18", " 17"],
    }
    for i in range(12)
]
TRAIN = [
    {
        "question": f"{NAMES[(i + 1) % 5]} sees {i + 1} birds near the {THINGS[(i + 2) % 5]}. What does {NAMES[(i + 1) % 5]} see?",
        "choices": [f"{i + 1} birds", "a fish", "nothing", "the sun"],
        "labels": [1, 0, 0, 0],
        "answer": "ABCD"[(i * 3) % 4],
        "aliases": [f"{i + 1} birds", "birds"],
    }
    for i in range(6)
]
CHAT = (
    "{% for m in messages %}{{ '[' + m['role'] + '] ' + m['content'] + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '[assistant] ' }}{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + (
    "{{ bos_token }}" + CHAT.replace("[' + m['role'] + '] ", "<' + m['role'] + '>").replace("[assistant] ", "<assistant>")
)

# name: lm-eval's task, the same in Compass, what judges it
# The first test row has no empty answer: lm-eval looks at the first letters of its answers alone, and stops where there is none.
CHOICE = "[{{answer}}] {{question}}"
POSITIONS = "[{% for label in labels %}{% if label %}{{ loop.index0 }}, {% endif %}{% endfor %}]"
LETTER = "{{'ABCD'.index(answer)}}"
SET = "{% set first = choices[0] %}{{ [first.strip(), choices[1], '' if question[0] != 'T' else 'x', choices[3]] }}"
def shots(k):
    return {"retriever": {"type": "first_n", "k": k}}


def jinja(source):
    return {"jinja": source}


QUESTION = "Q: {{question}}\nA:"
JOINED = ["all and Tom", "at on it", "og and a dog", "x y"]
BEGUN = "Q: {{question}}\nA: {{choices[0][:3]}}"
TASKS = {
    "letters": (
        {"doc_to_text": "Q: {{question.strip()}}\nA:", "doc_to_choice": "choices", "doc_to_target": LETTER, "num_fewshot": 5},
        {"prompt_template": jinja("Q: {{question.strip()}}\nA:"), "options": "{choices}", "gold": jinja(LETTER), **shots(5)},
        ["acc", "acc_norm"],
    ),
    "joined": (
        {"doc_to_text": BEGUN, "doc_to_choice": JOINED, "doc_to_target": LETTER, "target_delimiter": "", "num_fewshot": 3},
        {"prompt_template": jinja(BEGUN), "options": JOINED, "gold": jinja(LETTER), "target_delimiter": "", **shots(3)},
        ["acc", "acc_norm"],
    ),
    "several": (
        {"doc_to_text": QUESTION, "doc_to_choice": "{{choices}}", "doc_to_target": POSITIONS},
        {"prompt_template": jinja(QUESTION), "options": jinja("{{choices}}"), "gold": jinja(POSITIONS)},
        ["acc", "acc_norm"],
    ),
    "true_share": (
        {"doc_to_text": QUESTION, "doc_to_choice": "{{choices}}", "doc_to_target": 0, "process_results": "mc2"},
        {"prompt_template": jinja(QUESTION), "options": "{choices}", "gold": jinja(POSITIONS)},
        ["mc2"],
    ),
    "set_and_empty": (
        {"doc_to_text": CHOICE, "doc_to_choice": SET, "doc_to_target": LETTER, "num_fewshot": 2},
        {"prompt_template": jinja(CHOICE), "options": jinja(SET), "gold": jinja(LETTER), **shots(2)},
        ["acc"],
    ),
    "begun": (
        {"doc_to_text": "Q: {{question}}", "doc_to_choice": "choices", "doc_to_target": LETTER, "num_fewshot": 2,
         "gen_prefix": "The answer is", "description": "Answer well."},
        {"prompt_template": jinja("Q: {{question}}"), "options": "{choices}", "gold": jinja(LETTER),
         "gen_prefix": "The answer is", "description": "Answer well.", **shots(2)},
        ["acc", "acc_norm"],
    ),
    "aliases": (
        {"output_type": "generate_until", "doc_to_text": QUESTION, "doc_to_target": "aliases", "num_fewshot": 2,
         "generation_kwargs": {"until": ["\n"], "max_gen_toks": 6}},
        {"prompt_template": jinja(QUESTION), "target": "{aliases}", **shots(2)},
        ["exact_match"],
    ),
}
# run: tasks, most tokens, chat template, shots as turns
RUNS = {
    "plain": (list(TASKS), 512, None, True),
    "short": (["letters", "joined", "aliases"], 96, None, True),
    "turns": (["letters", "begun", "set_and_empty"], 512, CHAT, True),
    "one_turn": (["letters", "begun"], 512, CHAT, False),
    "no_system": (["begun"], 120, NO_SYSTEM, True),
}


def toml(value):
    """An inline value: JSON's strings, numbers and arrays are TOML's."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def process_results_mc2():
    path = Path(lm_eval.__file__).parent / "tasks/truthfulqa/utils.py"
    source = path.read_text().split("def process_results_mc2")[1].split("\ndef ")[0]
    space = {}
    exec("import numpy as np\ndef process_results_mc2" + source, space)
    return lambda doc, results: {
        "acc": float(space["process_results_mc2"]({"mc2_targets": {"labels": in_order(doc)[1]}}, in_order(doc, results)[0])["acc"])
    }


def in_order(doc, results=None):
    """lm-eval's function takes the right answers to stand first."""
    order = sorted(range(len(doc["labels"])), key=lambda at: -doc["labels"][at])
    return [results and results[at] for at in order], [doc["labels"][at] for at in order]


def task(name, config, metrics, folder):
    whole = {
        "task": name, "dataset_path": "json", "output_type": "multiple_choice",
        "dataset_kwargs": {"data_files": {"test": f"{folder}/test.jsonl", "train": f"{folder}/train.jsonl"}},
        "test_split": "test", "fewshot_split": "train", "fewshot_config": {"sampler": "first_n"},
        "metric_list": [{"metric": "acc" if metric == "mc2" else metric} for metric in metrics],
        **config,
    }
    if whole.get("process_results") == "mc2":
        whole["process_results"] = process_results_mc2()
    return whole


def main():
    document = {"test": TEST, "train": TRAIN, "tasks": {}, "runs": {}}
    for name, (_, compass, metrics) in TASKS.items():
        document["tasks"][name] = {"compass": "".join(f"{key} = {toml(value)}\n" for key, value in compass.items()), "metrics": metrics}
    for run, (names, length, template, turns) in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            for split, rows in (("test", TEST), ("train", TRAIN)):
                Path(folder, split + ".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            model = Path(folder, "model")
            shutil.copytree(MODEL, model)
            settings = json.loads((model / "tokenizer_config.json").read_text())
            settings |= {"model_input_names": ["input_ids", "attention_mask"], **({"chat_template": template} if template else {})}
            (model / "tokenizer_config.json").write_text(json.dumps(settings))
            lm = HFLM(pretrained=str(model), dtype="float32", max_length=length, batch_size=1, device="cpu")
            tasks = [task(name, TASKS[name][0], TASKS[name][2], folder) for name in names]
            results = lm_eval.simple_evaluate(
                lm, tasks=tasks, log_samples=True, apply_chat_template=bool(template), fewshot_as_multiturn=turns,
                bootstrap_iters=0, task_manager=TaskManager(include_defaults=False))
        record = {"max_length": length, "chat_template": template, "fewshot_as_multiturn": turns, "tasks": {}}
        for name in names:
            samples = sorted(results["samples"][name], key=lambda sample: sample["doc_id"])
            metrics = ["acc" if metric == "mc2" else metric for metric in TASKS[name][2]]
            record["tasks"][name] = {
                "metrics": {key: value for key, value in results["results"][name].items() if key.split(",")[0] in metrics},
                "samples": [
                    {"arguments": [list(argument)[:2] for argument in sample["arguments"]], "resps": [one[0] for one in sample["resps"]],
                     **{metric: float(sample[metric]) for metric in metrics}}
                    for sample in samples
                ],
            }
        document["runs"][run] = record
    (HERE / "tasks.json").write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n")


main()

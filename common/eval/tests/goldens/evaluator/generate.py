"""Writes cases.json for evaluator_goldens.rs: what OpenCompass's own evaluators make of outputs of this script's own.

    pip install opencompass==0.5.4 --no-deps
    pip install datasets evaluate scikit-learn scipy rapidfuzz jieba rouge_chinese
    python generate.py FOLDER_THAT_HOLDS_opencompass

OpenCompass is not imported whole: the files that define the evaluators are loaded one by one, with stand-ins for its
registry, its logger and mmengine, none of which compute anything.
"""

import importlib.util
import json
import pathlib
import random
import sys
import types

ROOT = pathlib.Path(sys.argv[1]) / "opencompass"


class Registry:
    def register_module(self, *args, **kwargs):
        return lambda thing: thing

    def get(self, name):
        return None


class Stand(types.ModuleType):
    """A module any attribute of which is a registry or a class that does nothing."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Registry() if name.isupper() else type(name, (), {})


def stand(name, **attributes):
    module = Stand(name)
    module.__dict__.update(attributes)
    sys.modules[name] = module
    return module


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Quiet:
    def __getattr__(self, name):
        return lambda *args, **kwargs: None


for name in ["mmengine", "mmengine.config", "opencompass", "opencompass.registry", "opencompass.openicl", "opencompass.datasets"]:
    stand(name)
stand("opencompass.utils", get_data_path=lambda path, **kwargs: path)
stand("opencompass.utils.logging", get_logger=lambda *args, **kwargs: Quiet())
stand("opencompass.datasets.base", BaseDataset=object)
load("opencompass.utils.text_postprocessors", "utils/text_postprocessors.py")
EVALUATORS = stand("opencompass.openicl.icl_evaluator")
base = load("opencompass.openicl.icl_evaluator.icl_base_evaluator", "openicl/icl_evaluator/icl_base_evaluator.py")
EVALUATORS.BaseEvaluator = sys.modules["opencompass.openicl"].BaseEvaluator = base.BaseEvaluator


def evaluators(stem):
    return load(f"opencompass.openicl.icl_evaluator.{stem}", f"openicl/icl_evaluator/{stem}.py")


hf = evaluators("icl_hf_evaluator")


class Matthews:
    """`evaluate`'s metric of that name, which would be fetched from the hub: scikit-learn's, and nothing else."""

    def compute(self, predictions, references):
        from sklearn.metrics import matthews_corrcoef

        return {"matthews_correlation": float(matthews_corrcoef(references, predictions))}


fetch = hf.evaluate.load
hf.evaluate.load = lambda name: Matthews() if name == "matthews_correlation" else fetch(name)
em = evaluators("icl_em_evaluator")
circular = evaluators("icl_circular_evaluator")
auc = evaluators("icl_aucroc_evaluator")
misc = evaluators("icl_misc_evaluator")
gsm8k = load("opencompass.datasets.gsm8k", "datasets/gsm8k.py")
gaokao = load("opencompass.datasets.GaokaoBench", "datasets/GaokaoBench.py")
crowspairs = load("opencompass.datasets.crowspairs", "datasets/crowspairs.py")
trivia = load("opencompass.datasets.triviaqa", "datasets/triviaqa.py")
bbh = load("opencompass.datasets.bbh", "datasets/bbh.py")
mgsm = load("opencompass.datasets.mgsm", "datasets/mgsm.py")

random.seed(20261121)
CASES = []


def add(name, spec, reading, golds, answers, results, n=1, k=(1,)):
    """One data set; `answers` has n lists, one per run, each in order of the samples."""
    figures = {key: float(value) for key, value in results.items() if key not in ("details", "type") and "/" not in key}
    samples = [{"gold": gold, "answers": [run[at] for run in answers]} for at, gold in enumerate(golds)]
    CASES.append(
        {"name": name, "evaluator": spec, "reading": reading, "n": n, "k": list(k), "samples": samples, "results": figures}
    )


def run(evaluator, golds, answers, n=1, k=(1,), **extra):
    rows = [{"subdivision": "d", "idx": at} for _ in range(n) for at in range(len(golds))]
    flat = [answer for run in answers for answer in run]
    arguments = {"predictions": flat, "references": golds * n, "origin_prompt": [""] * len(flat)}
    arguments.update(extra)
    wanted = evaluator.score.__code__.co_varnames[1 : evaluator.score.__code__.co_argcount]
    arguments = {key: arguments[key] for key in wanted if key in arguments}
    return evaluator.evaluate(list(k), n, rows, **arguments)


def draw(vocabulary, size):
    return [random.choice(vocabulary) for _ in range(size)]


LETTERS = ["A", "B", "C", "D", "", "a", "Ａ", "A ", "E\n", "😀"]
SIZES = [1, 2, 3, 7, 22, 40, 129]

for size in SIZES:
    golds, answers = draw(LETTERS[:4], size), draw(LETTERS, size)
    add(f"acc {size}", {"type": "acc"}, "text", golds, [answers], run(hf.AccEvaluator(), golds, [answers]))
    golds, answers = draw(["A", 1, "1", 2.0, True, ["A"]], size), draw(["A", "1", "2.0", "True"], size)
    add(f"details {size}", {"type": "acc_with_details"}, "text", golds, [answers], run(hf.AccwithDetailsEvaluator(), golds, [answers]))
    golds = draw([["Paris", "the city of light"], ["42"], ["An apple, red"], ["名前"]], size)
    answers = draw(["Paris.", "the Paris", "City of light, yes", "42\n", "apple", "apple red", "名前。", "", "a an the"], size)
    add(f"em {size}", {"type": "em"}, "text", golds, [answers], run(em.EMEvaluator(), golds, [answers]))
    golds, answers = draw(["18", "-3", "1000"], size), draw(["18", "18.0", "-3", "NULL", "1000.0000001", "1,000", "٣"], size)
    add(f"gsm8k {size}", {"type": "gsm8k"}, "text", golds, [answers], run(gsm8k.Gsm8kEvaluator(), golds, [answers]))
    golds, answers = draw(["yes", "no", "maybe"], size), draw(["yes", "no", "maybe", "never"], size)
    add(f"mcc {size}", {"type": "mcc"}, "text", golds, [answers], run(hf.MccEvaluator(), golds, [answers]))
    golds, answers = draw(["A", "B"], size), draw(["A", "B", "invalid"], size - 1) + ["A"]
    add(f"crowspairs {size}", {"type": "crows_pairs"}, "text", golds, [answers], run(crowspairs.CrowspairsEvaluator(), golds, [answers]))
    candidates = [["yes", "no"], [["positive", "good"], ["negative", "bad", "awful"]], ["", "naïve"], ["日本", "中国", "한국"]]
    golds = [{"candidates": options, "label": random.randrange(len(options))} for options in draw(candidates, size)]
    answers = draw(["yes!", "nope", "bad", "goodness", "", "中国", "naive", "日本国"], size)
    add(f"ed_acc {size}", {"type": "ed_acc"}, "text", golds, [answers], run(hf.EDAccEvaluator(), golds, [answers]))
    golds, answers = draw([["Rome", "the Eternal City"], ["7"], ["Zürich"]], size), draw(
        ["The answer is Rome.", "a: it was 17\nanswer: 3", "Answer: zürich!", "the eternal city of Rome", ""], size
    )
    spec = {"type": "check", "check": "trivia_qa"}
    add(f"triviaqa {size}", spec, "text", golds, [answers], run(trivia.TriviaQAEvaluator(), golds, [answers]))
    golds, answers = draw(["(A)", "(B)", "True", "8"], size), draw(["(A)", "(B) x", "so the answer is True.", "8.", "TRUE"], size)
    spec = {"type": "check", "check": "bbh"}
    add(f"bbh {size}", spec, "text", golds, [answers], run(bbh.BBHEvaluator(), golds, [answers]))
    spec = {"type": "check", "check": "bbh_mcq"}
    add(f"bbh_mcq {size}", spec, "text", golds, [answers], run(bbh.BBHEvaluator_mcq(), golds, [answers]))
    spec = {"type": "check", "check": "mgsm"}
    add(f"mgsm {size}", spec, "text", golds, [answers], run(mgsm.MGSM_Evaluator(), golds, [answers]))
    scores = [random.uniform(0.5, 9.0) for _ in range(size)]
    add(f"average_ppl {size}", {"type": "average_ppl"}, "mean", [None] * size, [scores], misc.AveragePPLEvaluator().score(scores))

for question, keys in [
    ("single_choice", [["A"], ["C"]]),
    ("multi_choice", [["AB"], ["ACD"], ["B"]]),
    ("multi_question_choice", [["A", "B", "C"], ["D", "D"]]),
    ("five_out_of_seven", [["A", "C", "E", "G", "B"]]),
]:
    outputs = ["【答案】 A <eoa> 【答案】B", "so A, then C", "答案是 ACD", "【解析】x【答案】AB", "", "BBB", "A C E G B", "【答案】:D 【答案】:D"]
    for size in [1, 5, 30]:
        golds, answers = draw(keys, size), draw(outputs, size)
        spec = {"type": "gaokao", "question": question}
        add(f"gaokao {question} {size}", spec, "text", golds, [answers], run(gaokao.GaokaoBenchEvaluator(question), golds, [answers]))

for questions in [1, 2, 9, 40]:
    golds, answers = [], []
    for index in range(questions):
        for pattern in circular.CircularEvaluator().cp4:
            golds.append(f"{index}--{random.choice('ABCD')}--{pattern}")
            answers.append(random.choice(["A", "B", "C", "D", "", "E", "A."]))
    add(f"circular {questions}", {"type": "circular"}, "text", golds, [answers], circular.CircularEvaluator().score(answers, golds))

for size in [4, 11, 60]:
    golds = [0, 1] + [random.randrange(2) for _ in range(size - 2)]
    first = [random.choice([0.1, 0.25, 0.5, 0.75, 0.9]) for _ in range(size)]
    answers = [[probability, 1 - probability] for probability in first]
    add(f"auc_roc {size}", {"type": "auc_roc"}, "choices", golds, [answers], auc.AUCROCEvaluator().score(answers, golds))

for n, k in [(2, [1]), (3, [1, 2]), (4, [4]), (8, [2, 5, 8]), (10, [1, 3])]:
    for size in [1, 6, 33] + [150] * (n == 3):
        golds = draw(["A", "B"], size)
        answers = [draw(["A", "B", "C"], size) for _ in range(n)]
        results = run(hf.AccwithDetailsEvaluator(), golds, answers, n, k)
        add(f"replicas {n} {k} {size}", {"type": "acc_with_details"}, "text", golds, answers, results, n, k)

pathlib.Path(__file__).with_name("cases.json").write_text(
    "[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in CASES) + "\n]\n", encoding="utf-8"
)
print(len(CASES), "cases")

"""Writes circular.json here and in compass-eval's goldens: what OpenCompass's CircularEval makes of rows and of answers.

Run with `datasets` installed, and name OpenCompass's package (0.5.4 was used): `python circular.py OPENCOMPASS`, in this folder. Its
`datasets/circular.py` is run as it is, over stand-ins of the classes that it imports.
"""

import json
import pathlib
import random
import sys

from datasets import Dataset, DatasetDict

BASES = ("ARCDataset CEvalDataset CMMLUDataset commonsenseqaDataset HellaswagDataset_V2 MMLUDataset OBQADataset PIQADatasetV2 "
         "RaceDataset SiqaDatasetV3 XiezhiDataset")
ABCD = list("ABCD")


def functions(package):
    head, rest = (pathlib.Path(package) / "datasets/circular.py").read_text().split("from opencompass.openicl", 1)
    space = {"BaseEvaluator": type("BaseEvaluator", (), {})} | {name: type(name, (), {}) for name in BASES.split()}
    exec(head + "def get_origin_patterns" + rest.split("def get_origin_patterns", 1)[1], space)
    return space


def questions(count, options, answer):
    texts = [{option: f"{option} of {at}" for option in options} for at in range(count)]
    return [{"id": at, "question": f"q{at} «é»?", **texts[at], answer: options[at % len(options)]} for at in range(count)]


def letters(rows, answer, letter):
    return [{**row, answer: letter(row[answer])} for row in rows]


def rows(space):
    arc = letters(questions(4, ["textA", "textB", "textC", "textD"], "answerKey"), "answerKey", lambda name: name[-1])
    piqa = letters(questions(2, ["sol1", "sol2"], "answer"), "answer", lambda name: "AB"[int(name[-1]) - 1])
    unanswered = letters(questions(1, ABCD, "answer"), "answer", lambda _: "")
    every = {"circular_patterns": "all_possible"}
    # Class, rows of the class that it names, whether that gives splits, which split is taken, parameters.
    for name, data, has_splits, split, parameters in [
        ("CircularCEvalDataset", questions(3, ABCD, "answer") + unanswered, True, "val", {}),
        ("CircularCEvalDataset", questions(2, ABCD, "answer"), True, "dev", {}),
        ("CircularMMLUDataset", questions(2, ABCD, "target"), True, "test", every),
        ("CircularCMMLUDataset", questions(1, ABCD, "answer"), True, "test", {}),
        ("CircularCSQADataset", questions(2, list("ABCDE"), "answerKey"), True, "validation", {}),
        ("CircularARCDataset", arc, False, "test", {}),
        ("CircularHSWAGDataset", questions(2, ABCD, "label"), False, "train", {}),
        ("CircularOBQADataset", questions(1, ABCD, "answerKey"), False, "test", {}),
        ("CircularXiezhiDataset", questions(1, ABCD, "answer"), True, "test", {}),
        ("CircularsiqaDataset", questions(2, list("ABC"), "answer"), True, "validation", every),
        ("CircularPIQADataset", piqa, True, "validation", {}),
        ("CircularPIQADataset", letters(piqa[:1], "answer", lambda _: "NULL"), True, "validation", {}),
        ("CircularRaceDataset", questions(2, ABCD, "answer"), True, "test", {"option_keys": list("BAC"), "answer_key": "answer"}),
    ]:
        table = Dataset.from_list(data)
        loaded = DatasetDict({split: table}) if has_splits else table
        space[name].dataset_class.load = staticmethod(lambda: loaded)
        try:
            made = space[name].load(**parameters)
            made = [dict(row) for row in (made[split] if has_splits else made)]
        except ValueError as error:
            made = str(error)
        yield {"class": name, "split": split, "parameters": parameters, "rows": data, "made": made}


def scores(space):
    draw = random.Random(7)
    for pattern, orders, options, first, count in [
        ("circular", "circular", 4, 0, 24),
        ("all_possible", "all_possible", 3, 0, 24),
        ("circular", "all_possible", 3, 0, 20),
        ("all_possible", "circular", 4, 0, 16),
        ("circular", "circular", 4, 1, 13),
        ("circular", "circular", 5, 0, 25),
    ]:
        keys = list("ABCDE")[:options]
        data = Dataset.from_list(questions(10, keys, "answer"))
        data = space["CircularDatasetMeta"].make_circular(data, None, orders, keys, "answer", None)
        data = [dict(row) for row in data][first:first + count]
        golds = [row["answer"] for row in data]
        answers = [gold if draw.random() < 0.7 else draw.choice([*keys, ""]) for gold in golds]
        metrics = space["CircularEvaluator"](circular_pattern=pattern).score(answers, golds, data)
        asked = [[row["qid"], row["circular_pattern"], row["answer"]] for row in data]
        yield {"pattern": pattern, "asked": asked, "answers": answers, "metrics": list(metrics.items())}


def lines(records):
    return "[\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n]\n"


space = functions(sys.argv[1])
pathlib.Path("circular.json").write_text(lines(rows(space)))
pathlib.Path("../../../eval/tests/goldens/evaluator/circular.json").write_text(lines(scores(space)))

"""Files of CLUE, FewCLUE, SuperGLUE, GPQA, MMLU-Pro and MathBench as OpenCompass's download lays them out, with rows of our own
making: words drawn at random, among them placeholders, an ice token and line ends, which templates must not stumble over."""

import csv
import io
import json
import os
import random

import pandas as pd

R = random.Random(20)
ROOT = os.path.join(os.environ["COMPASS_DATA_CACHE"], "data")
ENGLISH = "amber basin {question} cedar delta ember's \"fjord\" grove harbor inlet — jade kettle {A} lagoon; north 3.14 oak {answer} plum {text} quartz </E> tidal {{umber}} vale \\n willow".split(" ")  # fmt: skip
PLAIN = "amber basin cedar delta fjord grove harbor inlet jade kettle lagoon meadow north oak plum quartz tidal".split()
CHINESE = "河流 山谷 {question} 银行 还款 为什么 {content} 天气 不错 “引号” 学生 {sentence1} 图书馆 明天 </E> 提前 额度 {label} 可以 吗".split(" ")  # fmt: skip


def words(n=None, of=ENGLISH):
    return " ".join(R.choice(of) for _ in range(n or R.randint(2, 7))) + R.choice(["", "", ".", "?", " ", "\n"])


def chinese(n=None):
    return "".join(R.choice(CHINESE) for _ in range(n or R.randint(2, 8))) + R.choice(["", "", "。", "？", "\n"])


def write(path, content):
    path = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def lines(path, row, count=5):
    write(path, "".join(json.dumps(row(i), ensure_ascii=R.random() < 0.3) + "\n" for i in range(count)))


def pair(labels, *, text=chinese, names=("sentence1", "sentence2"), **more):
    """Rows of two texts and a label; the labels come one after the other, so that each is there."""

    def row(i):
        made = {key: value(i) for key, value in more.items()}
        return made | {names[0]: text(), names[1]: text(), "label": labels[i % len(labels)]}

    return row


NLI = ["neutral", "-", "entailment", "contradiction", "neutral"]
lines("CLUE/AFQMC/dev.json", pair(["0", "1"]))
lines("CLUE/cmnli/cmnli_public/dev.json", pair(NLI))
lines("CLUE/OCNLI/dev.json", pair(NLI, level=lambda i: "easy", genre=lambda i: "news", id=lambda i: i))


def paragraphs():
    def qa(i):
        answer = {"text": chinese(2), "answer_start": i}
        return {"question": chinese(), "id": str(i), "answers": [answer, dict(answer, answer_start=9)]}

    return [{"id": str(i), "context": chinese(20), "qas": [qa(j) for j in range(1 + i % 3)]} for i in range(2)]


for name in ("CMRC", "DRCD"):
    data = [{"title": chinese(1), "id": str(i), "paragraphs": paragraphs()} for i in range(3)]
    write(f"CLUE/{name}/dev.json", json.dumps({"version": "v1.0", "data": data}, ensure_ascii=False))


def told(i):
    choices = [f"{chinese(1)}{letter}" for letter in "甲乙丙丁"[: 2 + i % 3]]
    return {"question": chinese(), "choice": choices, "answer": R.choice(choices)}


write(
    "CLUE/C3/dev_0.json",
    json.dumps([[[chinese(), chinese()], [told(j) for j in range(1 + i)], f"7-{i}"] for i in range(4)], ensure_ascii=False, indent=2),  # fmt: skip
)


def idiom(i):
    candidates = [f"成语{chr(ord('一') + j)}" for j in range(7)]
    return {"id": i, "candidates": candidates, "content": chinese() + "#idiom#" + chinese(), "answer": R.randrange(7)}


def who(i):
    text = f"小明把{R.choice(CHINESE)}放在桌上，因为它很重。"
    at = text.index("它")
    target = {"span1_text": "书包", "span1_index": 3, "span2_text": "它", "span2_index": at}
    return {"target": target, "idx": i, "label": R.choice(["true", "false"]), "text": text}


KINDS = "agriculture travel game tech sports edu entertainment finance military car house world culture story stock".split()
for file in ("dev_few_all", "test_public"):
    few = f"FewCLUE/%s/{file}.json"
    lines(few % "bustm", pair(["1", "0"], id=lambda i: i))
    lines(few % "ocnli", pair(NLI, id=lambda i: i))
    lines(few % "chid", idiom)
    lines(few % "cluewsc", who)
    lines(few % "csl", lambda i: {"id": i, "abst": chinese(12), "keyword": [chinese(1) for _ in range(1 + i)], "label": str(i % 2)})  # fmt: skip
    lines(few % "eprstmt", lambda i: {"id": i, "sentence": chinese(), "label": ["Positive", "Negative"][i % 2]})
    lines(few % "tnews", lambda i: {"label": str(100 + i), "label_desc": f"news_{KINDS[i]}", "sentence": chinese(), "keywords": chinese(1), "id": i}, 15)  # fmt: skip

ENTAILS = ["entailment", "not_entailment"]
lines("SuperGLUE/AX-b/AX-b.jsonl", pair(ENTAILS, text=words, idx=lambda i: i))
for name in ("AX-g/AX-g", "RTE/val"):
    lines(f"SuperGLUE/{name}.jsonl", pair(ENTAILS, text=words, names=("premise", "hypothesis"), idx=lambda i: i))
lines("SuperGLUE/CB/val.jsonl", pair(["neutral", "entailment", "contradiction"], text=words, names=("premise", "hypothesis"), idx=lambda i: i))  # fmt: skip
lines("SuperGLUE/COPA/val.jsonl", lambda i: {"premise": words(), "choice1": words(), "choice2": words(), "question": ["cause", "effect"][i % 2], "label": i % 2, "idx": i})  # fmt: skip
lines("SuperGLUE/BoolQ/val.jsonl", lambda i: {"question": R.choice("éxß") + words(), "passage": words(2) + R.choice([" -- ", " - "]) + words(8) + " -- " + words(2), "idx": i, "label": ["true", "false"][i % 2]}, 12)  # fmt: skip
lines(
    "SuperGLUE/MultiRC/val.jsonl",
    lambda i: {
        "idx": i,
        "version": 1.1,
        "passage": {
            "text": words(12),
            "questions": [
                {"question": words(), "answers": [{"text": words(), "idx": k, "label": (i + k) % 2} for k in range(1 + j)], "idx": j}  # fmt: skip
                for j in range(2)
            ],
        },
    },
    3,
)
lines(
    "SuperGLUE/ReCoRD/val.jsonl",
    lambda i: {
        "source": "Daily mail",
        "passage": {"text": words(6) + "\n@highlight\n\n" + words(4) + "\n@highlight\n\n" + words(2), "entities": []},
        "qas": [
            {"query": words(2) + " @placeholder " + words(2), "answers": [{"start": 1, "end": 2, "text": words(2)} for _ in range(1 + j)], "idx": j}  # fmt: skip
            for j in range(1 + i % 2)
        ],
        "idx": i,
    },
    3,
)


def refers(i):
    text = [R.choice(ENGLISH) for _ in range(12)]
    first, second = R.sample([1, 5, 9], 2)
    length = 1 + i % 3
    target = {"span1_text": " ".join(text[first : first + length]), "span1_index": first, "span2_text": text[second], "span2_index": second}  # fmt: skip
    return {"idx": i, "label": ["true", "false"][i % 2], "target": target, "text": " ".join(text)}


lines("SuperGLUE/WSC/val.jsonl", refers, 8)
lines("SuperGLUE/WiC/val.jsonl", lambda i: {"word": R.choice(PLAIN), "sentence1": words(), "sentence2": words(), "idx": i, "label": ["true", "false"][i % 2], "start1": 0, "start2": 1, "end1": 4, "end2": 5, "version": 1.1})  # fmt: skip

HEAD = ["Pre-Revision Question", "Pre-Revision Correct Answer", "Pre-Revision Incorrect Answer 1", "Pre-Revision Incorrect Answer 2", "Pre-Revision Incorrect Answer 3", "Pre-Revision Explanation", "Self-reported question-writing time (minutes)", "Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3", "Explanation", "Record ID"]  # fmt: skip
table = io.StringIO()
made = csv.writer(table)
made.writerow(HEAD)
for i in range(9):
    options = [f"{words(2)}{R.choice(['', chr(13) + chr(10) + 'so'])}" for _ in range(4)]
    if i == 6:
        options[2] = options[0]
    made.writerow([words() for _ in range(6)] + [str(i), words(), *options, words() + "\nthus", f"rec{i}"])
for name in ("diamond", "extended", "main"):
    write(f"gpqa/gpqa_{name}.csv", table.getvalue())

CATEGORIES = ["math", "physics", "chemistry", "law", "engineering", "other", "economics", "health", "psychology", "business", "biology", "philosophy", "computer science", "history"]  # fmt: skip


def pro(category, i, thought):
    options = [words(2) for _ in range(3 + (i + len(category)) % 8)]
    if i == 1:
        options[1] = "N/A"
    at = 1 if i == 1 and len(category) % 2 else R.randrange(len(options))
    return {
        "question_id": i,
        "question": words(),
        "options": options,
        "answer": "ABCDEFGHIJ"[at],
        "answer_index": at,
        "cot_content": f"A: Let's think step by step. {words()}" if thought else "",
        "category": category,
        "src": "made",
    }


os.makedirs(os.path.join(ROOT, "mmlu_pro/data"), exist_ok=True)
for split, count in (("test", 3), ("validation", 5)):
    rows = [pro(category, i, split != "test") for i in range(count) for category in CATEGORIES]
    pd.DataFrame(rows).to_parquet(os.path.join(ROOT, f"mmlu_pro/data/{split}-00000-of-00001.parquet"))

SETS = {
    "mathbench_v1": "college high middle primary arithmetic college_knowledge high_knowledge middle_knowledge primary_knowledge",
    "mathbench": "college high middle primary primary_refine arithmetic calculate",
}
for folder, sets in SETS.items():
    for name in sets.split():
        for language in ("cn", "en"):
            text = chinese if language == "cn" else words
            lines(f"{folder}/{name}/single_choice_{language}.jsonl", lambda i: {"question": f" {text()}", "options": [text(2) for _ in range(4)], "answer": R.choice("ABCD"), "topic": text(1)}, 3)  # fmt: skip
            for kind in ("cloze", "refine_cloze", "cloze_arith"):
                lines(f"{folder}/{name}/{kind}_{language}.jsonl", lambda i: {"question": f"{text()} ", "answer": f" {i}/7 "}, 3)

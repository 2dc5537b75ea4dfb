"""A data folder of our own making in OpenCompass's layout: every text is words drawn at random, among them placeholders, an
ice token, line ends and blanks, which templates must not stumble over."""

import csv
import io
import json
import os
import random

import pandas as pd

from opencompass_run import CONFIGS, load

R = random.Random(7)
W = 'amber basin {question} cedar delta ember\'s "fjord" grove {idx} harbor inlet — jade ñandú 河流 kettle {A} lagoon meadow; north; 3.14 oak {answer} plum quartz river </E> stone_ tidal {{umber}} vale \\n willow'.split(
    " "
)
P = 'amber basin cedar delta ember\'s "fjord" grove harbor, inlet — jade ñandú 河流 kettle lagoon: meadow. north 3.14 oak plum quartz river stone tidal vale willow'.split(
    " "
)


def s(n=None, plain=False):
    w = P if plain else W
    return " ".join(R.choice(w) for _ in range(n or R.randint(1, 6))) + R.choice(
        ["", "", " ", "?", ".", "\t", "\n"] if not plain else ["", "?", "."]
    )


ROOT = os.path.join(os.environ["COMPASS_DATA_CACHE"], "data")


def w(path, text):
    p = f"{ROOT}/{path}"
    os.makedirs(os.path.dirname(p), exist_ok=True)
    if isinstance(text, bytes):
        open(p, "wb").write(text)
    else:
        open(p, "w", encoding="utf-8", newline="").write(text)


def jl(path, rows):
    w(path, "".join(json.dumps(r, ensure_ascii=R.random() < 0.5) + "\n" for r in rows))


def cs(path, rows, header=None, delim=","):
    f = io.StringIO()
    c = csv.writer(f, delimiter=delim)
    if header:
        c.writerow(header)
    c.writerows(rows)
    w(path, f.getvalue())


N = 5


def rows(f, n=N):
    return [f(i) for i in range(n)]


def arc(i):
    labels = "ABCD" if i != 2 else "1234"
    k = 4 if i != 3 else 3
    return {
        "id": f"x{i}",
        "question": {"stem": s(), "choices": [{"text": s(), "label": labels[j]} for j in range(k)]},
        "answerKey": labels[R.randrange(k)],
    }


jl("ARC/ARC-c/ARC-Challenge-Dev.jsonl", rows(arc, 12))
jl("ARC/ARC-e/ARC-Easy-Dev.jsonl", rows(arc))
jl("ARC/ARC-c/ARC-Challenge-Test.jsonl", rows(arc))
jl("ARC/ARC-e/ARC-Easy-Test.jsonl", rows(arc))


def gaokao(path, cloze=False):
    w(
        path,
        json.dumps(
            {
                "keywords": "k",
                "example": rows(
                    lambda i: {
                        "year": "2010",
                        "category": "c",
                        "question": s(),
                        "answer": [R.choice("ABCD") for _ in range(1 + i % 3)],
                        "analysis": s(),
                        "index": i,
                        "score": 3,
                    }
                ),
            },
            ensure_ascii=False,
            indent=2,
        ),
    )


jl(
    "ifeval/input_data.jsonl",
    rows(lambda i: {"key": i, "prompt": s(), "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}),
)
jl(
    "SuperGLUE/BoolQ/val.jsonl",
    rows(lambda i: {"question": s(), "passage": s(20), "label": R.choice(["true", "false"])}, 12),
)
jl(
    "SuperGLUE/BoolQ/train.jsonl",
    rows(lambda i: {"question": s(), "passage": s(20), "label": R.choice(["true", "false"])}),
)
for f, ls in (("data", "et ht it id qu sw zh ta th tr vi"), ("data-gmt", "et ht it id sw zh ta th tr vi")):
    for l in ls.split():
        jl(
            f"xcopa/{f}/{l}/val.{l}.jsonl",
            rows(
                lambda i: {
                    "premise": s(),
                    "choice1": s(),
                    "choice2": s(),
                    "question": R.choice(["cause", "effect"]),
                    "label": R.randrange(2),
                    "changed": False,
                },
                2,
            ),
        )
jl("Xsum/dev.jsonl", rows(lambda i: {"dialogue": s(20), "summary": s()}))
AG = "lsat-ar lsat-lr lsat-rc logiqa-en sat-math sat-en aqua-rat sat-en-without-passage gaokao-english logiqa-zh jec-qa-kd jec-qa-ca gaokao-chinese gaokao-geography gaokao-history gaokao-biology gaokao-chemistry gaokao-physics gaokao-mathqa math gaokao-mathcloze".split()
for a in AG:
    cloze = a in ("math", "gaokao-mathcloze")

    def one(i):
        lab = (
            None
            if cloze
            else (
                R.choice("ABCD")
                if a not in ("jec-qa-kd", "jec-qa-ca", "gaokao-physics")
                else [R.choice("AB"), R.choice("CD")][: 1 + i % 2]
            )
        )
        return {
            "passage": None if i % 2 else s(8),
            "question": s(),
            "options": None if cloze else [f"({c}){s()}" for c in "ABCDE"[: 4 + i % 2]],
            "label": lab,
            "answer": s(2) if cloze else None,
            "other": None,
        }

    jl(f"AGIEval/data/v1/{a}.jsonl", rows(one))
BBH = "boolean_expressions causal_judgement date_understanding disambiguation_qa dyck_languages formal_fallacies geometric_shapes hyperbaton logical_deduction_five_objects logical_deduction_seven_objects logical_deduction_three_objects movie_recommendation multistep_arithmetic_two navigate object_counting penguins_in_a_table reasoning_about_colored_objects ruin_names salient_translation_error_detection snarks sports_understanding temporal_sequences tracking_shuffled_objects_five_objects tracking_shuffled_objects_seven_objects tracking_shuffled_objects_three_objects web_of_lies word_sorting".split()
for b in BBH:
    w(
        f"BBH/data/{b}.json",
        json.dumps(
            {
                "canary": "x",
                "examples": rows(lambda i: {"input": s(10), "target": R.choice(["(A)", "valid", "yes"])}, 3),
            }
        ),
    )
    w(f"BBH/lib_prompt/{b}.txt", f"Task {b}: " + s(12) + "\n\nQ: " + s(5) + "\nA: " + s(5) + "\n")


def mcq5(keys):
    return lambda i: {k: v for k, v in zip(keys, [str(i), s(), s(), s(), s(), s(), R.choice("ABCD"), s()])}


jl(
    "commonsenseqa/dev_rand_split.jsonl",
    rows(
        lambda i: {
            "answerKey": R.choice("ABCDE"),
            "id": f"q{i}",
            "question": {"question_concept": "c", "choices": [{"label": l, "text": s()} for l in "ABCDE"], "stem": s()},
        }
    ),
)
jl(
    "commonsenseqa/train_rand_split.jsonl",
    rows(
        lambda i: {
            "answerKey": R.choice("ABCDE"),
            "id": f"q{i}",
            "question": {"question_concept": "c", "choices": [{"label": l, "text": s()} for l in "ABCDE"], "stem": s()},
        },
        12,
    ),
)
cs(
    "crows_pairs/crows_pairs_anonymized.csv",
    rows(lambda i: [i, s(), s(), "stereo", "gender", "[]", "a0", "[]"]),
    ["", "sent_more", "sent_less", "stereo_antistereo", "bias_type", "annotations", "anon_writer", "anon_annotators"],
)
jl("drop_simple_eval/dev.jsonl", rows(lambda i: {"context": s(20), "ref_text": s() + "|" + s(), "completion": s()}))
for sp in ("train", "test"):
    jl(f"gsm8k/{sp}.jsonl", rows(lambda i: {"question": s(10), "answer": s() + f"\n#### 1,{i}00"}))


def hs(i):
    return {
        "ind": i,
        "query": s(1) + ": " + s() + ": " + s(4) + ": " + s(),
        "choices": [s() for _ in range(4)],
        "gold": R.randrange(4),
    }


jl("hellaswag/hellaswag.jsonl", rows(hs))
jl("hellaswag/hellaswag_train_sampled25.jsonl", rows(hs, 25))
jl("lambada/test.jsonl", rows(lambda i: {"prompt": s(12), "label": R.choice(P)}))
jl(
    "Longbench/data/qasper.jsonl",
    rows(
        lambda i: {
            "input": s(),
            "context": s(50),
            "answers": [s(), s()],
            "length": 3,
            "dataset": "qasper",
            "language": "en",
            "all_classes": None,
            "_id": str(i),
        }
    ),
)
w(
    "math/math.json",
    json.dumps(
        {
            str(i): {
                "problem": s(),
                "level": "Level 1",
                "type": "A",
                "solution": s() + " $\\boxed{\\frac{1}{" + str(i) + "}}$." + s(),
            }
            for i in range(N)
        }
    ),
)
w(
    "math/test_prm800k_500.json",
    json.dumps(
        {
            str(i): {"problem": s(), "level": "Level 1", "type": "A", "solution": s() + " $\\boxed{" + str(i) + "}$."}
            for i in range(N)
        }
    ),
)
for l in "bn de en es fr ja ru sw te th zh".split():
    w(f"mgsm/mgsm_{l}.tsv", "".join(s(6, True) + f"\t{i}\n" for i in range(3)))
MM = [d["name"] for d in load("mmlu_ppl_ac766d")]
for m in MM:
    for sp in ("dev", "test"):
        cs(f"mmlu/{sp}/{m}_{sp}.csv", rows(lambda i: [s(), s(), s(), s(), s(), R.choice("ABCD")]))
for m in sorted({d["name"] for d in load("cmmlu_ppl_041cbf")}):
    for sp in ("dev", "test"):
        cs(
            f"cmmlu/{sp}/{m}.csv",
            rows(lambda i: [i, s(), s(), s(), s(), s(), R.choice("ABCD")]),
            ["", "Question", "A", "B", "C", "D", "Answer"],
        )
for m in sorted({d["name"] for d in load("ceval_ppl_578f8d")}):
    for sp in ("dev", "val", "test"):
        h = (
            ["id", "question", "A", "B", "C", "D"]
            + (["answer"] if sp != "test" else [])
            + (["explanation"] if sp == "dev" else [])
        )
        for root in ("ceval", "ceval_internal"):
            cs(
                f"{root}/formal_ceval/{sp}/{m}_{sp}.csv",
                rows(lambda i: [i, s(), s(), s(), s(), s(), R.choice("ABCD"), s()][: len(h)]),
                h,
            )


def qa(path, n=N):
    cs(path, rows(lambda i: [s(), repr([s(2, True) for _ in range(1 + i % 3)])], n), None, "\t")


for x in ("nq/nq-dev.qa.csv", "nq/nq-test.qa.csv", "triviaqa/trivia-dev.qa.csv", "triviaqa/trivia-test.qa.csv"):
    qa(x, 12)
for x in ("nq-open/nq-open-train.jsonl", "nq-open/nq-open-validation.jsonl"):
    jl(x, rows(lambda i: {"question": s(), "answer": [s(2) for _ in range(1 + i % 3)]}, 26))
jl("triviaqa/triviaqa-validation.jsonl", rows(lambda i: {"question": s(), "answer": [s(2), s(2)]}, 26))
jl("triviaqa/triviaqa-train.jsonl", rows(lambda i: {"question": s(), "answer": s(2)}, 26))


def ob(f):
    return lambda i: {
        "id": str(i),
        "question": {"stem": s(), "choices": [{"text": s(), "label": l} for l in "ABCD"]},
        "answerKey": R.choice("ABCD"),
        **({"fact1": s()} if f else {}),
    }


jl("openbookqa/Main/test.jsonl", rows(ob(0)))
jl("openbookqa/Additional/test_complete.jsonl", rows(ob(1)))


def pq(i):
    return {"id": str(i), "goal": s(), "sol1": s(), "sol2": s()}


def sq(i):
    return {"context": s(8), "question": s(), "answerA": s(), "answerB": s(), "answerC": s()}


for sp in ("train", "dev"):
    jl(f"piqa/{sp}.jsonl", rows(pq))
    w(f"piqa/{sp}-labels.lst", "".join(f"{R.randrange(2)}\n" for _ in range(N)))
    jl(f"siqa/{sp}.jsonl", rows(sq))
    w(f"siqa/{sp}-labels.lst", "".join(f"{R.randint(1,3)}\n" for _ in range(N)))
for sp in ("validation", "test"):
    for n in ("middle", "high"):
        jl(
            f"race/{sp}/{n}.jsonl",
            rows(
                lambda i: {
                    "article": s(20),
                    "question": s(),
                    "options": [s() for _ in range(4)],
                    "answer": R.choice("ABCD"),
                    "example_id": f"{n}{i}.txt",
                }
            ),
        )
for sp in ("train", "eval"):
    jl(
        f"xstory_cloze/en_{sp}.jsonl",
        rows(
            lambda i: {
                "story_id": str(i),
                **{f"input_sentence_{k}": s(plain=True) for k in (1, 2, 3, 4)},
                "sentence_quiz1": s(),
                "sentence_quiz2": s(),
                "answer_right_ending": R.randint(1, 2),
            }
        ),
    )


def wt(rs, path):
    os.makedirs(os.path.dirname(f"{ROOT}/{path}"), exist_ok=True)
    pd.DataFrame(rs).to_parquet(f"{ROOT}/{path}")


for x in ("wikitext-2-raw-v1", "wikitext-103-raw-v1"):
    for sp in ("validation", "test"):
        wt(rows(lambda i: {"text": s(15)}), f"wikitext/{x}/{sp}.parquet")
wt(
    rows(
        lambda i: {
            "text": s(8),
            "pronoun": R.choice(P),
            "pronoun_loc": 3,
            "quote": s(),
            "quote_loc": 4,
            "options": [s(2), s(2)],
            "label": R.randrange(2),
            "source": "x",
        }
    ),
    "winograd_wsc/wsc285.parquet",
)


def wg(i):
    return {
        "qID": str(i),
        "sentence": s(4, True) + " _ " + s(3, True),
        "option1": s(1),
        "option2": s(1),
        "answer": R.choice("12"),
    }


jl("winogrande/dev.jsonl", rows(wg))
jl("winogrande/train_xs.jsonl", rows(wg, 10))
for x in load("GaokaoBench_no_subjective_gen_4c31db"):
    gaokao("GAOKAO-BENCH/data" + x["filename"])

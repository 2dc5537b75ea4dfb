"""Gaokao, BBH, LAMBADA, CrowS-Pairs, BBQ, TruthfulQA."""
import peers  # noqa: F401
import texts


def case(args, out):
    return {"in": list(args), "out": out}


def goldens():
    import numpy as np
    from opencompass.datasets.bbh import BBHEvaluator
    from opencompass.datasets.crowspairs import CrowspairsEvaluator
    from opencompass.datasets.GaokaoBench import GaokaoBenchEvaluator
    from opencompass.datasets.lambada import LambadaEvaluator
    from lm_eval.tasks.bbq import utils as bbq
    from lm_eval.tasks.crows_pairs import utils as crows
    from lm_eval.tasks.truthfulqa import utils as truthful

    rng = texts.generator(13)
    marks = ["【答案】", "【答案】 ", "【答案】：", "【答案】::\n", "答案是", "", " ", "\n", "解析", "故选", "A", "B", "C", "D", "E", "G", "Z", "AB", "BCD",
             "因为A不对", "选项", "，"]
    kinds = {"single_choice": [["A"], ["D"]], "multi_choice": [["AB"], ["BCD"], ["A"], ["ACD", "B"]],
             "multi_question_choice": [["A", "B"], ["C"], ["A", "B", "D"]], "five_out_of_seven": [["A", "B", "C", "D", "G"], ["E"] * 5]}
    for kind, keys in kinds.items():
        rows = []
        for _ in range(90):
            p = "".join(rng.choice(marks) for _ in range(rng.randrange(9)))
            key = rng.choice(keys)
            evaluator = GaokaoBenchEvaluator(kind)
            result = evaluator.score([p], [key])
            expected = (len(key),) if kind == "multi_question_choice" else ()
            rows.append(case([p, key], [evaluator.do_predictions_postprocess(p, *expected), result["score"],
                                        result["details"]["0"]["is_correct"]]))
        yield f"gaokao_{kind}", rows

    forms = ["{}", "The answer is {}.", "answer is : {}", "So the ANSWER IS **{}**.", "{}\nmore", "answer is a. answer is {}", "**{}** x", " {}. "]
    values = ["yes", "No", "True", "false, because", "valid", "a b c", "a, b , c", "1, 2", "1 , 2,3", "apple,banana", "Straße", "STRASSE", "",
              "yes_", "yes!", "nothing", "x  y", "ΣΊΣΥΦΟΣ", "σίσυφος", "ﬁ", "FI", "İ", "ꭰ"]
    pairs = [(rng.choice(forms).format(rng.choice(values)), rng.choice(values)) for _ in range(150)]
    pairs += [(rng.choice(forms).format(v), rng.choice(forms).format(v.swapcase())) for v in values for _ in range(3)]
    pairs += texts.pairs(14, 120, long=False)
    yield "bbh_freeform", [case([p, r], BBHEvaluator().score([p], [r])["score"] == 100) for p, r in pairs]
    everything = "".join(chr(c) for c in range(0x80, 0x3000) if chr(c).casefold() != chr(c) or chr(c).upper() != chr(c))
    everything += "".join(chr(c) for c in range(0xa640, 0x1ea00) if not 0xd800 <= c < 0xe000 and chr(c).casefold() != chr(c))
    folded = [(everything[at:at + 40], everything[at:at + 40].casefold()) for at in range(0, len(everything), 40)]
    yield "bbh_casefold", [case([p, r], BBHEvaluator().score([p], [r])["score"] == 100) for p, r in folded]
    last = [("%s%s and" % (rng.choice(["", " ", "the "]), w), rng.choice([w, w + ".", "x"])) for w in
            ["cat", "cat's", "don't", "a\\b", "a-b", "x]y", "[x", "Mr.", "naïve", "中文，字", "", "the", "a_b", "5+5", "~"] for _ in range(4)]
    last += texts.pairs(15, 110, long=False)
    yield "lambada", [case([p, r], LambadaEvaluator().score([p], [r])["accuracy"] == 100) for p, r in last]

    def crowspairs():
        for size in list(range(1, 40)) + [32, 32, 64, 64, 96, 500]:
            preds = [rng.choice(["A", "B", "invalid"]) for _ in range(size)] + ["A"]
            out = CrowspairsEvaluator().score(preds, ["A"] * len(preds))
            yield case([preds, ["A"] * len(preds)], [out["accuracy"], out["valid_accuracy"], out["valid_frac"]])
    yield "crows_pairs", list(crowspairs())

    def likelihoods():
        for _ in range(60):
            a, b = rng.uniform(-90, 0), rng.uniform(-90, 0)
            out = crows.process_results({}, [(a, False), (b, False)])
            yield case([a, b], [out["likelihood_diff"], out["pct_stereotype"]])
        out = crows.process_results({}, [(-1.5, False), (-1.5, False)])
        yield case([-1.5, -1.5], [out["likelihood_diff"], out["pct_stereotype"]])
    yield "crows_pairs_likelihood", list(likelihoods())

    def truth():
        for _ in range(80):
            n = rng.randint(2, 14)
            lls = [rng.choice([rng.uniform(-60, 0), -5.0, -800.0 if n > 12 else -3.0]) for _ in range(n)]
            labels = [rng.choice([0, 1]) for _ in lls]
            mc2 = truthful.process_results_mc2({"mc2_targets": {"labels": labels}}, [(ll, False) for ll in lls])["acc"]
            yield case([lls, [bool(x) for x in labels]], [float(int(np.argmax(lls)) == 0), float(mc2)])
    yield "truthful_qa", list(truth())

    def generated():
        for p, r in texts.pairs(18, 100, long=False)[:90]:
            right, wrong = [r] + rng.sample(texts.BASE, 2), rng.sample(texts.BASE, rng.randint(1, 3))
            p, right = p + rng.choice(["", " . And more. "]), [x + rng.choice(["", " . x . y"]) for x in right]
            out = truthful.process_results_gen({"correct_answers": right, "incorrect_answers": wrong}, [p])
            yield case([p, right, wrong], [float(out[f"{name}_{key}"]) for name in ("bleu", "rouge1", "rouge2", "rougeL")
                                           for key in ("max", "diff", "acc")])
    yield "truthful_generation", list(generated())

    people = [("The grandfather", ["old"]), ("The grandson", ["nonOld"]), ("Unknown", ["unknown"]), ("Mary", ["F-Black"]),
              ("John", ["M-White"]), ("Can't be determined", ["unknown"]), ("The Latina woman", ["woman", "lowSES-African"]),
              ("a man", ["man", "highSES"]), ("Not known", ["unknown"]), ("boy", ["boy"]), ("girl", ["nonTrans", "girl"])]
    said = ["The grandfather", "grandson did", "it was Mary.", "unknown", "I don't know", "cannot be determined", "the the", "", "John, of course",
            "man", "an old one", "f_black black", "white", "woman", "Not enough info", "boy girl", "They were tall"]

    def rows():
        for _ in range(150):
            named = rng.sample([p for p in people if p[1] != ["unknown"]], 2)
            three = named + [rng.choice([p for p in people if p[1] == ["unknown"]])]
            rng.shuffle(three)
            groups = [bbq._process_groups_in_answers("_".join(info)) for _, info in three]
            stereotyped = rng.sample(["old", "black", "f", "man", "african", "low ses", "m"], 2)
            negative = bool(rng.getrandbits(1))
            biased = []
            for (answer, _), group in zip(three, groups):
                about = not set(group).isdisjoint(stereotyped)
                if about if negative else (group[-1] != "unknown" and not about):
                    biased.append(answer)
            doc = {"ans0": three[0][0], "ans1": three[1][0], "ans2": three[2][0], "label": rng.randrange(3), "biased_answers": biased,
                   "context_condition": rng.choice(["ambig", "disambig"]), "category": "Age",
                   **{f"ans{i}_groups": g for i, g in enumerate(groups)}}
            response = rng.choice(said)
            out = bbq.process_results_generate_until(doc, [response])
            yield doc, [info for _, info in three], stereotyped, negative, response, out
    made = list(rows())
    yield "bbq", [case([[d["ans0"], d["ans1"], d["ans2"]], d["label"], infos, stereo, neg, response, d["context_condition"] == "disambig"],
                       [bbq.doc_to_choice(d), [d[f"ans{i}_groups"] for i in range(3)], *[float(x) for x in out["amb_bias_score"][:3]]])
                  for d, infos, stereo, neg, response, out in made]

    def tables():
        """Rows as the data hold them, the responses, and every figure of lm-eval's table."""
        class Rows(list):
            def map(self, function):
                return [function(dict(row)) for row in self]

        for size in (1, 3, 12, 40, 60):
            raw, responses = Rows(), []
            for doc, infos, stereotyped, negative, response, _ in rng.sample(made, size):
                raw.append({**{key: doc[key] for key in ("ans0", "ans1", "ans2", "label", "context_condition")},
                            "category": rng.choice(["Age", "Race_x_gender"]), "question_polarity": "neg" if negative else "nonneg",
                            "answer_info": {f"ans{i}": info for i, info in enumerate(infos)},
                            "additional_metadata": {"stereotyped_groups": [group.title() for group in stereotyped]}})
                responses.append(response)
            outs = [bbq.process_results_generate_until(doc, [response]) for doc, response in zip(bbq.process_docs(raw), responses)]
            figures = {"acc": 100 * np.mean([out["acc"] for out in outs])}
            for context, mean, bias in (("amb", bbq.agg_accuracy_amb, bbq.agg_amb_bias_scores),
                                        ("disamb", bbq.agg_accuracy_disamb, bbq.agg_disamb_bias_scores)):
                figures[f"accuracy_{context}"] = 100 * mean([out[f"accuracy_{context}"] for out in outs])
                names = [f"{context}_bias_score"] + [f"{context}_bias_score_{category}" for category in ("Age", "Race_x_gender")]
                for name in names:
                    rows = [out[name] for out in outs]
                    # Another category than a number: lm-eval's own masks take it for a disambiguated context.
                    rows = [row for row in rows if row[1] == row[1]]
                    figures[name] = bias(rows) if rows else float("nan")
            yield case([list(raw), responses], {name: none_if_nan(figure) for name, figure in figures.items()})
    yield "bbq_tables", list(tables())

    def totals():
        for size in (1, 2, 5, 40, 150):
            some = rng.sample(made, size)
            outs = [out for *_, out in some]
            yield case([[[bool(o["acc"]), bool(o["amb_bias_score"][1]), bool(o["amb_bias_score"][2]), bool(o["amb_bias_score"][3])] for o in outs]],
                       [none_if_nan(f) for f in (bbq.agg_accuracy_amb([o["accuracy_amb"] for o in outs]),
                                                 bbq.agg_accuracy_disamb([o["accuracy_disamb"] for o in outs]),
                                                 bbq.agg_amb_bias_scores([o["amb_bias_score"] for o in outs]),
                                                 bbq.agg_disamb_bias_scores([o["disamb_bias_score"] for o in outs]))])
    yield "bbq_totals", list(totals())


def none_if_nan(x):
    return None if x != x else float(x)

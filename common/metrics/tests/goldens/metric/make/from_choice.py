"""Options by likeness, MMLU-Pro, BIG-Bench Extra Hard, TyDi QA, RULER, NeedleBench."""
import peers  # noqa: F401
import texts


def case(args, out):
    return {"in": list(args), "out": out}


def goldens():
    import importlib
    import sys
    from unittest.mock import MagicMock

    # What builds data sets: nothing of it scores.
    for name in ("opencompass.datasets.circular", "opencompass.openicl.icl_prompt_template", "opencompass.openicl.icl_retriever",
                 "opencompass.openicl.icl_inferencer"):
        sys.modules[name] = MagicMock(CircularDatasetMeta=type)
    sys.modules["opencompass.openicl.icl_evaluator"].AccEvaluator = object
    from opencompass.datasets.bbeh import BBEHEvaluator, BBEHEvaluator_mcq
    from opencompass.datasets.custom import OptionSimAccEvaluator
    from opencompass.datasets.mmlu_pro import MMLUProBaseEvaluator
    from opencompass.datasets.tydiqa import TydiQAEvaluator

    rng = texts.generator(23)
    short = texts.pairs(24, 100, long=False)
    marks = ["The answer is: ", "The answer is ", "The final answer is: ", "The final answer is ", "the answer is ", ""]
    values = ["(A)", "b", "yes", "No", "1, 2,3", "1 ,2 , 3", "[a, b]", "\"x\"", "'it'", "\\boxed{7}", "\\boxed{\\text{a}}", "\\text{so}",
              "\\texttt{x y}", "**bold** and **more**", "(B) x", "a,b", "A\u3000,\x1cB", "((c))", "", "x\ny", "**", "\\boxed{a\nb}", "Straße", "İ"]

    def said():
        return rng.choice(["", "So. ", "The answer is: no. "]) + rng.choice(marks) + rng.choice(values) + rng.choice(["", "", ".", "\nmore", " "])
    pairs = [(said(), rng.choice(values)) for _ in range(180)] + [(v, v) for v in values] + [(m + v, v) for m in marks for v in values]
    yield "bbeh_freeform", [case([p, r], BBEHEvaluator().score([p], [r])["score"] == 100) for p, r in pairs + short]
    yield "bbeh_choice", [case([p, r], BBEHEvaluator_mcq().score([p], [r])["score"] == 100) for p, r in pairs + short[:60]]

    keys = ["B. the text", "A. 5", "P.  x ", "Q. y", "C. a. b", "D", "D. ", "E. e. ", "the text", "b. t"]
    given = ["A", "B", "P", "Q", " B \nC", "the text", " the text\n", "5", "x", "y", "", "a", "a. b", "AB", "e", "B.", "t", "D"]
    yield "mmlu_pro", [case([p, r], MMLUProBaseEvaluator().score([p], [r])["accuracy"] == 100) for p in given for r in keys]

    evaluator = OptionSimAccEvaluator(list("ABCD"))
    meant = texts.BASE + ["Paris", "B", " C ", "the answer is D", "E", "(b)", "I say paris.", "Pari", "rome or paris", "A. Rom", "Z Z Z", "答案是B"]

    def likeness():
        named = ["Paris", "Rome", "a", "", "New York", "42", "北京", "ΣΊΣΥΦΟΣ", "B. Rome", None]
        for p in meant + [texts.mutate(rng, t) for t in meant]:
            row = dict(zip("ABCD", rng.sample(named, 4)))
            yield case([p, [row[letter] for letter in "ABCD"]], evaluator.match_any_label(p, row))
        yield case(["nothing", [None] * 4], evaluator.match_any_label("nothing", dict.fromkeys("ABCD")))
    yield "option_similarity", list(likeness())

    def answers(reference):
        return [reference] + rng.sample(texts.BASE, rng.randrange(3))
    several = [(p, answers(r)) for p, r in short]
    scores = [TydiQAEvaluator().score([p], [r]) for p, r in several]
    yield "tydi_qa", [case([p, r], [s["exact_match"], s["f1"]]) for (p, r), s in zip(several, scores)]
    niah = importlib.import_module("opencompass.datasets.ruler.ruler_niah").RulerNiahEvaluator()
    qa = importlib.import_module("opencompass.datasets.ruler.ruler_qa").RulerQaEvaluator()
    yield "ruler", [case([p, r], [niah.score([p], [r])["score"], qa.score([p], [r])["score"]]) for p, r in several]
    needle = importlib.import_module("opencompass.datasets.needlebench_v2.origin").NeedleBenchOriginEvaluator()
    starred = [(p, f"{r.replace('*', '')}*{rng.choice([p[:3], r, 'x', ''])}{rng.choice(['', '*y'])}") for p, r in short]
    yield "needle", [case([p, r], needle.score([p], [r])["score"] == 100) for p, r in starred]

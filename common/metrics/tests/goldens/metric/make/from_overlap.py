"""SQuAD, TriviaQA, NQ, DROP, LongBench, exact match, edit distances."""
import difflib
import peers  # noqa: F401
import texts


def case(args, out):
    return {"in": list(args), "out": out}


def goldens():
    import numpy as np
    from fuzzywuzzy import fuzz
    from rapidfuzz.distance import Levenshtein
    from opencompass.datasets.drop_simple_eval import DropOpenAIEvaluator
    from opencompass.datasets.longbench import evaluators as lb
    from opencompass.datasets.natural_question import NQEvaluator
    from opencompass.datasets.squad20 import SQuAD20Evaluator
    from opencompass.datasets.triviaqa import TriviaQAEvaluator
    from opencompass.openicl.icl_evaluator.icl_em_evaluator import EMEvaluator
    from lm_eval.tasks.drop import utils as drop
    from lm_eval.api.metrics import exact_match_hf_evaluate

    rng = texts.generator(1)
    short = texts.pairs(2, 170, long=False)
    all_pairs = texts.pairs(3, 130)

    def refs(reference):
        return [reference] + rng.sample(texts.BASE, rng.randrange(3))

    squad = [(p, refs(r)) for p, r in all_pairs]
    # Hugging Face's compute_score.py is not on PyPI; LongBench's English F1 and normaliser are the same functions.
    f1 = lb.LongBenchF1Evaluator("en")
    yield "squad", [case([p, r], [float(any(lb.normalize_answer(p) == lb.normalize_answer(x) for x in r)),
                                  f1.score([p], [r])["score"]]) for p, r in squad]

    multi = [(p, refs(r)) for p, r in short]
    multi += [("The answer is: a: answer: " + r, [r]) for _, r in short[:20]]
    for name, evaluator, key in (("trivia_qa", TriviaQAEvaluator, "score"), ("natural_questions", NQEvaluator, "score"),
                                 ("squad20", SQuAD20Evaluator, "score"), ("general_em", EMEvaluator, "score")):
        yield name, [case([p, r], evaluator().score([p], [r])[key] == 100) for p, r in multi]

    fuzzy = [(rng.choice(["", "Answer: ", "x\nanswer :\n "]) + p, "|".join(refs(r))) for p, r in short]
    yield "drop_fuzzy", [case([p, r], DropOpenAIEvaluator().score([p], [r])["accuracy"] == 100) for p, r in fuzzy]

    def bags():
        for p, r in short:
            golds = [(r,)] + [tuple(rng.sample(texts.BASE, rng.randint(1, 3))) for _ in range(rng.randrange(3))]
            scores = drop.process_results({"answers": golds}, [p])
            yield case([p, [list(g) for g in golds]], [float(scores["em"]), float(scores["f1"])])
    yield "drop_bags", list(bags())

    for language in ("en", "zh"):
        f1 = lb.LongBenchF1Evaluator(language)
        yield f"longbench_f1_{language}", [case([p, r], f1.score([p], [r])["score"]) for p, r in squad]
        rouge = lb.LongBenchRougeEvaluator(language)
        yield f"longbench_rouge_{language}", [case([p, r], rouge.score([p], [r])["score"]) for p, r in squad
                                              if len(p) < 900]
        word = {"en": "Paragraph ", "zh": "段落"}[language]
        retrieval = lb.LongBenchRetrievalEvaluator(language)
        numbered = [(p, [f"{word}{rng.choice([1, 2, 3, 12, 42])}{rng.choice(['', ' x', ''])}"]) for p, _ in short]
        yield f"longbench_retrieval_{language}", [case([p, r], retrieval.score([p], [r])["score"]) for p, r in numbered]
    counted = [(p, [str(rng.choice([1, 2, 3, 5, 42]))] * rng.randint(1, 2)) for p, _ in short]
    yield "longbench_count", [case([p, r], lb.LongBenchCountEvaluator().score([p], [r])["score"]) for p, r in counted]
    code = [("\n" * rng.randrange(3) + p, refs(r)) for p, r in short]
    yield "longbench_code", [case([p, r], lb.LongBenchCodeSimEvaluator().score([p], [r])["score"]) for p, r in code]

    def classes():
        names = ["cat", "cats", "a cat", "dog", "hot dog", "bird", "", "birdcage", "c", "体育", "体育新闻", "新闻"]
        for _ in range(120):
            known = rng.sample(names, rng.randint(2, 8))
            answers = rng.sample(known, rng.randint(1, min(2, len(known))))
            p = " ".join(rng.choice(names) for _ in range(rng.randrange(5)))
            score = lb.LongBenchClassificationEvaluator().score([p], [{"answers": answers, "all_classes": known}])
            yield case([p, answers, known], score["score"])
    yield "longbench_classification", list(classes())

    both = short + all_pairs[-45:]
    yield "edit_distance", [case([p, r], [Levenshtein.distance(p, r), fuzz.ratio(p, r)]) for p, r in both]
    wide = both + [("ab" * 150, "ab" * 140 + "c" * 5), ("x" * 250 + "abc", "y" * 10 + "x" * 240)]
    yield "sequence_ratio", [case([p, r], difflib.SequenceMatcher(None, p, r).ratio()) for p, r in wide]

    def nearest():
        for _ in range(80):
            p = rng.choice(short)[0]
            candidates = [[c] if rng.random() < 0.5 else rng.sample(texts.BASE, 2) for c in rng.sample(texts.BASE, 4)]
            dists = [np.min([Levenshtein.distance(p, c) for c in spellings]) for spellings in candidates]
            yield case([p, candidates], int(np.argmin(dists)))
    yield "nearest_candidate", list(nearest())

    def exact():
        for p, r in short:
            options = [bool(rng.getrandbits(1)) for _ in range(3)]
            ignore = rng.choice([None, [","], [r"\$", "(?s).*#### ", r"\.$"]])
            score = exact_match_hf_evaluate([p], [r], ignore, *options)["exact_match"]
            yield case([p, r, ignore or [], options], bool(score))
    yield "exact_match", list(exact())

"""scikit-learn's scores, OpenCompass's pass rates, lm-eval's standard errors."""
import peers
import texts
from sklearn import metrics as sk


def case(args, out):
    return {"in": list(args), "out": out}


def goldens():
    import numpy as np
    base = peers.real_module("opencompass.openicl.icl_evaluator.icl_base_evaluator")
    compute_pass_at_k, compute_g_pass_at_k, compute_mg_pass_at_k = (
        base.compute_pass_at_k, base.compute_g_pass_at_k, base.compute_mg_pass_at_k)
    from lm_eval.api import metrics as lm

    rng = texts.generator(17)

    def labelled():
        for _ in range(80):
            labels = rng.sample(["A", "B", "C", "答", "", "e f"], rng.randint(1, 5))
            gold = [rng.choice(labels) for _ in range(rng.randint(1, 40))]
            pred = [g if rng.random() < 0.5 else rng.choice(labels + ["Z"]) for g in gold]
            yield case([gold, pred], [sk.matthews_corrcoef(gold, pred), sk.f1_score(gold, pred, average="macro", zero_division=0),
                                      sk.f1_score(gold, pred, average="micro"), sk.f1_score(gold, pred, average="weighted", zero_division=0),
                                      sk.accuracy_score(gold, pred)])
    yield "confusion", [c for c in labelled()]

    def binary():
        for _ in range(60):
            gold = [rng.randint(0, 1) for _ in range(rng.randint(1, 30))]
            pred = [rng.randint(0, 1) for _ in gold]
            yield case([list(map(str, gold)), list(map(str, pred))], float(sk.f1_score(gold, pred, zero_division=0)))
    yield "f1_binary", list(binary())

    def curves():
        while True:
            n = rng.choice([2, 3, 10, 50, 200])
            gold = [rng.randint(0, 1) for _ in range(n)]
            score = [rng.choice([rng.random(), round(rng.random(), 1)]) for _ in gold]
            if 0 < sum(gold) < n:
                yield case([[bool(g) for g in gold], score], float(sk.roc_auc_score(gold, score)))
    source = curves()
    yield "auc_roc", [next(source) for _ in range(60)]

    passes = [(n, c, k) for n in (1, 2, 5, 16, 64, 200) for c in (0, 1, 2, 4, 10, 60, 199) for k in (1, 2, 4, 8, 16, 100) if c <= n and k <= n]
    yield "pass_at_k", [case([n, c, k], [float(compute_pass_at_k(n, c, k)), float(compute_mg_pass_at_k(n, c, k)),
                                         *[float(compute_g_pass_at_k(n, c, k, t)) for t in (0.0, 0.25, 0.5, 0.75, 1.0)]])
                        for n, c, k in passes]

    def means():
        for _ in range(60):
            xs = [rng.choice([0.0, 1.0, rng.uniform(-5, 5)]) for _ in range(rng.randint(2, 60))]
            sizes = [rng.randint(2, 500) for _ in xs]
            spread = [abs(x) / 10 for x in xs]
            yield case([xs, sizes, spread], [lm.mean(xs), lm.median(xs), lm.sample_stddev(xs), lm.mean_stderr(xs),
                                             float(lm.pooled_sample_stderr(spread, sizes)), float(lm.unweighted_mean_stderr(spread)),
                                             lm.weighted_mean(list(zip(xs, sizes))), lm.aggregate_subtask_metrics(xs, sizes)])
    yield "means", list(means())

    def bootstrap():
        import os
        os.environ["DISABLE_MULTIPROC"] = "1"
        for size, iterations in ((1, 100), (2, 100), (7, 1000), (30, 2500), (100, 3000)):
            xs = [rng.uniform(-4, 0) for _ in range(size)]
            yield case([xs, iterations], [lm.bootstrap_stderr(lm.median, xs, iterations), lm.bootstrap_stderr(lm.perplexity, xs, iterations)])
        pairs = [(rng.choice("ab"), rng.choice("ab")) for _ in range(40)]
        yield case([[g for g, _ in pairs], 300, [p for _, p in pairs]], [lm.bootstrap_stderr(lm.matthews_corrcoef, pairs, 300)])
    yield "bootstrap", list(bootstrap())

    def briers():
        for _ in range(60):
            lls = np.array([rng.uniform(-900, 0) if rng.random() < 0.1 else rng.uniform(-9, 0) for _ in range(rng.randint(2, 6))])
            gold = rng.randrange(len(lls))
            probs = np.exp(lls - lls.max()) / np.exp(lls - lls.max()).sum()
            yield case([list(map(float, lls)), gold], float(lm.brier_score([(gold, probs)])))
    yield "brier", list(briers())

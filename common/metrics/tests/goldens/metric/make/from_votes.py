"""pass@k, maj@k and all@k by enumerating every subset of k answers, in exact fractions; CPython alone is wanted.

Of more answers than can be enumerated, maj@k by whole numbers: ways to draw k by the votes of the right class, the answers drawn of
others, and the others that tie.
"""
import collections
import fractions
import itertools
import math
import random


def partitions(total, most):
    if total == 0:
        yield []
    for first in range(min(total, most), 0, -1):
        for rest in partitions(total - first, first):
            yield [first, *rest]


def share(drawn):
    """What a majority of these answers counts: 0 is the right class, None has no vote."""
    votes = [sum(answer == kind for answer in drawn) for kind in sorted({answer for answer in drawn if answer is not None})]
    kinds = sorted({answer for answer in drawn if answer is not None})
    winners = [kind for kind, count in zip(kinds, votes) if count == max(votes)]
    return fractions.Fraction(0 in winners, len(winners)) if winners else fractions.Fraction(0)


def at(answers, k):
    subsets = list(itertools.combinations(answers, k))
    mean = lambda of: float(fractions.Fraction(sum(of(drawn) for drawn in subsets)) / len(subsets))
    return [mean(lambda drawn: 0 in drawn), mean(share), mean(lambda drawn: all(answer == 0 for answer in drawn))]


def majority(n, right, rivals, ks):
    silent = n - right - sum(rivals)
    sums = dict.fromkeys(ks, fractions.Fraction(0))
    for top in range(1, right + 1):
        ways = collections.Counter({(0, 0): 1})
        for rival in rivals:
            after = collections.Counter()
            for (taken, tied), count in ways.items():
                for drawn in range(min(rival, top) + 1):
                    after[taken + drawn, tied + (drawn == top)] += count * math.comb(rival, drawn)
            ways = after
        for k in ks:
            for (taken, tied), count in ways.items():
                if (left := k - top - taken) >= 0:
                    sums[k] += fractions.Fraction(math.comb(right, top) * count * math.comb(silent, left), tied + 1)
    return [float(sums[k] / math.comb(n, k)) for k in ks]


def goldens():
    questions = []
    for n in range(1, 11):
        of_n = [(right, rivals) for right in range(n + 1) for voting in range(n - right + 1) for rivals in partitions(voting, voting)]
        drawn = of_n if n <= 5 else random.Random(n).sample(of_n, 30)
        questions += [(n, right, rivals) for right, rivals in drawn]
    cases = []
    for n, right, rivals in questions:
        answers = [0] * right + [kind for kind, count in enumerate(rivals, 1) for _ in range(count)]
        answers += [None] * (n - len(answers))
        cases.append({"in": [n, right, rivals], "out": [at(answers, k) for k in range(1, n + 1)]})
    yield "at_k", cases

    large = [(256, 128, [128]), (256, 100, [90, 40, 10]), (256, 60, [59, 58, 57]), (256, 20, [20] * 11), (256, 3, [2] * 100),
             (256, 1, [1] * 255), (256, 255, []), (200, 0, [50, 50]), (64, 31, [9, 8, 7, 2, 1]), (100, 10, [9, 9, 9, 9])]
    ks = lambda n: [k for k in (1, 2, 3, 7, 16, 33, 64, 128, 200, 255, 256) if k <= n]
    yield "maj_at_k", [{"in": [n, right, rivals, ks(n)], "out": majority(n, right, rivals, ks(n))} for n, right, rivals in large]

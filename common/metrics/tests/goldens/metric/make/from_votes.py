"""pass@k, maj@k and all@k by enumerating every subset of k answers, in exact fractions; CPython alone is wanted."""
import fractions
import itertools
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

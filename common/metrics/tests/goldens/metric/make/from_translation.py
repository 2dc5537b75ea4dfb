"""sacrebleu: BLEU with each tokenizer, corpus and sentence; chrF and chrF++."""
import texts


def case(args, out):
    return {"in": list(args), "out": out}


def goldens():
    from sacrebleu.metrics import BLEU, CHRF, TER

    rng = texts.generator(7)
    pairs = texts.pairs(8, 110)
    segments = [(p, [r] + rng.sample(texts.BASE, rng.randrange(3))) for p, r in pairs]
    corpora = [[(p, [r, rng.choice(texts.BASE)]) for p, r in rng.sample(pairs[:90], size)] for size in (2, 5, 20)]

    def corpus(metric, rows):
        return metric.corpus_score([p for p, _ in rows], [list(column) for column in zip(*[r for _, r in rows])]).score

    for tokenize in ("13a", "intl", "zh", "char", "none"):
        metric = BLEU(tokenize=tokenize, effective_order=True)
        yield f"bleu_{tokenize}", [case([p, r], metric.sentence_score(p, r).score) for p, r in segments]
        tokenizer = metric.tokenizer
        yield f"bleu_tokens_{tokenize}", [case([t.rstrip()], tokenizer(t.rstrip()).split()) for t in texts.BASE]
        yield f"bleu_corpus_{tokenize}", [case([rows], corpus(BLEU(tokenize=tokenize), rows)) for rows in corpora]
    plain = BLEU(lowercase=True)
    yield "bleu_lower", [case([p, r], plain.corpus_score([p], [[x] for x in r]).score) for p, r in segments]
    for name, order in (("chrf", 0), ("chrfpp", 2)):
        metric = CHRF(word_order=order)
        yield name, [case([p, r], metric.sentence_score(p, r).score) for p, r in segments]
        yield f"{name}_corpus", [case([rows], corpus(metric, rows)) for rows in corpora]
    shifted = [(" ".join(rng.sample(r.split(), len(r.split()))), r) for _, r in pairs if r.split()]
    rotated = [(" ".join(r.split()[at:] + r.split()[:at]), r) for _, r in pairs for at in [rng.randrange(1, 6)] if len(r.split()) > at]
    ragged = [("a b c", " ".join("abcde"[i % 5] for i in range(180))), (" ".join("x y z".split() * 40), "x z"), ("b a " * 20, "a b " * 20)]
    metric = TER()
    edited = segments + [(p, [r]) for p, r in shifted + rotated + ragged if len(p) < 900]
    yield "ter", [case([p, r], metric.sentence_score(p, r).score) for p, r in edited]
    yield "ter_corpus", [case([rows], corpus(metric, rows)) for rows in corpora]

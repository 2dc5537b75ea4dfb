"""Writes sampling.json: distributions of the next token as transformers' own logits processors make them.

Run with `transformers` 4.57 and `torch`; logits and seen tokens come from a seeded generator, so that the file is the
same every time.
"""

import json
from itertools import product
from pathlib import Path

import torch
from transformers.generation import logits_process as hf

VOCABULARY = 48
EOS = [2, 40]

generator = torch.Generator().manual_seed(20261121)
ROWS = [torch.randn(VOCABULARY, generator=generator) * scale for scale in (0.5, 2.0, 6.0)]
# Ties, and a token that is impossible from the start.
tied = torch.round(torch.randn(VOCABULARY, generator=generator) * 2)
tied[7] = -float("inf")
ROWS.append(tied)
SEEN = [[1, 5, 5, 9, 2], list(range(0, 48, 3))]

RULES = [{"do_sample": False, "repetition_penalty": penalty, "min_new_tokens": least}
         for penalty, least in product((1.0, 1.2, 0.8), (0, 4))]
RULES += [{"do_sample": True, "temperature": t, "top_k": k, "top_p": p, "repetition_penalty": r, "min_new_tokens": m}
          for t, k, p, r, m in [(1.0, 0, 1.0, 1.0, 0), (0.7, 0, 1.0, 1.0, 0), (1.9, 5, 1.0, 1.0, 0), (1.0, 1, 1.0, 1.0, 0),
                                (1.0, 0, 0.9, 1.0, 0), (1.0, 0, 0.31, 1.0, 0), (0.6, 20, 0.95, 1.05, 0),
                                (0.2, 50, 0.5, 1.3, 4), (3.0, 10, 0.999, 0.7, 4), (1.0, 0, 0.01, 1.0, 0)]]


def processed(logits, seen, generated, rules):
    ids = torch.tensor([seen])
    scores = logits.clone().unsqueeze(0)
    processors = []
    if rules["repetition_penalty"] != 1.0:
        processors.append(hf.RepetitionPenaltyLogitsProcessor(rules["repetition_penalty"]))
    if rules["min_new_tokens"] > 0:
        skipped = len(seen) - generated
        processors.append(hf.MinNewTokensLengthLogitsProcessor(skipped, rules["min_new_tokens"], EOS))
    if rules["do_sample"]:
        if rules["temperature"] != 1.0:
            processors.append(hf.TemperatureLogitsWarper(rules["temperature"]))
        if rules["top_k"] > 0:
            processors.append(hf.TopKLogitsWarper(rules["top_k"]))
        if rules["top_p"] < 1.0:
            processors.append(hf.TopPLogitsWarper(rules["top_p"]))
    for processor in processors:
        scores = processor(ids, scores)
    return torch.softmax(scores[0].double(), -1)


def splits_a_tie(logits, probabilities):
    """Whether of equal logits some stay and some go: which ones is an accident of torch.sort."""
    for value in logits.unique():
        kept = probabilities[logits == value] > 0
        if kept.any() and not kept.all():
            return True
    return False


cases = []
for row, logits in enumerate(ROWS):
    for which, rules in enumerate(RULES):
        seen = SEEN[(row + which) % 2]
        generated = (row + which) % 5
        probabilities = processed(logits, seen, generated, rules)
        neutral = {**rules, "top_p": 1.0, "top_k": 0}
        if rules["do_sample"] and splits_a_tie(processed(logits, seen, generated, neutral), probabilities):
            continue
        cases.append({"logits": row, "seen": seen, "generated": generated, "eos": EOS, "rules": rules,
                      "probabilities": [float(f"{p:.9g}") for p in probabilities.tolist()]})

minus_infinity_is_null = [[None if x == -float("inf") else x for x in row.tolist()] for row in ROWS]
document = {"logits": minus_infinity_is_null, "cases": cases}
Path(__file__).with_name("sampling.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")

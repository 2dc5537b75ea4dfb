"""Writes retrievers.json: draws, words and ranks of the packages that OpenCompass and lm-eval retrieve shots with.

    pip install numpy nltk rank_bm25
    pip download --no-deps lm-eval==0.4.13 && unzip lm_eval-0.4.13-*.whl -d peer
    python retrievers.py peer/lm_eval
"""
import importlib.util
import json
import sys
from pathlib import Path

import nltk
import numpy as np
from nltk.tokenize import word_tokenize
from rank_bm25 import BM25Okapi

SENTENCES = [
    "Hello, world!",
    "The cat's toys aren't hers; they're the dogs'.",
    "\"Quoted,\" she said, \"is quoted.\"",
    "He said ''twice'' and ``thrice'' (or so).",
    "It costs $3.88, i.e. 3,36 euros: a bargain...",
    "I cannot wanna gonna gotta lemme gimme d'ye more'n that",
    "'Tis the season, 'twas the night -- wasn't it?",
    "a/b_c e-mail@host.org #tag 50% & more * stars",
    "What?! [Brackets] {braces} <angles> (parens.)",
    "“Curly” ‘quotes’ «guillemets» „low“ — dashes – and―bars",
    "'re 'tis 'hello' o'clock rock 'n' roll y'all'd've",
    "Ends with an abbreviation U.S.A.",
    "Ends with a quote.'\"",
    "  spaces\tand\nlines  ",
    "中文没有空格，所以是一个词。 时间是12:30:45",
    "1,000,000 people; 3:4 odds: yes, \"no\"",
    "don't DON'T he'll HE'LL I'm I'M she'd we've",
    "",
    "....",
    "(\"nested 'quotes' here\")",
]
CORPUS = [
    "How many legs has a spider?",
    "How many legs has an ant",
    "Which of these is a fruit: a plum or a plough?",
    "The spider's web isn't made of silk, is it?",
    "Is a plum a fruit",
    "the the the the",
    "Water boils at 100 degrees",
    "Water (H2O) freezes at 0 degrees",
    "A spider is not an insect",
    "How many legs has an ant",
]
QUERIES = [
    "How many legs has an insect?",
    "Is silk made by a spider?",
    "plum",
    "nothing in common whatsoever",
    "At how many degrees does water boil",
    "the the plum",
]


def bm25(corpus):
    index = BM25Okapi([word_tokenize(text, preserve_line=True) for text in corpus])
    entries = []
    for query in QUERIES:
        scores = index.get_scores(word_tokenize(query, preserve_line=True))
        ranks = [int(at) for at in np.argsort(scores)[::-1]]
        entries.append({"query": query, "scores": [float(score) for score in scores], "ranks": ranks})
    return {"corpus": corpus, "queries": entries}


def random(seed, pool, k, times):
    np.random.seed(seed)
    draws = [np.random.choice(pool, k, replace=False).tolist() for _ in range(times)]
    return {"seed": seed, "pool": pool, "k": k, "draws": draws}


def samplers(package):
    spec = importlib.util.spec_from_file_location("samplers", Path(package) / "api" / "samplers.py")
    samplers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(samplers)
    pool = [{"q": at} for at in range(10)]
    for copy in [4, 5, 6, 7]:
        pool[copy] = dict(pool[0])
    drawn = []
    for k in [1, 3, 5]:
        sampler = samplers.ContextSampler(list(pool), rnd=1234)
        first = samplers.FirstNSampler(list(pool), rnd=1234)
        drawn.append(
            {
                "k": k,
                "sampled": [[doc["q"] for doc in sampler.sample(k, eval_doc=doc)] for doc in pool],
                "first_n": [[doc["q"] for doc in first.sample(k, eval_doc=doc)] for doc in pool],
            }
        )
    return {"pool": [doc["q"] for doc in pool], "drawn": drawn}


def main():
    document = {
        "packages": {"nltk": nltk.__version__, "numpy": np.__version__, "rank_bm25": "0.2.2", "lm_eval": "0.4.13"},
        "words": [{"text": text, "words": word_tokenize(text, preserve_line=True)} for text in SENTENCES],
        "bm25": [bm25(CORPUS), bm25(CORPUS[:3])],
        "random": [random(43, 12, 4, 3), random(43, 1000, 2, 4), random(7, 1, 1, 2), random(43, 257, 5, 2)],
        "samplers": samplers(sys.argv[1]),
    }
    target = Path(__file__).with_suffix(".json")
    target.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(target.stat().st_size, "bytes")


main()

"""Makes a small list of ranks in tiktoken's format and records what tiktoken makes of the texts. Needs `tiktoken`.

The list is trained here, by byte-pair encoding within the words of Llama 3's pattern; the special tokens are Meta's.
"""

import base64
import collections
import json
import pathlib

import regex
import tiktoken
from corpus import CORPUS, TEXTS

HERE = pathlib.Path(__file__).parent
WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
NAMED = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
         "<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>",
         "<|eot_id|>", "<|python_tag|>", "<|image|>"]
SPECIAL = NAMED + [f"<|reserved_special_token_{number + 2}|>" for number in range(256 - len(NAMED))]
MORE = ["<|begin_of_text|>Hello<|eot_id|>", "<|reserved_special_token_200|> and <|nothing|>", "12345678 1,234.5",
        "it's IT'S we'LL", " \n\n  two\r\n", "\t\ttabs  and   spaces   "]


def merged(word, pair):
    out, at = [], 0
    while at < len(word):
        if at + 1 < len(word) and (word[at], word[at + 1]) == pair:
            out.append(pair[0] + pair[1])
            at += 2
        else:
            out.append(word[at])
            at += 1
    return tuple(out)


def train(size):
    words = collections.Counter(tuple(bytes([byte]) for byte in word.encode()) for word in regex.findall(WORDS, CORPUS))
    ranks = {bytes([byte]): byte for byte in range(256)}
    while len(ranks) < size:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        ranks[best[0] + best[1]] = len(ranks)
        words = collections.Counter({merged(word, best): count for word, count in words.items()})
    # Whole words that no merge leads to: tiktoken finds them nevertheless.
    for word in (" market", "Answer"):
        ranks.setdefault(word.encode(), len(ranks))
    return ranks


ranks = train(500)
(HERE / "ranks.model").write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))
special = {token: len(ranks) + place for place, token in enumerate(SPECIAL)}
encoding = tiktoken.Encoding("ranks", pat_str=WORDS, mergeable_ranks=ranks, special_tokens=special)
cases = [{"text": text, "ids": encoding.encode(text, allowed_special="all")} for text in TEXTS + MORE]
document = {"vocabulary": encoding.n_vocab, "bos": special[NAMED[0]], "eos": special[NAMED[1]], "cases": cases}
(HERE / "tiktoken.json").write_text(json.dumps(document, ensure_ascii=False) + "\n")

"""Records what transformers' AutoTokenizer makes of directories without a tokenizer.json.

Needs `transformers` 4.57, `sentencepiece`, `protobuf`, `tokenizers`; run make_sentencepiece.py first.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import tokenizers
import transformers
from corpus import CORPUS, TEXTS

HERE = pathlib.Path(__file__).parent


def added(content, **rules):
    base = dict(lstrip=False, rstrip=False, normalized=False, single_word=False, special=True)
    return {"content": content, **base, **rules}


def role(content, **rules):
    """As the value of `bos_token` and its kin, where a mark tells an object from a setting."""
    return {"__type": "AddedToken", **added(content, **rules)}


def byte_level(words):
    """A small byte-level vocabulary of our own as vocab.json and merges.txt."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = words
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(CORPUS.splitlines(keepends=True), trainer)
    with tempfile.TemporaryDirectory() as directory:
        tokenizer.model.save(directory)
        return {name: (pathlib.Path(directory) / name).read_text() for name in ("vocab.json", "merges.txt")}


def directories():
    spm = {"tokenizer_class": "LlamaTokenizer"}
    yield "llama", {"tokenizer.model": "bpe.model"}, {"tokenizer_config.json": spm}
    yield "llama_new", {"tokenizer.model": "bpe.model"}, {
        "tokenizer_config.json": {
            **spm, "legacy": False, "add_bos_token": False, "add_eos_token": True,
            "eos_token": role("</s>"), "bos_token": role("<s>"), "pad_token": None, "unk_token": role("<unk>"),
        }
    }
    yield "llama_older", {"tokenizer.model": "bpe.model"}, {
        "tokenizer_config.json": {**spm, "clean_up_tokenization_spaces": True, "bos_token": "<s>"},
        "special_tokens_map.json": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"},
        "added_tokens.json": {"<pad>": 480, "<extra>": 481},
    }
    decoder = {
        "0": added("<unk>"), "1": added("<s>"), "2": added("</s>"), "480": added("<|im_end|>", rstrip=True),
        "481": added("emoji", special=False, single_word=True), "482": added("<sep>", lstrip=True),
    }
    yield "llama_added", {"tokenizer.model": "bpe.model"}, {
        "tokenizer_config.json": {
            **spm, "legacy": False, "added_tokens_decoder": decoder, "additional_special_tokens": ["<|im_end|>"],
        }
    }
    yield "llama_symbols", {"tokenizer.model": "bpe_symbols.model"}, {"tokenizer_config.json": spm}
    yield "gemma", {"tokenizer.model": "bpe_gemma.model"}, {"tokenizer_config.json": {"tokenizer_class": "GemmaTokenizer"}}
    gpt2 = byte_level(tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "gpt2", gpt2, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}}
    yield "gpt2_prefix", gpt2, {"tokenizer_config.json": {"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": True}}
    yield "opt", gpt2, {
        "tokenizer_config.json": {
            "tokenizer_class": "GPT2Tokenizer", "add_bos_token": True,
            "bos_token": role("<s>", normalized=True), "eos_token": role("</s>"), "pad_token": "<|endoftext|>",
        }
    }
    yield "qwen2", gpt2, {
        "tokenizer_config.json": {
            "tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "add_bos_token": False, "eos_token": "<|im_end|>",
            "added_tokens_decoder": {"420": added("<|im_start|>"), "421": added("<|im_end|>")},
        }
    }


def fnv(numbers, state=0xCBF29CE484222325):
    """FNV-1a over 32-bit little-endian words."""
    for number in numbers:
        for byte in number.to_bytes(4, "little"):
            state = (state ^ byte) * 0x100000001B3 % (1 << 64)
    return state


def shared(root):
    """Digests of GPT-2's ids over real texts that are not in the repository."""
    place = root / "tokenizers/gpt2"
    tokenizer = transformers.GPT2Tokenizer(str(place / "encoder.json"), str(place / "vocab.bpe"))
    files = {
        "data/wikitext2/valid.txt": 500, "data/mgsm/mgsm_zh.tsv": 100, "data/mgsm/mgsm_ja.tsv": 100,
        "data/humaneval/HumanEval.jsonl": 60,
    }
    for file, lines in files.items():
        state = fnv([])
        for line in (root / file).read_bytes().decode().split("\n")[:lines] + TEXTS:
            state = fnv(tokenizer(line)["input_ids"] + [0xFFFFFFFF], state)
        yield {"file": file, "lines": lines, "fnv": f"{state:016x}"}


def main():
    document = {"transformers": transformers.__version__, "texts": {}, "directories": {}}
    for name, files, configs in directories():
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory)
            for file, content in files.items():
                if file.endswith(".model"):
                    shutil.copy(HERE / content, place / file)
                else:
                    (place / file).write_text(content)
            for file, content in configs.items():
                (place / file).write_text(json.dumps(content))
            tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
            assert tokenizer.is_fast
            cases = []
            for text in TEXTS:
                ids = tokenizer(text)["input_ids"]
                plain = tokenizer(text, add_special_tokens=False)["input_ids"]
                cases.append({"ids": ids, "plain": plain, "decoded": tokenizer.decode(ids, skip_special_tokens=True)})
            texts = {file: content for file, content in files.items() if not file.endswith(".model")}
            model = files.get("tokenizer.model")
            if texts:
                document["texts"]["byte_level"] = texts
            document["directories"][name] = {
                "model": model, "configs": configs, "cases": cases, "special": tokenizer.special_tokens_map,
            }
    document["inputs"] = TEXTS
    if len(sys.argv) > 1:
        document["shared"] = list(shared(pathlib.Path(sys.argv[1])))
    (HERE / "transformers.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")


main()

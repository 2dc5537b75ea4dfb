"""Trains small SentencePiece models and records what the library makes of the texts. Needs `sentencepiece`, `protobuf`."""

import io
import json
import pathlib
import sys

import sentencepiece as spm
from corpus import CORPUS, TEXTS
from sentencepiece import sentencepiece_model_pb2 as pb

HERE = pathlib.Path(__file__).parent


def train(name, **options):
    model = io.BytesIO()
    lines = [line for line in CORPUS.splitlines() if line.strip()]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, num_threads=1, minloglevel=2, **options
    )
    (HERE / f"{name}.model").write_bytes(slim(model.getvalue()))


def slim(data):
    """Drops the path of the rules, which says only where they were made."""
    proto = pb.ModelProto.FromString(data)
    proto.normalizer_spec.ClearField("normalization_rule_tsv")
    return proto.SerializeToString()


def record(name):
    processor = spm.SentencePieceProcessor(model_file=str(HERE / f"{name}.model"))
    cases = []
    for text in TEXTS:
        ids = processor.encode(text)
        cases.append({"text": text, "ids": ids, "decoded": processor.decode(ids)})
    # Ids that no encoder gives: control and unknown pieces, halves of characters, a leading space twice.
    size = processor.get_piece_size()
    for step in (1, 7, 31):
        ids = [(index * step + step) % size for index in range(24)]
        cases.append({"text": None, "ids": ids, "decoded": processor.decode(ids)})
    return cases


def main():
    # As Llama's: byte fallback, no rules, every space kept.
    llama = dict(
        model_type="bpe", vocab_size=480, byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True, character_coverage=0.99,
    )
    train("bpe", **llama)
    # As InternLM2's or Gemma's: symbols of the user, chat tokens as control symbols, no dummy prefix.
    train(
        "bpe_symbols", user_defined_symbols=["<sep>", "  ", "\t"], control_symbols=["<|im_start|>", "<|im_end|>"],
        **{**llama, "add_dummy_prefix": False},
    )
    # Gemma's order of the first ids.
    train(
        "bpe_gemma", pad_id=0, eos_id=1, bos_id=2, unk_id=3, bos_piece="<bos>", eos_piece="<eos>",
        control_symbols=["<start_of_turn>", "<end_of_turn>"], user_defined_symbols=["  ", "\n\n"],
        **{**llama, "add_dummy_prefix": False},
    )
    # Rules of a few lines instead of nmt_nfkc's 240 KB: they take the same path.
    rules = HERE / "rules.tsv"
    rules.write_text(
        "".join(
            f"{' '.join(f'{ord(c):X}' for c in source)}\t{' '.join(f'{ord(c):X}' for c in target)}\n"
            for source, target in [
                ("ﬁ", "fi"), ("ﬀ", "ff"), ("\u212b", "\u00c5"), ("e\u0301", "\u00e9"), ("①", "1"), ("㍿", "株式会社"), ("\u3000", " "),
                ("\u00a0", " "), ("\t", " "), ("\n", " "), ("\r", " "), ("\u200b", " "), ("\ufeff", ""),
                ("\x01", ""), ("\x7f", ""), ("Ａ", "A"), ("Ｂ", "B"), ("½", "1\u20442"),
            ]
        )
    )
    train(
        "unigram", model_type="unigram", vocab_size=300, hard_vocab_limit=False, normalization_rule_tsv=str(rules),
        user_defined_symbols=["<sep>"], character_coverage=0.98,
    )
    rules.unlink()
    # Unused pieces, which BPE takes apart again, and whitespace as a suffix: no trainer flag gives both.
    proto = pb.ModelProto.FromString((HERE / "bpe.model").read_bytes())
    for piece in proto.pieces[270:340:2]:
        if piece.type == pb.ModelProto.SentencePiece.NORMAL:
            piece.type = pb.ModelProto.SentencePiece.UNUSED
    (HERE / "bpe_unused.model").write_bytes(proto.SerializeToString())
    proto = pb.ModelProto.FromString((HERE / "unigram.model").read_bytes())
    proto.trainer_spec.treat_whitespace_as_suffix = True
    for piece in proto.pieces[40:80:3]:
        piece.type = pb.ModelProto.SentencePiece.UNUSED
    (HERE / "unigram_suffix.model").write_bytes(proto.SerializeToString())

    names = ["bpe", "bpe_symbols", "bpe_gemma", "bpe_unused", "unigram", "unigram_suffix"]
    document = {"sentencepiece": spm.__version__, "models": {name: record(name) for name in names}}
    if len(sys.argv) > 1:
        document["shared"] = shared(pathlib.Path(sys.argv[1]))
    (HERE / "sentencepiece.json").write_text(json.dumps(document, ensure_ascii=True, separators=(",", ":")) + "\n")


def fnv(numbers, state=0xCBF29CE484222325):
    """FNV-1a over 32-bit little-endian words."""
    for number in numbers:
        for byte in number.to_bytes(4, "little"):
            state = (state ^ byte) * 0x100000001B3 % (1 << 64)
    return state


def shared(root):
    """Digests over real texts that are not in the repository: lines of files, their ids, a marker after each."""
    files = {
        "data/wikitext2/valid.txt": 1500,
        "data/tinyshakespeare/input.txt": 1500,
        "data/mgsm/mgsm_zh.tsv": 250,
        "data/mgsm/mgsm_ja.tsv": 250,
        "data/xcopa_zh/test.zh.jsonl": 500,
        "data/humaneval/HumanEval.jsonl": 60,
    }
    models = ["tokenizers/sentencepiece_test/test_model.model", "models/stories260K/tok512.model"]
    digests = []
    for model in models:
        processor = spm.SentencePieceProcessor(model_file=str(root / model))
        for file, lines in files.items():
            text = (root / file).read_bytes().decode()
            state = fnv([])
            for line in text.split("\n")[:lines] + TEXTS:
                ids = processor.encode(line)
                state = fnv(ids + [0xFFFFFFFF] + [ord(c) for c in processor.decode(ids)] + [0xFFFFFFFE], state)
            digests.append({"model": model, "file": file, "lines": lines, "fnv": f"{state:016x}"})
    return digests


main()

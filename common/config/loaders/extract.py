"""Writes opencompass.toml: what OpenCompass's loader classes read, taken from the presets.

A preset and OpenCompass's configuration of the same name describe the same rows: the preset by a split, OpenCompass by a class
with parameters. Side by side they say which split stands for which class.

    cargo run --release -p compass-python --example corpus -- ROOT --json configs.jsonl
    python3 extract.py configs.jsonl ../presets > opencompass.toml
"""

import collections
import glob
import json
import os
import sys
import tomllib

OWN = {"abbr", "type", "reader_cfg", "infer_cfg", "eval_cfg", "n", "k", "mode"}
# Presets whose splits hold more than the class gives: columns made for their own templates.
MADE_FOR_ONE = {
    "bbh_gen_4a31fa", "bbh_gen_5b92b0", "bbh_gen_5bf00b", "bbh_gen_98fba6", "bbh_gen_ee62e9",
    "deprecated_sanitized_mbpp_passk_gen_1e1056", "sanitized_mbpp_passk_gen_830460",
    "winogrande_5shot_ll_252f01", "winogrande_ll_c5cf57",
}

# LongBench's classes by the ends of their names, with the names of their files where these differ, and what they take of a row
# (`opencompass/datasets/longbench`). One of them has a preset.
LONGBENCH = {
    ("input", "context", "answers"): [
        "2wikimqa", "dureader", "hotpotqa", "multifieldqa_en", "multifieldqa_zh", "musique", "narrativeqa",
        "passage_retrieval_en", "passage_retrieval_zh", "qmsum", "repobench repobench-p", "samsum", "triviaqa",
    ],
    ("context", "answers"): ["gov_report", "lcc", "multi_news", "passage_count", "vcsum"],
    ("input", "context", "all_labels"): ["lsht", "trec"],
}


def replaced(value, at, lists):
    if isinstance(value, str):
        for name, values in lists.items():
            value = value.replace("${" + name + "}", values[at])
        return value
    if isinstance(value, list):
        return [replaced(item, at, lists) for item in value]
    if isinstance(value, dict):
        return {replaced(key, at, lists): replaced(item, at, lists) for key, item in value.items()}
    return value


def presets(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.toml"))):
        with open(path, "rb") as file:
            tables = tomllib.load(file)["dataset"]
        entries = []
        for table in tables:
            lists = table.pop("for_each", None)
            count = len(next(iter(lists.values()))) if lists else 1
            entries += [replaced(table, at, lists or {}) for at in range(count)]
        yield os.path.basename(path)[: -len(".toml")], entries


def configurations(path):
    found = {}
    for line in open(path):
        record = json.loads(line)
        if "/configs/datasets/" in record["file"]:
            lists = [value for value in record["names"].values() if isinstance(value, list)]
            entries = {item["abbr"]: item for items in lists for item in items if isinstance(item, dict) and "abbr" in item}
            found[os.path.basename(record["file"])[: -len(".py")]] = entries
    return found


def completed(name, source):
    """The source with the columns of the class that no preset asks for."""
    if name.startswith("Winogrande"):
        source = {**source, "only": [*source["only"], "cont"]}
        source["columns"] = {**source["columns"], "cont": {"capture": "sentence", "regex": "(?s)_([^_]*)"}}
    return source


def sliced(entry, theirs, ours):
    """The split with the rows that the class takes of its file, which a preset asks for itself."""
    span = entry["reader_cfg"].get(ours + "_range")
    if span is not None and theirs.get("reader_cfg", {}).get(ours + "_range") is None:
        return {**entry[ours], "slice": span}
    return entry[ours]


def own(entry, theirs):
    """What the class does to the rows that is said elsewhere here: how it reads the right answer."""
    made = {}
    gold = entry["eval_cfg"].get("dataset_postprocessor")
    if gold is not None and "dataset_postprocessor" not in theirs["eval_cfg"]:
        made["dataset_postprocessor"] = gold
    return made


def longbench():
    for only, ends in LONGBENCH.items():
        for end in ends:
            kind, *other = end.split()
            name = other[0] if other else kind
            source = {"path": f"Longbench/data/{name}.jsonl", "only": list(only)}
            if "all_labels" in only:
                source["columns"] = {"all_labels": {"object": ["answers", "all_classes"]}}
            params = json.dumps({"name": name, "path": "opencompass/Longbench"}, sort_keys=True)
            yield (f"LongBench{kind}Dataset", "test", params), source


def templated(source, params):
    """The source with the values of parameters replaced by their names."""
    text = json.dumps(source)
    for key, value in sorted(params.items(), key=lambda item: -len(str(item[1]))):
        if isinstance(value, str) and len(value) > 2 and key != "path":
            text = text.replace(json.dumps(value)[1:-1], "${" + key + "}")
    return text


def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    bare = lambda key: key if key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key) else toml(key)
    return "{ " + ", ".join(f"{bare(key)} = {toml(item)}" for key, item in value.items()) + " }" if value else "{}"


def main():
    known = configurations(sys.argv[1])
    records = {}
    for name, entries in presets(sys.argv[2]):
        if name in MADE_FOR_ONE:
            continue
        for entry in entries:
            theirs = known.get(name, {}).get(entry["abbr"])
            if theirs is None:
                continue
            reader = theirs.get("reader_cfg", {})
            params = {key: value for key, value in theirs.items() if key not in OWN}
            for ours, split in (("test", reader.get("test_split", "test")), ("train", reader.get("train_split", "train"))):
                if ours in entry:
                    key = (theirs["type"].split(".")[-1], split, json.dumps(params, sort_keys=True))
                    records.setdefault(key, (sliced(entry, theirs, ours), own(entry, theirs)))
    for key, source in longbench():
        records.setdefault(key, (source, {}))
    groups = collections.defaultdict(list)
    for (name, split, params), (source, made) in records.items():
        params = json.loads(params)
        text = templated(completed(name, source), params)
        groups[name, split, tuple(sorted(params)), text, json.dumps(made)].append(params)
    print("# Which split stands for which of OpenCompass's loader classes: written by extract.py from the presets.")
    print("# A parameter with a list is one of these; `${name}` in the split is its value.")
    for (name, split, keys, text, made), many in sorted(groups.items()):
        values = {}
        for key in keys:
            distinct = []
            for params in many:
                if params[key] not in distinct:
                    distinct.append(params[key])
            values[key] = distinct[0] if len(distinct) == 1 else distinct
        print(f"\n[[loader]]\nclass = {toml(name)}\nsplit = {toml(split)}\nparams = {toml(values)}")
        print(f"source = {toml(json.loads(text))}")
        for key, value in json.loads(made).items():
            print(f"{key} = {toml(value)}")


main()

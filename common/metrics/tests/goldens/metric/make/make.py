"""Writes the goldens of common/metrics beside this folder, from the peers' own packages.

    python3 -m venv v && v/bin/pip install --no-deps opencompass==0.5.4 lm_eval==0.4.13
    v/bin/pip install sacrebleu==2.6.0 rouge_score==0.1.2 rouge==1.0.1 rouge_chinese==1.0.3 jieba==0.42.1 evaluate==0.4.6 \
        datasets scikit-learn scipy nltk fuzzywuzzy python-Levenshtein rapidfuzz langdetect immutabledict sympy \
        antlr4-python3-runtime==4.11 latex2sympy2_extended
    v/bin/pip install --no-deps llama-index-core==0.14.0
    v/bin/python make.py [name ...]
"""
import importlib
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
FAMILIES = ("overlap", "rouge", "translation", "math", "option", "instruction", "statistics", "choice", "votes")
OUT = pathlib.Path(os.environ.get("OUT", pathlib.Path(__file__).parent.parent))


def write(name, cases):
    """One case a line: {"in": [...], "out": ...}."""
    lines = ",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in cases)
    (OUT / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(name, len(cases))


if __name__ == "__main__":
    for family in sys.argv[1:] or FAMILIES:
        for name, cases in importlib.import_module(f"from_{family}").goldens():
            write(name, cases)

"""Writes filters.json: what lm-eval's own filters make of responses.

    pip install lm_eval==0.4.13 --no-deps
    python generate_filters.py       # needs the package on sys.path; run in this folder
"""

import importlib.util
import json
import pathlib
import sys
import types

from texts import TEXTS

ROOT = pathlib.Path(importlib.util.find_spec("lm_eval").submodule_search_locations[0])
for package in ("lm_eval", "lm_eval.api"):
    module = types.ModuleType(package)
    module.__path__ = []
    sys.modules[package] = module
filters = {}


class Filter:
    """The base class does nothing else for these filters than to swallow keywords."""

    def __init__(self, **kwargs):
        pass


sys.modules["lm_eval.api.filter"] = types.SimpleNamespace(Filter=Filter)
register = lambda name: lambda cls: filters.setdefault(name, cls)
sys.modules["lm_eval.api.registry"] = types.SimpleNamespace(register_filter=register)
for name in ("extraction", "selection", "transformation"):
    spec = importlib.util.spec_from_file_location(name, ROOT / "filters" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)

OWN = [
    "The answer is 18.", "The answer is -1,234.5", "#### 42", "#### -1,000.5\n#### 7", "answer: $12 and 3", "no match", "1 2 3", "$$$", "a 5 b 66 c 777", "The final answer: yes.",
    "(A)", "(B) and (C)", "it is (D).", "first option", "Second Option!", "SECOND OPTION", "the third, option", ": A", ":\n B is it", "answer: C", "none of these", "guilty", "Guilty of Romance", "12%", ": Z", "(a)",
    "[('The', 'DET'), ('cat', 'NOUN')]", "('x', 'VERB')", "('', '')", "[('a', 'B'), ('c',  'D')]", "pos tags: none",
    "PER: Ada, Grace $$ LOC: London", "person: Ada\nlocation: none", "Organization : ACME, none, Foo$$date: 1 May", "people:Bob $ time: now", "PER:", "LOC: none", "persons: X $$ company: Y $$ country: Z $$$", "superman: no", "ORG: a$DATE: b\nPER: c",
    "  padded \n", "\u3000wide\u3000", "ÀÉÎ", "straße", "ΑΣ", "ǆ", "ﬁ", "İ", "yes", "YES", "no", "A", "Yes",
]
TEXT = [text for text in TEXTS["common"] if len(text) < 1000] + OWN
CHOICES = [["first option", "second option", "third, option", "Guilty", "Guilty of Romance"], ["12%", "(b)", "a.c"], []]
MMLU = r"((?<=The answer is )(.*)(?=.)|(?<=the answer is )(.*)(?=.)|(?<=The answer: )(.*)(?=.)|(?<=The final answer: )(.*)(?=.))"


def step(function, **parameters):
    return {"function": function, **parameters}


def one_each(steps, choices=()):
    return [{"steps": steps, "choices": list(choices), "responses": [[text] for text in TEXT]}]


def many(*steps):
    groups = [TEXT[at:at + size] for at in range(0, len(TEXT), 4) for size in (1, 3, 8)]
    groups += [["a", "b", "b", "a"], ["x", "y", "y"], ["A"] * 5 + ["B"] * 5, ["#### 1", "#### 2", "#### 2", "none"]]
    return [{"steps": list(steps), "choices": [], "responses": groups}]


PIPELINES = [
    *one_each([step("regex"), step("take_first")]),
    *one_each([step("regex", regex_pattern=r"(-?[$0-9.,]{2,})|(-?[0-9]+)", group_select=-1), step("take_first")]),
    *one_each([step("regex", regex_pattern=MMLU), step("take_first")]),
    *one_each([step("regex", regex_pattern=r"(\([A-Z]\))", fallback="?")]),
    *one_each([step("regex", regex_pattern=r"\b[ABCD]\b", fallback="")]),
    *one_each([step("regex", regex_pattern=r"\d*"), step("remove_whitespace")]),
    *one_each([step("regex", regex_pattern=r"(?i)(\w+)\s+(\w+)?$")]),
    *one_each([step("regex", regex_pattern=r"(?<= )([\" \[\(<{}>\)\]]+)|([\" \[\(<{}>\)\]]+)")]),
    *one_each([step("regex", regex_pattern=r"(\b[ABCD]\b)"), step("take_first"),
               step("map", mapping_dict={"A": 0, "B": 1, "C": 2, "D": 3}, default_value=-1), step("take_first")]),
    *one_each([step("map", mapping_dict={"yes": 1, "no": False, "A": None, "": "empty"})]),
    *one_each([step("remove_whitespace")]),
    *one_each([step("lowercase")]),
    *one_each([step("uppercase")]),
    *one_each([step("format_span")]),
    *one_each([step("regex_pos")]),
    *one_each([step("regex_pos", fallback=["x", "y"]), step("take_first")]),
    *many(step("majority_vote"), step("take_first")),
    *many(step("take_first")),
    *many(step("take_first_k", k=1), step("majority_vote")),
    *many(step("regex"), step("majority_vote")),
]
for choices in CHOICES:
    for parameters in ({}, {"ignore_case": True, "ignore_punctuation": True},
                       {"regex_pattern": r"(\([A-Z]\))", "regexes_to_ignore": [r"\s", "option"], "group_select": -1}):
        PIPELINES += one_each([step("multi_choice_regex", **parameters)], choices)


def run(pipeline):
    responses = pipeline["responses"]
    docs = [{"choices": pipeline["choices"]} for _ in responses]
    for entry in pipeline["steps"]:
        parameters = {key: value for key, value in entry.items() if key != "function"}
        responses = list(filters[entry["function"]](**parameters).apply(responses, docs))
    return responses


def main():
    cases = []
    for pipeline in PIPELINES:
        alone = all(len(group) == 1 for group in pipeline["responses"])
        outputs = []
        for group in pipeline["responses"]:
            try:
                outputs.append(run({**pipeline, "responses": [group]})[0])
            except (IndexError, TypeError) as error:
                outputs.append({"error": type(error).__name__})
        case = {"steps": pipeline["steps"], "choices": pipeline["choices"], "outputs": outputs}
        cases.append(case if alone else {**case, "responses": pipeline["responses"]})
    golden = json.dumps({"own": OWN, "cases": cases}, ensure_ascii=False, separators=(",", ":"))
    path = pathlib.Path(__file__).parent / "filters.json"
    path.write_text(golden.replace('{"steps"', '\n{"steps"') + "\n")
    print(path.name, len(cases), "pipelines", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

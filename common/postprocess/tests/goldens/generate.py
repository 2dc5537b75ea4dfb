"""Writes the goldens of postprocess_goldens.rs: what OpenCompass's own functions make of the texts of texts.py.

    pip install opencompass==0.5.4 --no-deps && pip install jieba regex sympy
    python generate.py          # needs the packages on sys.path; run in this folder

OpenCompass is not imported whole: the modules that define the functions are loaded one by one, and what they import
besides the standard library, jieba and regex is replaced by stand-ins, because none of it is used by the functions.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import types
import warnings

warnings.filterwarnings("ignore")
ABSENT = {"numpy", "pandas", "tqdm", "transformers", "tiktoken", "rouge", "mmengine", "modelscope"}


class Stand(types.ModuleType):
    """A module any attribute of which is a do-nothing class or a registry."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name.isupper():
            return Registry()
        return type(name, (), {})


class Registry:
    def register_module(self, *args, **kwargs):
        return lambda thing: thing


class StandFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves stand-ins for what is not installed and for OpenCompass's own heavy packages."""

    heavy = ("opencompass.openicl", "opencompass.registry", "opencompass.models", "opencompass.evaluator", "datasets")

    def find_spec(self, name, path=None, target=None):
        if name.startswith(self.heavy) or name in ("opencompass.utils", "opencompass.datasets.base"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Stand(spec.name)

    def exec_module(self, module):
        pass


class Missing(StandFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in ABSENT | {"opencompass"}:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)


ROOT = pathlib.Path(importlib.util.find_spec("opencompass").submodule_search_locations[0])
sys.meta_path.insert(0, StandFinder())
sys.meta_path.append(Missing())
for package in ("opencompass", "opencompass.datasets", "opencompass.datasets.agieval", "opencompass.datasets.TheoremQA",
                "opencompass.datasets.longbench", "opencompass.models.claude_api"):
    module = types.ModuleType(package)
    module.__path__ = [str(ROOT.joinpath(*package.split(".")[1:]))]
    sys.modules[package] = module


def load(name):
    """The module of that name from its file, whatever its package imports."""
    path = ROOT.joinpath(*name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location("opencompass." + name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["opencompass." + name] = module
    spec.loader.exec_module(module)
    return module


text = load("utils.text_postprocessors")
sys.modules["opencompass.utils.text_postprocessors"] = text
d = {name: load("datasets." + name) for name in (
    "math", "math_intern", "gsm8k", "bbeh", "bbh", "charm", "strategyqa", "xsum", "flores", "lcsts", "record", "cmrc", "mathbench",
    "mgsm", "gpqa", "humaneval", "mbpp", "crowspairs", "triviaqa", "natural_question", "lambada")}
theoremqa = load("datasets.TheoremQA.legacy")
longbench = load("datasets.longbench.longbench_trec")
infinitebench = load("datasets.infinitebench.utils")
agieval = load("datasets.agieval.post_process")
humaneval_claude = None
sys.modules["opencompass.datasets.humaneval"].humaneval_gpt_postprocess = d["humaneval"].humaneval_internal_v1_postprocess
humaneval_claude = load("models.claude_api.postprocessors")

general = text.general_postprocess


def first(evaluator, references):
    """Runs an evaluator on one prediction and returns the text that it compares."""
    def run(prediction):
        details = evaluator.score([prediction], references)["details"]
        return details[0]["pred"]
    return run


def lambada(prediction):
    """The text that LambadaEvaluator compares, caught where it is made."""
    caught = []
    module = d["lambada"]
    module.general_postprocess = lambda value: caught.append(general(value)) or caught[-1]
    module.LambadaEvaluator().score([prediction], [""])
    return caught[0]


def case(name, function, parameters=None, texts=("common",)):
    return {"name": name, "parameters": parameters or {}, "function": function, "texts": texts}


def options(letters, cushion=True):
    return lambda value: text.first_option_postprocess(value, letters, cushion)


CASES = {
    "plain": [
        case("general", general),
        case("first-capital", text.first_capital_postprocess),
        case("last-capital", text.last_capital_postprocess),
        case("first-capital-multi", text.first_capital_postprocess_multi),
        case("multiple-select", text.multiple_select_postprocess),
        case("gsm8k", d["gsm8k"].gsm8k_postprocess),
        case("first_number_postprocess", text.first_number_postprocess),
        case("InfiniteBench_first_number_postprocess", infinitebench.InfiniteBench_first_number_postprocess),
        case("GPQA_Simple_Eval_postprocess", d["gpqa"].GPQA_Simple_Eval_postprocess),
        case("crowspairs_postprocess", d["crowspairs"].crowspairs_postprocess),
    ],
    "options": [
        case("first_option_postprocess", options("ABCD"), {"options": "ABCD"}, ("common", "options")),
        case("first_option_postprocess", options("ABC", False), {"options": "ABC", "cushion": False}, ("common", "options")),
        case("first_option_postprocess", options("AB"), {"options": "AB"}, ("common", "options")),
        case("first_option_postprocess", options("ABCDEFGHIJKLMNOP"), {"options": "ABCDEFGHIJKLMNOP"}, ("common", "options")),
        case("last_option_postprocess", lambda value: text.last_option_postprocess(value, "ABCD"), {"options": "ABCD"},
             ("common", "options")),
        case("match_answer_pattern", lambda value: text.match_answer_pattern(value, r"(?i)ANSWER\s*:\s*([A-D])"),
             {"answer_pattern": r"(?i)ANSWER\s*:\s*([A-D])"}, ("common", "options")),
        case("match_answer_pattern", lambda value: text.match_answer_pattern(value, r"(?<![\w.])(-?\d+(?:\.\d+)?)\s*$"),
             {"answer_pattern": r"(?<![\w.])(-?\d+(?:\.\d+)?)\s*$"}, ("common", "options")),
    ],
    "tags": [
        case("specific-xml-tag", lambda value: text.xml_tag_postprocessor(value, "<conclude>"), {"tag": "<conclude>"},
             ("common", "tags")),
        case("extract-non-reasoning-content", text.extract_non_reasoning_content, {}, ("common", "tags")),
        case("extract-non-reasoning-content",
             lambda value: text.extract_non_reasoning_content(value, "## Thinking", "## Final Response"),
             {"think_start_token": "## Thinking", "think_end_token": "## Final Response"}, ("common", "tags")),
        case("think_pred", lambda value: text.think_pred_postprocess(value, r"</think>\s*(.+)"),
             {"re_pattern": r"</think>\s*(.+)"}, ("common", "tags")),
        case("general_eval_wrapper_postprocess", lambda value: unchanged(text.general_eval_wrapper_postprocess(value), value),
             {}, ("common", "tags", "literals")),
    ],
    "mathematics": [
        case("math", d["math"].math_postprocess, {}, ("common", "math")),
        case("math_v2", d["math"].math_postprocess_v2, {}, ("common", "math")),
        case("math_boxed", lambda value: d["math"].extract_boxed_answer(value) or "", {}, ("common", "math")),
        case("math_judement_preprocess", d["math"].math_judement_preprocess, {}, ("common", "math")),
        case("math_intern", d["math_intern"].math_intern_postprocess, {}, ("common", "math")),
        case("agieval_math", lambda value: agieval.parse_math_answer("", value), {}, ("common", "math")),
        case("mathbench", lambda value: d["mathbench"].mathbench_postprocess(value, "cloze_en"), {"name": "cloze_en"},
             ("common", "math")),
        case("mathbench", lambda value: d["mathbench"].mathbench_postprocess(value, "cloze_cn"), {"name": "cloze_cn"},
             ("common", "math")),
        case("mgsm", lambda value: d["mgsm"].mgsm_postprocess(value, "en"), {"lang": "en"}, ("common", "math")),
        case("mgsm", lambda value: d["mgsm"].mgsm_postprocess(value, "zh"), {"lang": "zh"}, ("common", "math")),
        case("TheoremQA_postprocess", theoremqa.TheoremQA_postprocess, {}, ("common", "math")),
        case("TheoremQA_postprocess_v2", theoremqa.TheoremQA_postprocess_v2, {}, ("common", "math")),
    ],
    "programs": [
        case("humaneval_postprocess_v2", d["humaneval"].humaneval_postprocess_v2, {}, ("common", "code")),
        case("humaneval_postprocess_v3", d["humaneval"].humaneval_postprocess_v3, {}, ("common", "code")),
        case("humaneval_internal_v1_postprocess", d["humaneval"].humaneval_internal_v1_postprocess, {}, ("common", "code")),
        case("humaneval_internal_v2_postprocess", d["humaneval"].humaneval_internal_v2_postprocess, {}, ("common", "code")),
        case("humaneval_postprocess", humaneval_claude.humaneval_postprocess, {}, ("common", "code")),
        case("mbpp", d["mbpp"].MBPPEvaluator()._process_answer, {}, ("common", "code")),
        case("mbpp_v2", d["mbpp"].MBPPEvaluator2._process_answer.__get__(object()), {}, ("common", "code")),
    ],
    "lines": [
        case("bbh_mcq", d["bbh"].bbh_mcq_postprocess, {}, ("common", "sentences")),
        case("charm-reason", d["charm"].charm_reason_postprocess, {}, ("common", "sentences")),
        case("bbh_freeform", d["bbh"].bbh_freeform_postprocess, {}, ("common", "sentences")),
        case("bbeh_mcq", d["bbeh"].bbeh_mcq_postprocess, {}, ("common", "sentences")),
        case("bbeh_freeform", d["bbeh"].bbeh_freeform_postprocess, {}, ("common", "sentences")),
        case("strategyqa_pred_postprocess", d["strategyqa"].strategyqa_pred_postprocess, {}, ("common", "sentences")),
        case("strategyqa_dataset", d["strategyqa"].strategyqa_dataset_postprocess, {}, ("common", "sentences")),
        case("Xsum", d["xsum"].Xsum_postprocess, {}, ("common", "sentences")),
        case("flores", d["flores"].flores_postprocess, {}, ("common", "sentences")),
        case("lcsts", d["lcsts"].lcsts_postprocess, {}, ("common", "sentences")),
        case("ReCoRD", d["record"].ReCoRD_postprocess, {}, ("common", "sentences")),
        case("cmrc", d["cmrc"].cmrc_postprocess, {}, ("common", "sentences")),
        case("trec_postprocess", longbench.trec_postprocess, {}, ("common", "sentences")),
    ],
    "answers": [
        case("triviaqa_answer", first(d["triviaqa"].TriviaQAEvaluator(), [["x"]]), {}, ("common", "sentences")),
        case("nq_answer", first(d["natural_question"].NQEvaluator(), [["x"]]), {}, ("common", "sentences")),
        case("lambada_answer", lambada, {}, ("common", "sentences")),
    ],
    "chinese": [
        case("general_cn", text.general_cn_postprocess, {}, ("common", "chinese")),
        case("flores-chinese", d["flores"].flores_postprocess_chinese, {}, ("common", "chinese")),
    ],
}


def unchanged(value, before):
    """Anything but a string stays text with us: no output of a model is evaluated."""
    return value if isinstance(value, str) else before


def output(function, value):
    made = function(value)
    return made if made is None or isinstance(made, str) else str(made)


def main():
    from texts import TEXTS

    here = pathlib.Path(__file__).parent
    for name, cases in CASES.items():
        sets = sorted({kind for entry in cases for kind in entry["texts"]})
        golden = {"texts": {kind: TEXTS[kind] for kind in sets if kind != "common"}, "cases": []}
        if name == "plain":
            golden["texts"]["common"] = TEXTS["common"]
        for entry in cases:
            inputs = [value for kind in entry["texts"] for value in TEXTS[kind]]
            assert len(inputs) >= 80, (entry["name"], len(inputs))
            outputs = [output(entry["function"], value) for value in inputs]
            # An output that is its input is written as true, which keeps the files small.
            short = [True if made == value else made for made, value in zip(outputs, inputs)]
            golden["cases"].append({**{key: entry[key] for key in ("name", "parameters", "texts")}, "outputs": short})
        path = here / f"{name}.json"
        path.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")
        print(path.name, len(golden["cases"]), "functions", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

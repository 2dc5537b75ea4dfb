"""Writes meta_templates.json: what OpenCompass's own templates, retrievers and parsers make of prompts in rounds.

    python -m pip download --no-deps --no-binary :none: opencompass==0.5.4 && unzip opencompass-0.5.4-*.whl -d peer
    python meta_templates.py peer/opencompass

Needs Python 3.11 or later and nothing else: what OpenCompass imports beside its own files is replaced by empty modules.
"""
import json
import sys
import tomllib
import types
from pathlib import Path

ROOT = Path(sys.argv[1])


def module(name, path=None, **attributes):
    made = types.ModuleType(name)
    if path is not None:
        made.__path__ = [str(path)]
    for key, value in attributes.items():
        setattr(made, key, value)
    sys.modules[name] = made
    return made


class Registry:
    def register_module(self, *args, **kwargs):
        return lambda registered: registered


logger = types.SimpleNamespace(info=print, warning=print)
module("torch", Tensor=None)
module("mmengine", Path("/nowhere"), dist=None)
module("mmengine.config", ConfigDict=dict)
module("mmengine.dist", is_main_process=lambda: False)
module("mmengine.device", is_npu_available=lambda: False)
module("tqdm", trange=lambda n, **kwargs: range(n))
for package in ["", ".utils", ".openicl", ".openicl.icl_retriever", ".openicl.utils", ".models"]:
    module("opencompass" + package, ROOT.joinpath(*package.split(".")))
module("opencompass.registry", ICL_PROMPT_TEMPLATES=Registry(), ICL_RETRIEVERS=Registry(), MODELS=Registry())
module("opencompass.utils.types", _check_type_list=lambda value, _: value)
module("opencompass.utils.logging", get_logger=lambda *args: logger)
module("opencompass.openicl.utils.logging", get_logger=lambda *args: logger)
sys.modules["opencompass.utils"].get_logger = lambda *args: logger

from opencompass.openicl.icl_prompt_template import PromptTemplate  # noqa: E402
from opencompass.openicl.icl_retriever.icl_base_retriever import BaseRetriever  # noqa: E402

sys.modules["opencompass.openicl.icl_retriever"].BaseRetriever = BaseRetriever
from opencompass.models.base import LMTemplateParser  # noqa: E402
from opencompass.models.huggingface_above_v4_33 import _convert_chat_messages, _get_meta_template  # noqa: E402
from opencompass.openicl.icl_retriever.icl_fix_k_retriever import FixKRetriever  # noqa: E402
from opencompass.openicl.icl_retriever.icl_zero_retriever import ZeroRetriever  # noqa: E402

TRAIN = [
    {"q": "How many legs has a spider?", "hint": "count", "answer": "B", "A": "six", "B": "eight"},
    {"q": "Which one is a fruit?", "hint": "", "answer": "A", "A": "a plum", "B": "a {hint} plough"},
    {"q": "这是第三题吗？", "hint": "想一想", "answer": "A", "A": "是", "B": "不是"},
]
TEST = [
    {"q": "Is water {wet}?", "hint": "touch it", "answer": "A", "A": "yes", "B": "no"},
    {"q": "", "hint": "nothing\nasked", "answer": "B", "A": "", "B": "zwei"},
]

LM = """
[model.meta_template]
begin = "<s>Meta.\\n"
end = "\\n</dialogue>"
round = [
    { role = "HUMAN", begin = "<|Human|>: ", end = "<eoh>\\n" },
    { role = "BOT", begin = "<|Bot|>: ", end = "<eob>\\n", generate = true },
]
"""
LM_RESERVED = """
[model.meta_template]
round = [
    { role = "HUMAN", begin = "[INST]", end = "[/INST]" },
    "|",
    { role = "BOT", begin = "", end = "</s>", generate = true },
]
reserved_roles = [{ role = "SYSTEM", begin = "<<SYS>>", end = "<</SYS>>" }]
eos_token_id = 2
"""
LM_THOUGHTS = """
[model.meta_template]
begin = "."
round = [
    { role = "HUMAN", begin = "H(", end = ")" },
    { role = "THOUGHTS", begin = "T(", end = ")", prompt = "None", generate = true },
    { role = "BOT", begin = "B(", end = ")" },
]
end = "!"
"""
CHAT = 'meta_template = "chat"\n'
API = """
[model.meta_template]
round = [
    { role = "HUMAN", api_role = "HUMAN", begin = "ask: " },
    { role = "BOT", api_role = "BOT", generate = true, end = "." },
]
reserved_roles = [{ role = "SYSTEM", api_role = "SYSTEM" }]
"""
API_OPENING = """
[model.meta_template]
begin = { role = "SYSTEM", prompt = "Be brief." }
round = [{ role = "HUMAN", api_role = "HUMAN" }, { role = "BOT", api_role = "BOT", generate = true }]
"""

PLAIN = 'prompt_template = "{hint}: {q}\\nAnswer: "\n'
ROUND = """
[dataset.infer_cfg.prompt_template]
round = [{ role = "HUMAN", prompt = "Question: {q}\\n{hint}" }, { role = "BOT", prompt = "Answer: {answer}" }]
"""
HUMAN_ONLY = """
[dataset.infer_cfg.prompt_template]
round = [{ role = "HUMAN", prompt = "{q}" }]
"""
SHOTS = """
[dataset.infer_cfg.ice_template]
round = [{ role = "HUMAN", prompt = "Q: {q}" }, { role = "BOT", prompt = "{answer}" }]
[dataset.infer_cfg.prompt_template]
begin = ["A few questions.", "</E>", "Now yours."]
round = [{ role = "HUMAN", prompt = "Q: {q}" }, { role = "BOT", prompt = "{answer}" }]
"""
SHOTS_BARE = """
[dataset.infer_cfg.ice_template]
begin = "never shown </E>"
round = [{ role = "HUMAN", prompt = "{q} {hint}" }, { role = "BOT", prompt = "{answer}\\n" }]
[dataset.infer_cfg.prompt_template]
begin = "before </E> after {hint}"
round = [{ role = "HUMAN", prompt = "{q} {hint}" }, { role = "BOT", prompt = "{answer}\\n" }]
"""
SYSTEM = """
[dataset.infer_cfg.ice_template]
round = [{ role = "HUMAN", prompt = "{q}" }, { role = "BOT", prompt = "{answer}" }]
[dataset.infer_cfg.prompt_template]
begin = [
    { role = "SYSTEM", fallback_role = "HUMAN", prompt = "You are tired, {hint}." },
    "</E>",
]
round = [{ role = "HUMAN", prompt = "{q}" }, { role = "BOT", prompt = "" }]
"""
MULTI = """
[dataset.infer_cfg.prompt_template]
round = [
    { role = "HUMAN", prompt = "One: {A}" }, { role = "BOT", prompt = "first" },
    { role = "HUMAN", prompt = "Two: {B}" }, { role = "BOT", prompt = "second" },
    { role = "HUMAN", prompt = "{q}" },
]
"""
OVERRIDE = """
[dataset.infer_cfg.prompt_template]
round = [
    { role = "HUMAN", prompt = "{q}", begin = "{q}<", end = ">" },
    { role = "BOT", prompt = "{answer}", begin = "b:", end = "" },
]
"""
LABELS = """
[dataset.infer_cfg.prompt_template]
A = { round = [{ role = "HUMAN", prompt = "{q}" }, { role = "BOT", prompt = "It is {A}" }] }
B = { round = [{ role = "HUMAN", prompt = "{q}" }, { role = "BOT", prompt = "It is {B}" }] }
"""
LABEL_SHOTS = """
[dataset.infer_cfg.ice_template.A]
begin = ["Hint.", "</E>"]
round = [{ role = "HUMAN", prompt = "{q}" }, { role = "BOT", prompt = "It is {A}" }]
[dataset.infer_cfg.ice_template.B]
begin = ["Hint.", "</E>"]
round = [{ role = "HUMAN", prompt = "{q}" }, { role = "BOT", prompt = "It is {B}" }]
"""
TEXT_SHOTS = """
ice_template = "Q {q} A {answer}"
[dataset.infer_cfg.prompt_template]
round = [{ role = "HUMAN", prompt = "Shown:\\n</E>Asked: {q}" }, { role = "BOT", prompt = "{answer}" }]
"""
TEXT_SHOTS_BEGIN = """
ice_template = { A = "{q} {A}", B = "{q} {B}" }
ice_separator = ";"
ice_eos_token = "!\\n"
[dataset.infer_cfg.prompt_template]
begin = "Head </E> tail"
round = [{ role = "HUMAN", prompt = "{q}" }, { role = "BOT", prompt = "{answer}" }]
"""
FIX2 = 'retriever = { type = "fix_k", ids = [2, 0] }\n'
FIX3 = 'retriever = { type = "fix_k", ids = [1, 0, 2] }\n'

# name, model, retriever, templates, whether it is scored (ppl), continued (gen), or both
CASES = [
    ("a plain text without a meta template", "", "", PLAIN, "gen"),
    ("a plain text is left alone by a meta template", LM, "", PLAIN, "gen"),
    ("a plain text is what the user says", CHAT, "", PLAIN, "gen"),
    ("rounds without a meta template", "", "", ROUND, "ppl gen"),
    ("rounds", LM, "", ROUND, "ppl gen"),
    ("rounds for a chat", CHAT, "", ROUND, "gen ppl"),
    ("a silent role", LM, "", HUMAN_ONLY, "ppl gen"),
    ("a silent role with words of its own", LM_THOUGHTS, "", ROUND, "ppl gen"),
    ("a silent role for a chat", CHAT, "", HUMAN_ONLY, "ppl gen"),
    ("shots without a meta template", "", FIX2, SHOTS, "ppl gen"),
    ("shots", LM, FIX2, SHOTS, "ppl gen"),
    ("shots for a service", API, FIX3, SHOTS, "ppl gen"),
    ("shots for a chat", CHAT, FIX3, SHOTS, "ppl gen"),
    ("shots at a token within a string", LM_RESERVED, FIX3, SHOTS_BARE, "ppl gen"),
    ("shots at a token within a string, no meta template", "", FIX3, SHOTS_BARE, "ppl gen"),
    ("no shots at a token within a string", "", "", SHOTS_BARE, "ppl gen"),
    ("a reserved role", LM_RESERVED, FIX2, SYSTEM, "ppl gen"),
    ("a fallback role", LM, FIX2, SYSTEM, "ppl gen"),
    ("a reserved role for a service", API, FIX2, SYSTEM, "ppl gen"),
    ("a fallback role for a chat", CHAT, "", SYSTEM, "ppl gen"),
    ("several rounds", LM, "", MULTI, "ppl gen"),
    ("several rounds without a meta template", "", "", MULTI, "ppl gen"),
    ("several rounds for a chat", CHAT, "", MULTI, "ppl gen"),
    ("roles wrapped by the template", LM_RESERVED, "", OVERRIDE, "ppl gen"),
    ("labels in rounds", LM, "", LABELS, "ppl"),
    ("labels in rounds without a meta template", "", "", LABELS, "ppl"),
    ("shots by label in rounds", LM, FIX3, LABEL_SHOTS, "ppl"),
    ("shots by label in rounds without a meta template", "", FIX3, LABEL_SHOTS, "ppl"),
    ("shots as text in a turn", LM, FIX2, TEXT_SHOTS, "ppl gen"),
    ("shots as text in a turn without a meta template", "", FIX2, TEXT_SHOTS, "ppl gen"),
    ("shots as text in a turn for a chat", CHAT, FIX2, TEXT_SHOTS, "ppl gen"),
    ("shots as text before the dialogue", LM, FIX2, TEXT_SHOTS_BEGIN, "ppl gen"),
    ("shots as text before the dialogue, no meta template", "", FIX2, TEXT_SHOTS_BEGIN, "ppl gen"),
    ("words before a chat", API_OPENING, FIX2, SHOTS, "ppl gen"),
]


def eval_toml(model, retriever, templates, inferencer):
    return f"""[[model]]
abbr = "m"
type = "echo"
{model}
[[dataset]]
abbr = "d"
reader_cfg = {{ input_columns = ["q"], output_column = "answer" }}
test = {{ path = "test.jsonl" }}
train = {{ path = "train.jsonl" }}
eval_cfg = {{ evaluator = "acc" }}
[dataset.infer_cfg]
inferencer = "{inferencer}"
{retriever}{templates}"""


def chat_only(meta):
    return meta == "chat" or any(isinstance(item, dict) and "api_role" in item for item in meta["round"])


def parser(meta):
    """The parser, and what becomes of its output."""
    if meta is None:
        return LMTemplateParser(None), lambda parsed: parsed
    if not chat_only(meta):
        return LMTemplateParser(meta), lambda parsed: parsed
    made = _get_meta_template(None if meta == "chat" else meta)
    return made, lambda parsed: _convert_chat_messages([parsed])[0]


def template(config):
    if config is None:
        return None
    token = "</E>"
    texts = json.dumps(config, ensure_ascii=False)
    return PromptTemplate(config, ice_token=token if token in texts else None)


def run(name, model, retriever, templates, inferencer):
    toml = eval_toml(model, retriever, templates, inferencer)
    config = tomllib.loads(toml)
    infer = config["dataset"][0]["infer_cfg"]
    meta = config["model"][0].get("meta_template")
    parse, finish = parser(meta)
    data = types.SimpleNamespace(reader=types.SimpleNamespace(output_column="answer"), train=TRAIN, test=TEST)
    joins = {key: infer[key] for key in ("ice_separator", "ice_eos_token") if key in infer}
    chosen = infer.get("retriever")
    made = FixKRetriever(data, chosen["ids"], **joins) if chosen else ZeroRetriever(data)
    ice, asking = template(infer.get("ice_template")), template(infer.get("prompt_template"))
    if not chosen and ice is not None and asking is not None:
        # OpenCompass wants no shot template where there are no shots.
        ice = None
    samples = []
    for index, ids in enumerate(made.retrieve()):
        kept = []
        for count in range(len(ids), -1, -1):
            shots = made.generate_ice(ids[:count], ice_template=ice)
            entry = {"shots": count}
            if inferencer == "gen":
                prompt = made.generate_prompt_for_generate_task(index, shots, ice_template=ice, prompt_template=asking)
                entry["prompts"] = [finish(parse.parse_template(prompt, mode="gen"))]
            else:
                form = asking or ice
                by_label = form.prompt_type == "origin"
                labels = list(form.template) if by_label else ["A", "B"]
                prompts = [
                    made.generate_label_prompt(index, shots, label, ice_template=ice, prompt_template=asking)
                    for label in labels
                ]
                entry["prompts"] = [finish(parse.parse_template(prompt, mode="ppl")) for prompt in prompts]
                if not (meta is not None and chat_only(meta)):
                    entry["examples"] = parse.parse_template(shots, mode="ppl")
            kept.append(entry)
        samples.append(kept)
    if inferencer == "ppl" and not by_label:
        # OpenCompass asks the same for every label that occurs; here labels are always written out.
        head = "[dataset.infer_cfg.prompt_template"
        before, body = toml.split(head + "]")
        toml = before + "".join(f"{head}.{label}]{body}" for label in ["A", "B"])
    return {"name": name, "inferencer": inferencer, "toml": toml, "samples": samples}


def main():
    cases = [
        run(name, model, retriever, templates, inferencer)
        for name, model, retriever, templates, inferencers in CASES
        for inferencer in inferencers.split()
    ]
    document = {"opencompass": "0.5.4", "train": TRAIN, "test": TEST, "cases": cases}
    target = Path(__file__).with_suffix(".json")
    target.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{len(cases)} cases, {target.stat().st_size} bytes")


main()

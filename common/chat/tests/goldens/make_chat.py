"""Renders every chat template over every conversation with transformers' apply_chat_template."""

import datetime
import json
import pathlib

import tokenizers
import transformers
from chat_templates import CONVERSATIONS, TEMPLATES, TOOLS
from transformers.utils import chat_template_utils

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2025, 3, 7, 9, 5)


class Clock(datetime.datetime):
    """A clock that stands still, so that the goldens do."""

    @classmethod
    def now(cls, tz=None):
        return NOW


def main():
    chat_template_utils.datetime = Clock
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0}, unk_token="<unk>")),
        bos_token="<s>", eos_token="</s>",
    )
    cases = []
    for template in TEMPLATES:
        for conversation, messages in CONVERSATIONS.items():
            variants = [{}, {"add_generation_prompt": True}, {"continue_final_message": True}]
            if conversation in ("one", "tools"):
                variants += [{"add_generation_prompt": True, "tools": TOOLS}, {"enable_thinking": False, "date_string": "x"}]
                variants.append({"add_generation_prompt": True, "enable_thinking": False})
            for options in variants:
                case = {"template": template, "conversation": conversation, "options": options}
                try:
                    case["text"] = tokenizer.apply_chat_template(
                        messages, chat_template=TEMPLATES[template], tokenize=False, **options
                    )
                except Exception as error:
                    case["error"] = f"{type(error).__name__}: {error}"
                cases.append(case)
    document = {
        "transformers": transformers.__version__, "now": NOW.isoformat(), "special": tokenizer.special_tokens_map,
        "templates": TEMPLATES, "conversations": CONVERSATIONS, "cases": cases,
    }
    (HERE / "chat.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")


main()

//! `[[model]]` and the tables in it.

use super::endpoint::ENDPOINT;
use super::key::Kind::{
    self, Anything, ArrayOf, Boolean, Choice, Either, MapOf, Number, Path, Table, Text, Texts, Whole,
};
use super::key::{Key, TableKeys, ignored, key};
use super::vocabulary::{
    DEVICES, DROP_MIDDLE, DTYPES, PROFILES, SIDES, SYSTEM, TRUNCATION_SIDES, auto, chat, model_types,
};

/// A postprocessor as models and data sets take it: a name, a table with `type`, or several.
pub(super) const POSTPROCESSOR: Kind = Either(&[Text, MapOf(&Anything), ArrayOf(&Either(&[Text, MapOf(&Anything)]))]);
/// `"left"` or `"right"`.
const SIDE: Kind = Choice(|| SIDES.words());
/// A string, or several that are joined.
const WORDS: Kind = Either(&[Text, Texts]);

/// Tokens of an answer are given in three places.
pub(super) const KWARGS: Key =
    key("generation_kwargs", Table(&GENERATION_KWARGS), "how tokens are chosen").default("none");

pub(crate) static MODEL: TableKeys = TableKeys {
    name: "model",
    title: "[[model]]",
    keys: &[
        key("abbr", Text, "name in the table and in paths").required(),
        key(
            "path",
            Path,
            "directory of the model, its repository on the hub, or a folder in an object store; the local hub cache \
             comes first (`HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE`, `$HF_HOME/hub`, `~/.cache/huggingface/hub`)",
        )
        .takes("path, `owner/name` or `profile:s3://bucket/prefix/`")
        .default("required without `endpoint`"),
        key(
            "type",
            Choice(model_types),
            "layout of the directory: Hugging Face's, Meta's (params.json, consolidated.NN.pth, tokenizer.model), that of \
             InternLM's training code (model_config.pt, model_tpN_ppN.pt). `openai` is a server, see `endpoint`. `echo` answers with a hash of the prompt, for tests. \
             OpenCompass's classes (`HuggingFaceBaseModel`, `VLLMwithChatTemplate` ...) are understood too, with the settings of their engines",
        )
        .default("`hf`"),
        key("endpoint", Table(&ENDPOINT), "a server that is asked in place of weights ([models behind an endpoint](endpoints.md)); `path` is left out")
            .default("none"),
        key("inherit", Text, "takes every key of another model, then overrides").takes("`abbr`").default("none"),
        key("tokenizer_path", Path, "directory of the tokenizer, or its `tokenizer.model`").default("`path`"),
        key(
            "max_seq_len",
            Kind::from(1),
            "longest input in tokens; where it is written, shots that do not fit are left out before tokens are cut",
        )
        .default("what config.json says"),
        key("max_prompt_len", Kind::from(1), "most tokens of a text before which nothing is cut, where that is less than `max_seq_len`")
            .default("`max_seq_len`"),
        key(
            "reserve_max_out_len",
            Boolean,
            "a prompt that is continued is cut so that `max_out_len` tokens fit behind it, as by OpenCompass's `HuggingFaceCausalLM`",
        )
        .default("`false`"),
        key(
            "drop_middle",
            Either(&[Choice(|| DROP_MIDDLE.words()), Boolean]),
            "the middle of what is too long goes, not an end; `tokens` (`true`): both ends are joined as they are, `texts`: as texts that \
             are tokenised again",
        )
        .takes("`true`, `false`, `\"tokens\"`, `\"texts\"`")
        .default("`false`"),
        key(
            "sum_loglikelihood",
            Boolean,
            "`ll` data sets compare sums of the continuation's log-probabilities, as with OpenCompass's `HuggingFaceCausalLM`, not means",
        )
        .default("`false`"),
        key("max_out_len", Kind::from(1), "tokens to generate where the data set does not say").default("64"),
        key("min_out_len", Kind::from(0), "fewest tokens to generate where the data set does not say").default("0"),
        key(
            "dtype",
            Choice(|| DTYPES.words()),
            "`auto`: the checkpoint's own where the configuration asks for GPUs, else float32; pinned in the plan",
        )
        .default("`auto`"),
        key(
            "device",
            Choice(|| DEVICES.words()),
            "where the model runs; a GPU is never replaced by the CPU in silence",
        )
        .default("`auto`"),
        key("add_bos_token", Either(&[Choice(auto), Boolean]), "the tokenizer's own rule, always, never")
            .takes("`\"auto\"`, `true`, `false`")
            .default("`\"auto\"`"),
        key(
            "profile",
            Choice(|| PROFILES.words()),
            "whose formulas hold where they differ ([numbers](numbers.md))",
        )
        .default("`canonical`"),
        key(
            "deterministic",
            Boolean,
            "on a GPU: a sample's numbers do not depend on what is computed beside it; `false` is faster where few texts are long",
        )
        .default("`true`"),
        key(
            "chat",
            Either(&[Choice(auto), Boolean]),
            "prompts go through the tokenizer's chat template; `auto`: where it has one",
        )
        .takes("`\"auto\"`, `true`, `false`")
        .default("`false`"),
        key(
            "system",
            Choice(|| SYSTEM.words()),
            "what becomes of a `description` or another system message where the chat template, or the endpoint, refuses the role: `user` \
             puts the text and an empty line before the user's message",
        )
        .takes("`\"user\"`")
        .default("such a sample fails"),
        key(
            "fewshot_as_multiturn",
            Boolean,
            "with a chat: shots as turns of their own, or in the question's turn",
        )
        .default("`true`"),
        key(
            "meta_template",
            Either(&[Choice(chat), Table(&META_TEMPLATE)]),
            "how roles are wrapped, as OpenCompass writes it",
        )
        .takes("table or `\"chat\"`")
        .default("none"),
        key("run_cfg", Table(&RUN_CFG), "what one replica takes").default("`{ num_gpus = 0 }`"),
        KWARGS,
        key("stop_words", Texts, "strings that end a generation").default("none"),
        key("pred_postprocessor", POSTPROCESSOR, "applied to this model's answers before the data set's")
            .takes("postprocessor")
            .default("none"),
        key("pools", Texts, "names or labels of the pools where it may run").default("wherever its files are"),
        key("tokenizer_kwargs", Table(&TOKENIZER_KWARGS), "what OpenCompass hands to the tokenizer").default("none"),
        key("model_kwargs", Table(&MODEL_KWARGS), "what OpenCompass hands to transformers").default("none"),
        key(
            "batch_size",
            Either(&[Choice(auto), Kind::from(1)]),
            "accepted; what runs at once follows from free memory",
        )
        .takes("`\"auto\"` or whole number")
        .default("`\"auto\"`"),
        key("peft_path", Path, "directory of a LoRA or DoRA adapter as `peft` saves it, merged into the weights"),
    ],
    types: &[],
};

pub(crate) static RUN_CFG: TableKeys = TableKeys {
    name: "run_cfg",
    title: "`run_cfg`",
    keys: &[
        key("num_gpus", Kind::from(0), "GPUs of one replica").default("0"),
        key("num_procs", Kind::from(1), "processes of one replica: 1, or as many as `num_gpus`").default("1"),
    ],
    types: &[],
};

pub(crate) static TOKENIZER_KWARGS: TableKeys = TableKeys {
    name: "tokenizer_kwargs",
    title: "`tokenizer_kwargs`",
    keys: &[
        ignored("padding_side", SIDE, "sequences are not padded to each other"),
        key("truncation", Either(&[SIDE, Boolean]), "OpenCompass's old name of `truncation_side`; `false` is refused")
            .takes("`left`, `right`, `true`")
            .default("`true`"),
        key(
            "truncation_side",
            Choice(|| TRUNCATION_SIDES.words()),
            "which end of a text that is too long goes; `own`: what tokenizer_config.json says, else `right`, as for OpenCompass's \
             `HuggingFaceCausalLM`",
        )
        .default("`left`"),
        ignored("use_fast", Boolean, "there is one tokenizer, which gives the fast class's tokens"),
        ignored("trust_remote_code", Boolean, "no code of the model's directory is ever run"),
    ],
    types: &[],
};

pub(crate) static MODEL_KWARGS: TableKeys = TableKeys {
    name: "model_kwargs",
    title: "`model_kwargs`",
    keys: &[
        ignored("device_map", Anything, "`device` and `run_cfg.num_gpus` decide where the model runs"),
        ignored("torch_dtype", Anything, "`dtype` decides the number format"),
        ignored("trust_remote_code", Anything, "no code of the model's directory is ever run"),
    ],
    types: &[],
};

pub(crate) static GENERATION_KWARGS: TableKeys = TableKeys {
    name: "generation_kwargs",
    title: "`generation_kwargs`",
    keys: &[
        key("do_sample", Boolean, "whether tokens are drawn; a temperature alone draws nothing").default("`false`"),
        key("temperature", Number, "divides the logits").takes("number above 0").default("generation_config.json, else 1"),
        key("top_k", Kind::from(0), "only the k most probable tokens; 0 lets all")
            .default("generation_config.json, else 50 when drawing"),
        key("top_p", Number, "nucleus").takes("number in (0, 1]").default("generation_config.json, else 1"),
        key("repetition_penalty", Number, "also changes greedy answers")
            .takes("number above 0")
            .default("generation_config.json, else 1"),
        key("num_return_sequences", Kind::from(1), "answers to each prompt; above 1 it needs `do_sample`").default("1"),
        key(
            "seed",
            Whole(0, i64::MAX),
            "every draw follows from the seed, the sample and the sequence alone, so that neighbours and workers do not change it",
        )
        .default("0"),
        key("eos_token_id", Either(&[Kind::from(0), ArrayOf(&Kind::from(0))]), "further token ids that end a generation")
            .takes("id or array")
            .default("none"),
        key("max_new_tokens", Kind::from(1), "as `max_out_len`, which overrides it"),
        key("min_new_tokens", Kind::from(0), "as `min_out_len`, which overrides it"),
        key("num_beams", Whole(1, 1), "other values are refused: there is no beam search").takes("1").default("1"),
    ],
    types: &[],
};

pub(crate) static META_TEMPLATE: TableKeys = TableKeys {
    name: "meta_template",
    title: "`meta_template`",
    keys: &[
        key(
            "round",
            ArrayOf(&Either(&[Text, Table(&META_ROLE)])),
            "one round of the dialogue; one role has `generate = true`",
        )
        .takes("array of roles and strings")
        .required(),
        key(
            "begin",
            Either(&[Text, Table(&META_MESSAGE), ArrayOf(&Either(&[Text, Table(&META_MESSAGE)]))]),
            "before the dialogue; with `api_role` a message or several",
        )
        .takes("string or array of strings")
        .default("none"),
        key("end", WORDS, "after the dialogue").takes("string or array of strings").default("none"),
        key("reserved_roles", ArrayOf(&Table(&META_ROLE)), "roles that templates may name beside those of `round`")
            .takes("array of roles")
            .default("none"),
        key("eos_token_id", Kind::from(0), "ends an answer").default("none"),
    ],
    types: &[],
};

pub(crate) static META_ROLE: TableKeys = TableKeys {
    name: "meta_template.role",
    title: "a role",
    keys: &[
        key("role", Text, "name of the role, as templates have it").required(),
        key("begin", WORDS, "before what the role says").takes("string or array of strings").default("none"),
        key("prompt", WORDS, "what it says where the template leaves it out")
            .takes("string or array of strings")
            .default("none"),
        key("end", WORDS, "after what the role says").takes("string or array of strings").default("none"),
        key("generate", Boolean, "whether the model answers in this role").default("`false`"),
        key("api_role", Text, "given to all roles it makes a chat, given to none one text")
            .takes("`HUMAN`, `BOT`, `SYSTEM`")
            .default("none"),
    ],
    types: &[],
};

pub(crate) static META_MESSAGE: TableKeys = TableKeys {
    name: "meta_template.message",
    title: "a message of `begin`",
    keys: &[
        key("role", Text, "who says it").or(&["api_role"]).takes("`HUMAN`, `BOT`, `SYSTEM`").required(),
        key("prompt", Text, "what is said").required(),
    ],
    types: &[],
};

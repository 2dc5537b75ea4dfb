//! `inferencer`.

use super::key::Kind::{self, Anything, Choice, Number, Text, Texts};
use super::key::{Key, TableKeys, TypeKeys, ignored, key};
use super::model::KWARGS;
use super::vocabulary::{INFERENCERS, MODES};

/// Of what is scored and not generated.
const SCORED: &[Key] = &[
    key("labels", Texts, "which labels of the template are compared").default("all"),
    ignored("max_out_len", Anything, "nothing is generated"),
];
const GENERATED: &[Key] = &[
    key("max_out_len", Kind::from(1), "most tokens of an answer").default("the model's"),
    key("min_out_len", Kind::from(0), "fewest tokens of an answer").default("the model's"),
    key("stopping_criteria", Texts, "strings that end an answer").or(&["stop"]).default("none"),
    key("temperature", Number, "as in `generation_kwargs`, which overrides it; 0 takes the likeliest token")
        .default("none"),
    KWARGS,
];

pub(crate) static INFERENCER: TableKeys = TableKeys {
    name: "inferencer",
    title: "`inferencer`",
    keys: &[
        key("type", Choice(|| INFERENCERS.words()), ""),
        ignored("batch_size", Anything, "what runs at once follows from free memory"),
        ignored("max_seq_len", Anything, "the model's own `max_seq_len` decides which shots are left out"),
    ],
    types: &[
        TypeKeys {
            name: "ppl",
            meaning: "OpenCompass's perplexity of one whole text per label; the lowest wins",
            keys: &[
                &[key(
                    "normalizing_str",
                    Text,
                    "a context: the answer's score after it is taken off, as OpenCompass has it",
                )
                .default("none")],
                SCORED,
            ],
        },
        TypeKeys {
            name: "loglikelihood",
            meaning: "lm-eval's sum of log-probabilities of each option",
            keys: &[SCORED],
        },
        TypeKeys {
            name: "ll",
            meaning: "OpenCompass's mean over what follows the continuation's length",
            keys: &[SCORED],
        },
        TypeKeys { name: "clp", meaning: "log-probabilities of the choices' tokens after the prompt", keys: &[SCORED] },
        TypeKeys { name: "ppl_only", meaning: "the perplexity of one text, to be averaged", keys: &[SCORED] },
        TypeKeys {
            name: "inference_ppl_only",
            meaning: "the NLL of tokens in the spans of characters that the column `label` has, `[[start, end], ...]`",
            keys: &[SCORED],
        },
        TypeKeys { name: "rolling", meaning: "lm-eval's log-likelihood of a whole text, in windows", keys: &[SCORED] },
        TypeKeys {
            name: "swce_loss",
            meaning: "OpenCompass's cross entropy of the texts of all rows, read as one, in windows that slide",
            keys: &[
                &[
                    key("block_size", Kind::from(1), "tokens of a window that are fed").default("1900"),
                    key("stride", Kind::from(1), "tokens from one window to the next").default("512"),
                    ignored("save_every", Anything, "every result is kept"),
                ],
                SCORED,
            ],
        },
        TypeKeys { name: "gen", meaning: "a generated answer", keys: &[GENERATED] },
        TypeKeys {
            name: "chat",
            meaning: "answers in a conversation of several turns",
            keys: &[
                GENERATED,
                &[key("infer_mode", Choice(|| MODES.words()), "which turns are answered").default("`last`")],
            ],
        },
        TypeKeys {
            name: "sc",
            meaning: "self-consistency: several drawn answers; `eval_cfg.sc_size` takes their majority",
            keys: &[
                GENERATED,
                &[
                    key("sc_size", Kind::from(1), "number of answers to each prompt").default("`num_return_sequences`"),
                    ignored("infer_type", Anything, "every answer is drawn"),
                ],
            ],
        },
    ],
};

//! `inferencer`: what is computed for each sample.

use crate::keys::vocabulary::{INFERENCERS, InferencerName, MODES};
use crate::keys::{Key, Kind, LENGTH, TableKeys, TypeKeys, ignored, key};
use crate::read::decoding::{self, KWARGS};
use crate::read::fields::Fields;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::Node;
use compass_plan::{GenSpec, InferSpec};

/// Keys of inferencers that score and do not generate.
const SCORED: &[Key] = &[
    key("labels", Kind::Texts, "which labels of the template are compared").default("all"),
    ignored("max_out_len", Kind::Anything, "nothing is generated"),
];

const GENERATED: &[Key] = &[
    key("max_out_len", LENGTH, "most tokens of an answer; `rest`: what the prompt leaves of the context")
        .default("the model's"),
    key("min_out_len", Kind::from(0), "fewest tokens of an answer").default("the model's"),
    key("stopping_criteria", Kind::Texts, "strings that end an answer").or(&["stop"]).default("none"),
    key("temperature", Kind::Number, "as in `generation_kwargs`, which overrides it; 0 takes the likeliest token")
        .default("none"),
    KWARGS,
];

pub(crate) static INFERENCER: TableKeys = TableKeys {
    name: "inferencer",
    title: "`inferencer`",
    keys: &[
        key("type", Kind::Choice(|| INFERENCERS.words()), ""),
        ignored("batch_size", Kind::Anything, "what runs at once follows from free memory"),
        ignored("max_seq_len", Kind::Anything, "the model's own `max_seq_len` decides which shots are left out"),
    ],
    types: &[
        TypeKeys {
            name: "ppl",
            meaning: "OpenCompass's perplexity of one whole text per label; the lowest wins",
            keys: &[
                &[key(
                    "normalizing_str",
                    Kind::Text,
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
                    ignored("save_every", Kind::Anything, "every result is kept"),
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
                &[key("infer_mode", Kind::Choice(|| MODES.words()), "which turns are answered").default("`last`")],
            ],
        },
        TypeKeys {
            name: "sc",
            meaning: "self-consistency: several drawn answers; `eval_cfg.sc_size` takes their majority",
            keys: &[
                GENERATED,
                &[
                    key("sc_size", Kind::from(1), "number of answers to each prompt").default("`num_return_sequences`"),
                    ignored("infer_type", Kind::Anything, "every answer is drawn"),
                ],
            ],
        },
    ],
};

/// Reads the inferencer in `node`.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<InferSpec> {
    let (name, mut fields) = INFERENCERS.tagged(check, "inferencer", node, &INFERENCER)?;
    fields.of_type(INFERENCERS.name_of(&name));
    // OpenCompass's configurations carry these along; neither changes what is asked. `labels` is for the templates.
    fields.get("batch_size");
    if let Some(node) = fields.get("max_seq_len") {
        let help = "the model's own `max_seq_len` decides which shots are left out";
        check.note(node.span, "`max_seq_len` of an inferencer has no effect".into(), help);
    }
    if matches!(
        name,
        InferencerName::Ppl
            | InferencerName::PplOnly
            | InferencerName::InferencePpl
            | InferencerName::Clp
            | InferencerName::Loglikelihood
            | InferencerName::MeanLoglikelihood
            | InferencerName::Rolling
            | InferencerName::SwceLoss
    ) {
        fields.get("labels");
        fields.get("max_out_len");
    }
    let spec = match name {
        InferencerName::Ppl => match fields.text(check, "normalizing_str") {
            Some(text) => InferSpec::PplNormalized { normalizing_str: text.to_owned() },
            None => InferSpec::Ppl,
        },
        InferencerName::PplOnly => InferSpec::PplOnly,
        InferencerName::InferencePpl => InferSpec::InferencePpl,
        InferencerName::Clp => InferSpec::Clp,
        InferencerName::Rolling => InferSpec::Rolling,
        InferencerName::SwceLoss => {
            fields.get("save_every");
            InferSpec::SwceLoss {
                block_size: fields.u32(check, "block_size").unwrap_or(1900),
                stride: fields.u32(check, "stride").unwrap_or(512),
            }
        }
        InferencerName::Loglikelihood => InferSpec::Loglikelihood,
        InferencerName::MeanLoglikelihood => InferSpec::MeanLoglikelihood,
        InferencerName::Gen => InferSpec::Gen(generation(check, &mut fields)),
        InferencerName::SelfConsistency => {
            // OpenCompass's `SCInferencer`: so many drawn answers to each prompt. `eval_cfg.sc_size` takes their majority.
            fields.get("infer_type");
            let answers = fields.u32(check, "sc_size");
            let mut spec = generation(check, &mut fields);
            spec.decoding.num_return_sequences = answers.or(spec.decoding.num_return_sequences);
            spec.decoding.do_sample = spec.decoding.do_sample.or(Some(true));
            InferSpec::Gen(spec)
        }
        InferencerName::Chat => {
            let mode = fields.get("infer_mode").and_then(|node| MODES.pick(check, "infer_mode", node));
            InferSpec::Chat { infer_mode: mode.unwrap_or_default(), gen_spec: generation(check, &mut fields) }
        }
    };
    fields.finish(check);
    Some(spec)
}

fn generation(check: &mut Check, fields: &mut Fields<'_>) -> GenSpec {
    let max_out_len = fields.length(check, "max_out_len");
    let stop = fields.either(check, "stopping_criteria");
    let words = stop.and_then(|(key, node)| check.texts(key, node));
    let stop = stop_strings(check, stop.map_or("stop", |(key, _)| key), words.unwrap_or_default());
    let min_out_len = fields.u32(check, "min_out_len");
    // OpenCompass's `GenInferencer` hands its own `temperature` on with the model's `generation_kwargs`.
    let temperature = fields.get("temperature").and_then(|node| decoding::temperature(check, node));
    let mut generation = decoding::read(check, fields);
    if let Some(span) = generation.card {
        let help = "write it in `generation_kwargs` of each [[model]], or `do_sample = true` here: what a model draws then follows its \
                    generation_config.json, too";
        check.error(span, "`do_sample = \"card\"` of a data set: the file is a model's".into(), Some(help.into()));
    }
    generation.decoding.temperature = generation.decoding.temperature.or(temperature);
    GenSpec {
        max_out_len: max_out_len.or(generation.max_new_tokens),
        min_out_len: min_out_len.or(generation.min_new_tokens),
        stop,
        decoding: generation.decoding,
    }
}

/// Strings that end a generation; an empty one would end every generation at once and is reported.
pub(crate) fn stop_strings(check: &mut Check, key: &str, words: Vec<(String, Span)>) -> Vec<String> {
    for (_, span) in words.iter().filter(|(word, _)| word.is_empty()) {
        let help = "remove it: it would end every generation before its first token";
        check.error(*span, format!("`{key}` holds an empty string"), Some(help.into()));
    }
    words.into_iter().map(|(word, _)| word).collect()
}

//! `inferencer`: what is computed for each sample.

use super::check::Check;
use super::choice::Choices;
use super::decoding;
use super::source::Span;
use super::tree::Node;
use crate::plan::{GenSpec, InferSpec};

#[derive(Clone, Copy)]
enum Name {
    Ppl,
    Gen,
    Loglikelihood,
}

const INFERENCERS: Choices<'_, Name> = Choices {
    now: &[("ppl", Name::Ppl), ("gen", Name::Gen), ("loglikelihood", Name::Loglikelihood)],
    aliases: &[("ll", Name::Loglikelihood)],
    later: &[
        "clp",
        "ppl_only",
        "rolling",
        "inference_ppl_only",
        "min_k_percent",
        "swce_loss",
        "chat",
        "chat_ml",
        "sc",
        "to_t",
        "agent",
        "attack",
        "glm_choice",
        "parallel_gen",
        "parallel_chat",
    ],
    meanwhile: "use `ppl`, `gen` or `loglikelihood`",
    suffix: Some("Inferencer"),
};

/// Reads the inferencer in `node`.
pub(super) fn read(check: &mut Check, node: &Node) -> Option<InferSpec> {
    let (name, mut fields) = INFERENCERS.tagged(check, "inferencer", node)?;
    let spec = match name {
        Name::Ppl => InferSpec::Ppl,
        Name::Loglikelihood => InferSpec::Loglikelihood,
        Name::Gen => {
            let max_out_len = fields.u32(check, "max_out_len", 1);
            let stop = fields.either(check, "stopping_criteria", "stop");
            let words = stop.and_then(|(key, node)| check.texts(key, node));
            let stop = stop_strings(check, stop.map_or("stop", |(key, _)| key), words.unwrap_or_default());
            let min_out_len = fields.u32(check, "min_out_len", 0);
            let generation = decoding::read(check, &mut fields);
            InferSpec::Gen(GenSpec {
                max_out_len: max_out_len.or(generation.max_new_tokens),
                min_out_len: min_out_len.or(generation.min_new_tokens),
                stop,
                decoding: generation.decoding,
            })
        }
    };
    fields.finish(check);
    Some(spec)
}

/// Strings that end a generation; an empty one would end every generation at once and is reported.
pub(super) fn stop_strings(check: &mut Check, key: &str, words: Vec<(String, Span)>) -> Vec<String> {
    for (_, span) in words.iter().filter(|(word, _)| word.is_empty()) {
        let help = "remove it: it would end every generation before its first token";
        check.error(*span, format!("`{key}` holds an empty string"), Some(help.into()));
    }
    words.into_iter().map(|(word, _)| word).collect()
}

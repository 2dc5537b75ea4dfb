//! `model_kwargs`, `tokenizer_kwargs`, `generation_kwargs`: what the seeds write for transformers, where it is harmless.

use super::check::Check;
use super::fields::Fields;
use super::spelling;
use super::tree::{Node, Value};

/// A key that may stand here though nothing obeys it, and why that is no loss.
struct Ignored {
    key: &'static str,
    /// The only value for which that holds; `None` is any.
    only: Option<Only>,
    why: &'static str,
}

#[derive(Clone, Copy)]
enum Only {
    Text(&'static str),
    Flag(bool),
}

const fn any(key: &'static str, why: &'static str) -> Ignored {
    Ignored { key, only: None, why }
}

const MODEL: [Ignored; 3] = [
    any("device_map", "`device` and `run_cfg.num_gpus` decide where the model runs"),
    any("torch_dtype", "`dtype` decides the number format"),
    any("trust_remote_code", "no code of the model's directory is ever run"),
];
const TOKENIZER: [Ignored; 5] = [
    any("padding_side", "sequences are not padded to each other"),
    any("truncation", "what is too long is always truncated, and said"),
    Ignored {
        key: "truncation_side",
        only: Some(Only::Text("left")),
        why: "what is too long is truncated on the left",
    },
    any("use_fast", "tokenizer.json is the fast tokenizer"),
    any("trust_remote_code", "no code of the model's directory is ever run"),
];
const GENERATION: [Ignored; 1] =
    [Ignored { key: "do_sample", only: Some(Only::Flag(false)), why: "generation is always greedy" }];

/// Reads the three tables of a model: harmless keys are noted, others refused.
pub(super) fn read(check: &mut Check, model: &mut Fields<'_>) {
    one(check, model, "model_kwargs", &MODEL);
    one(check, model, "tokenizer_kwargs", &TOKENIZER);
    one(check, model, "generation_kwargs", &GENERATION);
}

fn one(check: &mut Check, model: &mut Fields<'_>, name: &'static str, harmless: &[Ignored]) {
    let Some(fields) = model.table(check, name, format!("`{name}`")) else { return };
    for entry in &fields.table.entries {
        let full = format!("{name}.{}", entry.key);
        match harmless.iter().find(|ignored| ignored.key == entry.key) {
            Some(ignored) if ignored.only.is_none_or(|only| holds(only, &entry.node)) => {
                check.note(entry.key_span, format!("`{full}` is ignored"), ignored.why);
            }
            Some(ignored) => check.value_not_yet(&full, &entry.node, &format!("remove it: {}", ignored.why)),
            None => {
                let near = spelling::nearest(&entry.key, harmless.iter().map(|ignored| ignored.key));
                let help = near.map_or_else(|| "remove it".into(), |near| format!("did you mean `{near}`?"));
                check.not_yet(entry.key_span, &format!("`{full}`"), &help);
            }
        }
    }
}

fn holds(only: Only, node: &Node) -> bool {
    match (only, &node.value) {
        (Only::Text(wanted), Value::String(text)) => text == wanted,
        (Only::Flag(wanted), Value::Boolean(flag)) => *flag == wanted,
        _ => false,
    }
}

//! Requests of a plan to models of several kinds, in the shape of OpenCompass's own records.

use compass_plan::prompt::{MetaItem, MetaRole, MetaStyle, MetaTemplate, Mode, Prompt, RenderedPrompt};
use compass_plan::{Body, DatasetPlan, Part, Sample};
use compass_pyfmt::python_str;
use serde_json::{Value, json};

/// The models that the peer's script runs too.
pub(super) const MODELS: [&str; 4] = ["base", "lm", "lm2", "chat"];

fn item(role: &str, begin: &str, end: &str, generate: bool) -> MetaRole {
    MetaRole { role: role.into(), begin: begin.into(), end: end.into(), generate, ..MetaRole::default() }
}

/// The meta templates that the peer's script gives its models.
pub(super) fn meta(model: &str) -> Option<MetaTemplate> {
    let rounds = |roles: Vec<MetaRole>| roles.into_iter().map(MetaItem::Role).collect();
    match model {
        "lm" => Some(MetaTemplate {
            style: MetaStyle::Text,
            begin: "<s>".into(),
            round: rounds(vec![item("HUMAN", "<|H|>", "<|/H|>\n", false), item("BOT", "<|B|>", "<|/B|>\n", true)]),
            end: "<END>".into(),
            reserved_roles: vec![item("SYSTEM", "<|S|>", "<|/S|>\n", false)],
            ..MetaTemplate::default()
        }),
        "lm2" => Some(MetaTemplate {
            style: MetaStyle::Text,
            round: rounds(vec![item("HUMAN", "U: ", "\n", false), item("BOT", "A:", "", true)]),
            ..MetaTemplate::default()
        }),
        "chat" => Some(MetaTemplate::chat()),
        _ => None,
    }
}

/// Returns the request of the sample.
pub(super) fn asked(dataset: &DatasetPlan, part: &Part, sample: &Sample, meta: Option<&MetaTemplate>) -> Value {
    let shots = part.shots_of(sample);
    let format = &dataset.shot_format;
    let mode = dataset.infer.prompt_mode();
    let printed = |prompt: &Prompt, mode: Mode| match prompt.render_for(&shots, format, meta, mode) {
        RenderedPrompt::Text(text) => text.into(),
        RenderedPrompt::Messages(messages) => {
            messages.iter().map(|message| json!({"role": message.role, "prompt": message.content})).collect()
        }
    };
    match &sample.body {
        Body::Gen { prompt } | Body::Rolling { text: prompt, .. } | Body::Clp { prompt, .. } => printed(prompt, mode),
        Body::Ppl { options } => {
            options.iter().map(|option| (python_str(&option.label), printed(&option.prompt, mode))).collect()
        }
        Body::Loglikelihood { context, options } => options
            .iter()
            .map(|option| {
                let context = option.context.as_ref().unwrap_or(context).render(&shots, format);
                (python_str(&option.label), json!(format!("{context}{}", option.continuation)))
            })
            .collect(),
        Body::Chat { turns } => turns.iter().map(|turn| json!({"role": turn.role, "prompt": turn.content})).collect(),
        Body::Windows { .. } | Body::Execute { .. } => Value::Null,
    }
}

/// Returns the request in an OpenCompass record.
pub(super) fn recorded(record: &Value) -> Value {
    let labels: serde_json::Map<String, Value> = record
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.strip_prefix("label: ")?.to_owned(), value.get("prompt")?.clone())))
        .collect();
    if !labels.is_empty() {
        return Value::Object(labels);
    }
    record.get("origin_prompt").or(record.get("prompt")).cloned().unwrap_or_default()
}

//! generation_config.json, the card of a model: its draws for `do_sample = "card"`, and a note where a model that thinks answers
//! greedily though its makers draw.

use crate::report::check::Check;
use crate::syntax::source::Span;
use compass_chat::thinking_of;
use compass_common::regular_file;
use compass_plan::{Decoding, GenerationDefaults, ModelKind, ThinkingMode};
use compass_settings::{DatasetConfig, ModelConfig};
use serde_json::{Map, Value};
use std::io;
use std::path::Path;

const FILE: &str = "generation_config.json";

/// Remedy where there are no draws to take.
const HELP: &str = "write the draws yourself, as in `{ do_sample = true, temperature = 0.6, top_p = 0.95 }`";

/// A model whose card is asked for.
pub(crate) struct Owner<'m> {
    pub(crate) abbr: &'m str,
    pub(crate) kind: Option<ModelKind>,
    /// Directory with its small files; empty where it has none.
    pub(crate) folder: &'m Path,
}

/// Reason that a card gives no draws.
#[derive(Debug, thiserror::Error)]
enum NoDraws {
    #[error("there is no {FILE}")]
    Missing,
    #[error("{FILE} cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("{FILE} is not a table of JSON: {0}")]
    Malformed(serde_json::Error),
    #[error("{FILE} does not say `\"do_sample\": true`")]
    Greedy,
    #[error("{FILE} has {0}, which nothing can be drawn by")]
    OutOfRange(String),
}

/// The draws of the model's card, with what is `written` before them; `None` when something is wrong, which is reported at `span`.
pub(crate) fn read(check: &mut Check, span: Span, owner: &Owner<'_>, written: &Decoding) -> Option<Decoding> {
    let name = format!("model `{}`", owner.abbr);
    let what = "`do_sample = \"card\"`";
    if owner.kind == Some(ModelKind::Endpoint) {
        let message = format!("{what} of {name}, which is behind an endpoint: its files are not here");
        check.error(span, message, Some(HELP.into()));
        return None;
    }
    if check.unselected {
        return Some(written.clone());
    }
    let fault = match draws_of(owner.folder) {
        Ok((card, file)) => {
            let ignored: Vec<&str> = GenerationDefaults::not_obeyed(&file).collect();
            if !ignored.is_empty() {
                let message = format!("{FILE} of {name} also sets {}, which is not obeyed", ignored.join(", "));
                check.note(span, message, "its other draws are taken");
            }
            return Some(written.with_card(&card));
        }
        Err(fault) => fault,
    };
    let message = format!("{name} has no draws for {what}: {fault}");
    let is_gone = matches!(fault, NoDraws::Missing) && !owner.folder.is_dir();
    if is_gone || check.environment.scores_only {
        return check.needed(span, message, Some(HELP.into())).then(|| written.clone());
    }
    check.error(span, message, Some(HELP.into()));
    None
}

/// Returns the draws that the card in a directory asks for, and the whole of it.
fn draws_of(folder: &Path) -> Result<(GenerationDefaults, Map<String, Value>), NoDraws> {
    if folder.as_os_str().is_empty() {
        return Err(NoDraws::Missing);
    }
    let bytes = regular_file::read(&folder.join(FILE), regular_file::SMALL).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NoDraws::Missing,
        _ => NoDraws::Unreadable(error),
    })?;
    let file: Map<String, Value> = serde_json::from_slice(&bytes).map_err(NoDraws::Malformed)?;
    if !GenerationDefaults::draws(&file) {
        return Err(NoDraws::Greedy);
    }
    let card = GenerationDefaults::of(&file);
    let bounds = [
        ("temperature", card.temperature, f64::MAX),
        ("top_p", card.top_p, 1.0),
        ("repetition_penalty", card.repetition_penalty, f64::MAX),
    ];
    for (key, value, most) in bounds {
        if let Some(value) = value.filter(|value| !(*value > 0.0 && *value <= most)) {
            return Err(NoDraws::OutOfRange(format!("`{key}` {value}")));
        }
    }
    Ok((card, file))
}

/// Notes the models that think and answer some data set of theirs greedily, though their cards draw.
pub(crate) fn note_greedy_thinking(
    check: &mut Check,
    models: &[ModelConfig],
    datasets: &[DatasetConfig],
    is_asked: impl Fn(&ModelConfig, &DatasetConfig) -> bool,
) {
    for model in models.iter().filter(|model| thinks(model)) {
        let is_greedy = |dataset: &DatasetConfig| {
            let spec = dataset.infer.generation();
            spec.is_some_and(|spec| !spec.decoding.over(&model.decoding).samples()) && is_asked(model, dataset)
        };
        if !datasets.iter().any(is_greedy) {
            continue;
        }
        let folder = model.remote.as_ref().map_or(&model.path, |remote| &remote.path);
        let Ok((card, _)) = draws_of(folder) else { continue };
        let draws = Some(card.shown_draws()).filter(|draws| !draws.is_empty());
        let draws = draws.map(|draws| format!(" ({draws})")).unwrap_or_default();
        let message = format!("model `{}` thinks and answers greedily, and its {FILE} draws{draws}", model.abbr);
        check.tell(message, "`generation_kwargs = { do_sample = \"card\" }` of the model draws as its makers do");
    }
}

/// Returns whether the prompts of a model pass a chat template that has marks of thinking, and does not have it switched off.
fn thinks(model: &ModelConfig) -> bool {
    if model.kind != ModelKind::Hf || !model.chat || model.thinking.mode == ThinkingMode::Off {
        return false;
    }
    let tokenizer = model.remote.as_ref().map_or(&model.tokenizer_path, |remote| &remote.tokenizer_path);
    let Some(Ok(found)) = thinking_of(tokenizer, &model.thinking, &model.chat_template_kwargs) else { return false };
    let switch = found.resolved.switch.and_then(|key| found.resolved.kwargs.get(key));
    found.resolved.marks.is_some() && switch != Some(&Value::Bool(false))
}

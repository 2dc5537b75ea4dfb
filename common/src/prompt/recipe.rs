//! Decides, before any row is looked at, which template asks, which one shows, and where shots go.
//!
//! The rules are those of OpenCompass's `PromptTemplate` and retrievers; `options` and shots without an ice token are
//! lm-eval's way. Where the original would raise or guess, there is an error that says what to write.

use super::error::PromptError;
use super::prefix;
use super::structured::ShotFormat;
use super::template::{Options, PromptConfig, Template};
use crate::plan::InferSpec;

/// How the question of a row is asked.
#[derive(Debug)]
pub(super) enum Question<'a> {
    /// One text to continue.
    Gen(&'a str),
    /// One whole prompt per label, scored whole.
    Whole(&'a [(String, String)]),
    /// A shared context and an ending per label, only the ending scored.
    Endings { context: &'a str, endings: Vec<(&'a str, &'a str)> },
    /// A context and answers from elsewhere.
    Answers { context: &'a str, options: &'a Options },
}

/// How a shot is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shot<'a> {
    /// By a template that holds the answer; a label map is entered by the gold answer.
    Template(&'a Template),
    /// As the question's context (after the ice token, if there is one), the delimiter and the gold answer.
    Answered { context: &'a str, options: &'a Options },
}

/// All that is decided.
#[derive(Debug)]
pub(super) struct Recipe<'a> {
    pub(super) question: Question<'a>,
    /// `None` when no shots are shown.
    pub(super) shot: Option<Shot<'a>>,
    /// Whether the question's template says where shots go; otherwise they go first.
    pub(super) has_token: bool,
    pub(super) shot_format: ShotFormat,
}

pub(super) fn resolve<'a>(
    config: &'a PromptConfig,
    infer: &InferSpec,
    shows_shots: bool,
    columns: &[&str],
) -> Result<Recipe<'a>, PromptError> {
    let (asking, name) = match (&config.prompt_template, &config.ice_template) {
        (Some(template), _) => (template, "prompt_template"),
        (None, Some(template)) => (template, "ice_template"),
        (None, None) => return fail("there is no `prompt_template`: give a text, or one text per label".into()),
    };
    let has_token = has_token(asking, config, name)?;
    let question = question(config, infer, asking, name, columns)?;
    let shot = match (&question, &config.prompt_template, &config.ice_template) {
        _ if !shows_shots => None,
        (_, Some(_), Some(showing)) => Some(Shot::Template(showing)),
        (Question::Answers { context, options }, ..) => Some(Shot::Answered { context, options }),
        _ => Some(Shot::Template(asking)),
    };
    if matches!(shot, Some(Shot::Template(_))) && !has_token {
        let token = if config.ice_token.is_empty() { super::ICE_TOKEN } else { &config.ice_token };
        return fail(format!(
            "the retriever brings shots, but `{name}` does not say where they go: put `{token}` (the `ice_token`) there"
        ));
    }
    let shot_format = match shot {
        Some(_) if has_token => {
            ShotFormat { separator: config.ice_separator.clone(), end: config.ice_eos_token.clone() }
        }
        _ => ShotFormat::default(),
    };
    Ok(Recipe { question, shot, has_token, shot_format })
}

fn question<'a>(
    config: &'a PromptConfig,
    infer: &InferSpec,
    asking: &'a Template,
    name: &str,
    columns: &[&str],
) -> Result<Question<'a>, PromptError> {
    if let Some(Options::Labels(map)) = &config.options
        && map.is_empty()
    {
        return fail("`options` has no label".into());
    }
    match (infer, asking, &config.options) {
        (_, Template::Labels(map), _) if map.is_empty() => fail(format!("`{name}` has no label")),
        (InferSpec::Gen { .. }, _, Some(_)) => {
            fail("`options` is for ppl and loglikelihood; a generation takes a text alone".into())
        }
        (InferSpec::Gen { .. }, Template::Text(text), None) => Ok(Question::Gen(text)),
        // OpenCompass: generation over a label map asks with the first label's text.
        (InferSpec::Gen { .. }, Template::Labels(map), None) => Ok(Question::Gen(map.first().map_or("", |(_, t)| t))),
        (_, Template::Labels(_), Some(_)) => fail(format!(
            "`{name}` is a label map and there are `options` as well: keep the map, or make `{name}` one text"
        )),
        (_, Template::Text(context), Some(options)) => Ok(Question::Answers { context, options }),
        (_, Template::Text(_), None) => fail(format!(
            "{} compares answers, but `{name}` is one text: give one text per label, or `options`",
            infer.mode()
        )),
        (InferSpec::Ppl | InferSpec::PplNormalized { .. }, Template::Labels(map), None) => Ok(Question::Whole(map)),
        (InferSpec::Loglikelihood, Template::Labels(map), None) => endings(config, map, name, columns),
        (infer, Template::Labels(_), None) => {
            fail(format!("{} takes one text, but `{name}` is a label map", infer.mode()))
        }
    }
}

fn endings<'a>(
    config: &PromptConfig,
    map: &'a [(String, String)],
    name: &str,
    columns: &[&str],
) -> Result<Question<'a>, PromptError> {
    let texts: Vec<&str> = map.iter().map(|(_, text)| text.as_str()).collect();
    let split = prefix::split(&texts, columns, &config.ice_token);
    let endings: Vec<(&str, &str)> = map.iter().map(|(label, _)| label.as_str()).zip(split.endings).collect();
    for (label, ending) in &endings {
        if ending.is_empty() {
            return fail(format!(
                "label `{label}` of `{name}` adds nothing to what all labels share, so nothing of it could be scored"
            ));
        }
        if !config.ice_token.is_empty() && ending.contains(&config.ice_token) {
            return fail(format!(
                "the labels of `{name}` differ before `{}`: shots must stand in what all labels share",
                config.ice_token
            ));
        }
    }
    Ok(Question::Endings { context: split.context, endings })
}

fn has_token(template: &Template, config: &PromptConfig, name: &str) -> Result<bool, PromptError> {
    let holds = |text: &str| !config.ice_token.is_empty() && text.contains(&config.ice_token);
    match template {
        Template::Text(text) => Ok(holds(text)),
        Template::Labels(map) => {
            let without = map.iter().filter(|(_, text)| !holds(text)).map(|(label, _)| label.as_str());
            let without: Vec<&str> = without.collect();
            if !without.is_empty() && without.len() < map.len() {
                return fail(format!(
                    "`{name}` has `{}` under some labels, but not under {}: put it there too",
                    config.ice_token,
                    without.join(", ")
                ));
            }
            Ok(without.is_empty())
        }
    }
}

fn fail<T>(message: String) -> Result<T, PromptError> {
    Err(PromptError::Template(message))
}

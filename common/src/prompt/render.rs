//! Renders a data set: every prompt of every test row, structured, with its gold answer and its shots.
//!
//! Text is byte-identical to OpenCompass's (`PromptTemplate`, `generate_ice`) where its keys are used, and to lm-eval's
//! where `options` are. One case is out of reach: a placeholder that comes into being only across the border of a
//! shot, half of it from the template and half from the shot. A model's meta template is applied later, by `rendered`.

use super::check;
use super::error::{PromptError, RowErrors, Split};
use super::form::{Form, Forms};
use super::format::Row;
use super::labels::GoldKind;
use super::question::Writer;
use super::recipe::{Question, Recipe, ShotRecipe, resolve};
use super::rounds::Line;
use super::shot::Shot;
use super::shots::ShotBook;
use super::structured::ShotFormat;
use super::template::{Options, PromptConfig};
use crate::plan::{InferSpec, Sample};
use crate::retriever::{self, RetrieverKind};
use std::collections::{BTreeSet, HashMap};

/// A data set as the plan holds it, before it is cut into parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderedDataset {
    /// Distinct shots; samples name them by position.
    pub shots: Vec<Shot>,
    /// One per test row, in order, `index` from 0.
    pub samples: Vec<Sample>,
    /// How shots are joined.
    pub format: ShotFormat,
}

/// Renders all prompts.
///
/// `test` and `train` are the rows after their ranges were applied; `output_column` holds the gold answer (`None` is for
/// generation only, the gold is then null).
///
/// # Errors
/// Everything that is wrong, templates first; of the rows the first twenty and a count of the rest.
pub fn render(
    config: &PromptConfig,
    infer: &InferSpec,
    output_column: Option<&str>,
    retriever: &RetrieverKind,
    test: &[Row],
    train: &[Row],
) -> Result<RenderedDataset, Vec<PromptError>> {
    if test.is_empty() {
        return Ok(RenderedDataset::default());
    }
    let shows_shots = !matches!(retriever, RetrieverKind::Zero);
    let columns = check::columns(test);
    let recipe = resolve(config, infer, shows_shots, &columns).map_err(|error| vec![error])?;
    let drawn = retriever::draw(retriever, test, train).map_err(|e| vec![PromptError::Retriever(e)])?;
    let wrong = check_placeholders(config, &recipe, &columns, train);
    if !wrong.is_empty() {
        return Err(wrong);
    }

    let generates = matches!(infer, InferSpec::Gen { .. });
    let asking = asking_texts(&recipe.question);
    let writer = Writer {
        config,
        infer,
        output_column,
        kind: GoldKind::of(output_column.iter().flat_map(|column| test.iter().filter_map(|row| row.get(*column)))),
        used: check::used(&asking, &columns),
        blank: output_column.filter(|_| generates),
        recipe: &recipe,
    };
    let mut book = recipe.shot.as_ref().map(|shot| ShotBook {
        shot,
        config,
        has_token: recipe.has_token,
        output_column,
        used: check::used(&showing_texts(shot), &check::columns(test.iter().chain(train))),
        train,
        written: HashMap::new(),
        shots: Vec::new(),
        positions: HashMap::new(),
    });
    let mut errors = RowErrors::default();
    let mut samples = Vec::with_capacity(test.len());
    for (index, (row, ids)) in test.iter().zip(&drawn).enumerate() {
        let shots = match &mut book {
            Some(book) => book.place(ids, row, writer.blank, &mut errors),
            None => Some(Vec::new()),
        };
        match (writer.sample(row), shots) {
            (Err(message), _) => errors.add(Split::Test, index, message),
            (Ok(_), None) => {}
            (Ok((gold, body)), Some(shots)) => samples.push(Sample { index: index as u32, gold, shots, body }),
        }
    }
    let errors = errors.finish();
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(RenderedDataset { shots: book.map(|book| book.shots).unwrap_or_default(), samples, format: recipe.shot_format })
}

/// Misspelt placeholders, and a question in which nothing of a row appears.
fn check_placeholders(config: &PromptConfig, recipe: &Recipe<'_>, columns: &[&str], train: &[Row]) -> Vec<PromptError> {
    let asking = asking_texts(&recipe.question);
    let mut messages = check::misspelt(&asking, columns);
    if check::used(&asking, columns).is_empty() && !matches!(config.options, Some(Options::Column(_))) {
        messages.push(format!(
            "the template puts nothing of a row in, so that every question is the same: use columns as in {}",
            columns.iter().map(|column| format!("{{{column}}}")).collect::<Vec<_>>().join(", ")
        ));
    }
    if let (Question::Whole(map), true) = (&recipe.question, messages.is_empty()) {
        let constant = map.iter().filter(|(_, form)| check::used(&form.texts(), columns).is_empty());
        messages.extend(constant.map(|(label, _)| {
            format!(
                "the template of label `{label}` puts nothing of a row in, so that its score is the same for every \
                 question: use columns as in {}",
                columns.iter().map(|column| format!("{{{column}}}")).collect::<Vec<_>>().join(", ")
            )
        }));
    }
    if let Some(shot) = &recipe.shot {
        messages.extend(check::misspelt(&showing_texts(shot), &check::columns(train)));
    }
    messages.into_iter().collect::<BTreeSet<_>>().into_iter().map(PromptError::Template).collect()
}

fn asking_texts<'a>(question: &Question<'a>) -> Vec<&'a str> {
    match question {
        Question::Gen(form) => form.texts(),
        Question::Whole(map) => map.iter().flat_map(|(_, form)| form.texts()).collect(),
        Question::Endings { context, endings } => {
            std::iter::once(*context).chain(endings.iter().map(|(_, ending)| *ending)).collect()
        }
        Question::Answers { context, options } => answered_texts(context, options),
    }
}

fn showing_texts<'a>(shot: &ShotRecipe<'a>) -> Vec<&'a str> {
    match shot {
        ShotRecipe::Template(Forms::One(form)) => shown_texts(form),
        ShotRecipe::Template(Forms::Labels(map)) => map.iter().flat_map(|(_, form)| shown_texts(form)).collect(),
        ShotRecipe::Answered { context, options } => answered_texts(&Form::Text(context), options),
    }
}

/// Of rounds only the dialogue is shown.
fn shown_texts<'a>(form: &Form<'a>) -> Vec<&'a str> {
    match form {
        Form::Text(text) => vec![text],
        Form::Rounds(rounds) => rounds.round.iter().filter_map(Line::text).collect(),
    }
}

fn answered_texts<'a>(context: &Form<'a>, options: &'a Options) -> Vec<&'a str> {
    match options {
        Options::Column(_) => context.texts(),
        Options::Labels(map) => context.texts().into_iter().chain(map.iter().map(|(_, text)| text.as_str())).collect(),
    }
}

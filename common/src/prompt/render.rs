//! Renders a data set: every prompt of every test row, structured, with its gold answer and its shots.
//!
//! Text is byte-identical to OpenCompass's (`PromptTemplate`, `generate_ice`) where its keys are used, and to lm-eval's
//! where `options` are. One case is out of reach: a placeholder that comes into being only across the border of a
//! shot, half of it from the template and half from the shot. Meta templates (rounds) are not here yet.

use super::check;
use super::error::{PromptError, RowErrors, Split};
use super::format::Row;
use super::labels::GoldKind;
use super::question::Writer;
use super::recipe::{Question, Recipe, Shot, resolve};
use super::shots::ShotBook;
use super::structured::ShotFormat;
use super::template::{Options, PromptConfig, Template};
use crate::plan::{InferSpec, Sample};
use crate::retriever::{self, RetrieverKind};
use std::collections::{BTreeSet, HashMap};

/// A data set as the plan holds it, before it is cut into parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderedDataset {
    /// Distinct texts of shots; samples name them by position.
    pub shots: Vec<String>,
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
    let drawn = retriever::draw(retriever, test.len(), train.len()).map_err(|e| vec![PromptError::Retriever(e)])?;
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
    let mut book = recipe.shot.map(|shot| ShotBook {
        shot,
        config,
        has_token: recipe.has_token,
        output_column,
        used: check::used(&showing_texts(&shot), &check::columns(test.iter().chain(train))),
        train,
        written: HashMap::new(),
        texts: Vec::new(),
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
    Ok(RenderedDataset { shots: book.map(|book| book.texts).unwrap_or_default(), samples, format: recipe.shot_format })
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
        let constant = map.iter().filter(|(_, text)| check::used(&[text.as_str()], columns).is_empty());
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
        Question::Gen(text) => vec![text],
        Question::Whole(map) => texts(map).collect(),
        Question::Endings { context, endings } => {
            std::iter::once(*context).chain(endings.iter().map(|(_, ending)| *ending)).collect()
        }
        Question::Answers { context, options } => answered_texts(context, options),
    }
}

fn showing_texts<'a>(shot: &Shot<'a>) -> Vec<&'a str> {
    match shot {
        Shot::Template(Template::Text(text)) => vec![text],
        Shot::Template(Template::Labels(map)) => texts(map).collect(),
        Shot::Answered { context, options } => answered_texts(context, options),
    }
}

fn answered_texts<'a>(context: &'a str, options: &'a Options) -> Vec<&'a str> {
    match options {
        Options::Column(_) => vec![context],
        Options::Labels(map) => std::iter::once(context).chain(texts(map)).collect(),
    }
}

fn texts(map: &[(String, String)]) -> impl Iterator<Item = &str> {
    map.iter().map(|(_, text)| text.as_str())
}

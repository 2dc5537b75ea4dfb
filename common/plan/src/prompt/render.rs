//! Renders a data set: every prompt of every test row, structured, with its gold answer and its shots.
//!
//! Text is byte-identical to OpenCompass's (`PromptTemplate`, `generate_ice`) where its keys are used, and to lm-eval's
//! where `options` are. One case is out of reach: a placeholder that comes into being only across the border of a
//! shot, half of it from the template and half from the shot. A model's meta template is applied later, by `rendered`.

use super::check;
use super::error::{PromptError, RowErrors, Split};
use super::form::{Form, Forms};
use super::format::Row;
use super::gold::Gold;
use super::jinja;
use super::labels::GoldKind;
use super::question::Writer;
use super::recipe::{Recipe, RequestForm, ShotRecipe, resolve};
use super::rounds::TemplateLine;
use super::shot::Shot;
use super::shots::ShotBook;
use super::structured::ShotFormat;
use super::template::{Options, PromptConfig, Template};
use super::template_text::TemplateText;
use crate::retriever::{self, RetrieverKind};
use crate::{InferSpec, Sample};
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
/// texts without a right answer, the gold is then null).
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

    // What is to be generated or chosen is hidden from the question; what is scored whole is not.
    let hides = matches!(infer, InferSpec::Gen(_) | InferSpec::Clp);
    let gold = Gold { config, column: output_column };
    let asking = asking_texts(&recipe.question);
    let writer = Writer {
        config,
        infer,
        gold,
        kind: kind_of(&gold, test),
        used: check::used(&asking, &columns),
        blank: output_column.filter(|_| hides),
        recipe: &recipe,
    };
    let mut book = recipe.shot.as_ref().map(|shot| ShotBook {
        shot,
        config,
        has_token: recipe.has_token,
        gold,
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

fn kind_of(gold: &Gold<'_>, test: &[Row]) -> GoldKind {
    let golds: Vec<_> = test.iter().filter_map(|row| gold.of(row).ok()).collect();
    GoldKind::of(golds.iter().map(|gold| &**gold))
}

/// Misspelt placeholders, and a question in which nothing of a row appears.
fn check_placeholders(config: &PromptConfig, recipe: &Recipe<'_>, columns: &[&str], train: &[Row]) -> Vec<PromptError> {
    let asking = asking_texts(&recipe.question);
    let beside = [&config.description, &config.gen_prefix, &config.target, &config.gold];
    let beside = beside.into_iter().flatten().filter_map(TemplateText::text);
    let mut messages = check::misspelt(&asking.iter().copied().chain(beside).collect::<Vec<_>>(), columns);
    messages.extend(jinja_faults(config));
    let elsewhere = matches!(config.options, Some(Options::Column(_) | Options::Jinja(_) | Options::TemplateTexts(_)))
        || matches!(recipe.question, RequestForm::Held(_))
        || matches!(&recipe.question, RequestForm::One(form) | RequestForm::Chat(form) if form.expands())
        || config.prompt_template.as_ref().or(config.ice_template.as_ref()).is_some_and(Template::has_jinja);
    if check::used(&asking, columns).is_empty() && !elsewhere {
        messages.push(format!(
            "the template puts nothing of a row in, so that every question is the same: use columns as in {}",
            columns.iter().map(|column| format!("{{{column}}}")).collect::<Vec<_>>().join(", ")
        ));
    }
    if let (RequestForm::Whole(map), true) = (&recipe.question, messages.is_empty()) {
        let constant =
            map.iter().filter(|(_, form)| !form.is_jinja() && check::used(&form.texts(), columns).is_empty());
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

fn asking_texts<'a>(question: &RequestForm<'a>) -> Vec<&'a str> {
    match question {
        RequestForm::One(form) | RequestForm::Chat(form) => form.texts(),
        RequestForm::Held(_) => Vec::new(),
        RequestForm::Choices { prompt, options: Some(options) } => answered_texts(prompt, options),
        RequestForm::Choices { prompt, options: None } => prompt.texts(),
        RequestForm::Said { context, target } => context.texts().into_iter().chain(target.text()).collect(),
        RequestForm::Inputs { contexts, target } => {
            contexts.iter().flat_map(|(_, form)| form.texts()).chain(target.text()).collect()
        }
        RequestForm::Whole(map) => map.iter().flat_map(|(_, form)| form.texts()).collect(),
        RequestForm::Endings { context, endings } => {
            std::iter::once(*context).chain(endings.iter().map(|(_, ending)| *ending)).collect()
        }
        RequestForm::Answers { context, options } => answered_texts(context, options),
    }
}

fn showing_texts<'a>(shot: &ShotRecipe<'a>) -> Vec<&'a str> {
    match shot {
        ShotRecipe::Template(Forms::One(form)) => shown_texts(form),
        ShotRecipe::Template(Forms::Labels(map)) => map.iter().flat_map(|(_, form)| shown_texts(form)).collect(),
        ShotRecipe::Answered { context, options } => answered_texts(context, options),
        ShotRecipe::Told { context, target } => context.texts().into_iter().chain(target.text()).collect(),
        ShotRecipe::ToldInputs { contexts, target } => {
            contexts.iter().flat_map(|(_, form)| form.texts()).chain(target.text()).collect()
        }
    }
}

/// Of rounds only the dialogue is shown.
fn shown_texts<'a>(form: &Form<'a>) -> Vec<&'a str> {
    match form {
        Form::Text(text) => vec![text],
        Form::Jinja(_) => Vec::new(),
        Form::Rounds(rounds) => rounds.round.iter().filter_map(TemplateLine::text).collect(),
    }
}

/// Sources that are not Jinja.
fn jinja_faults(config: &PromptConfig) -> Vec<String> {
    let templates = [&config.ice_template, &config.prompt_template].into_iter().flatten();
    let templates: Vec<&Template> = templates.collect();
    let whole = templates.iter().filter_map(|template| match template {
        Template::Jinja(source) => Some(source),
        _ => None,
    });
    let of_templates = templates.iter().flat_map(|template| match template {
        Template::TemplateTexts(map) => map.as_slice(),
        _ => &[],
    });
    let of_options = config.options.iter().flat_map(|options| match options {
        Options::TemplateTexts(map) => map.as_slice(),
        _ => &[],
    });
    let beside = [&config.description, &config.gen_prefix, &config.target, &config.gold].into_iter().flatten();
    let text_templates = of_templates.chain(of_options).map(|(_, text_template)| text_template).chain(beside);
    let text_templates = text_templates.filter_map(|text_template| match text_template {
        TemplateText::Jinja(source) => Some(source),
        TemplateText::Text(_) => None,
    });
    let options = config.options.iter().filter_map(|options| match options {
        Options::Jinja(source) => Some(source),
        _ => None,
    });
    let sources = whole.chain(text_templates).chain(options);
    sources.filter_map(|source| Some(format!("`{source}` is not Jinja: {}", jinja::fault(source)?))).collect()
}

fn answered_texts<'a>(context: &Form<'a>, options: &'a Options) -> Vec<&'a str> {
    match options {
        Options::Column(_) | Options::Jinja(_) => context.texts(),
        Options::List(texts) => context.texts().into_iter().chain(texts.iter().map(String::as_str)).collect(),
        Options::TemplateTexts(map) => context
            .texts()
            .into_iter()
            .chain(map.iter().filter_map(|(_, text_template)| text_template.text()))
            .collect(),
        Options::Labels(map) => context.texts().into_iter().chain(map.iter().map(|(_, text)| text.as_str())).collect(),
    }
}

//! Renders a data set: every prompt of every test row, structured, with its gold answer and its shots.
//!
//! Text is byte-identical to OpenCompass's (`PromptTemplate`, `generate_ice`) where its keys are used, and to lm-eval's
//! where `options` are. One case is out of reach: a placeholder that comes into being only across the border of a
//! shot, half of it from the template and half from the shot. A model's meta template is applied later, by `rendered`.

use super::check;
use super::corpus::Corpus;
use super::error::{PromptError, RowErrors, Split};
use super::form::{Form, Forms};
use super::gold::Gold;
use super::jinja;
use super::labels::GoldKind;
use super::question::Writer;
use super::recipe::{Recipe, RequestForm, ShotRecipe, resolve};
use super::rounds::TemplateLine;
use super::row_source::{RowSource, each as each_row};
use super::sample_sink::SampleSink;
use super::shot::Shot;
use super::shots::ShotBook;
use super::structured::ShotFormat;
use super::template::{Options, PromptConfig, Template};
use super::template_text::TemplateText;
use crate::retriever::{self, RetrieverKind};
use crate::{InferSpec, Sample};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// A data set as the plan holds it, before it is cut into parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderedDataset {
    /// Distinct shots; samples name them by position.
    pub shots: Vec<Shot>,
    /// One per test row, in order, `index` from 0; of texts that are read as one, one per slice.
    pub samples: Vec<Sample>,
    /// Way that shots are joined.
    pub format: ShotFormat,
}

/// Renders all prompts at once, as [`render_each`] does one after the other.
///
/// # Errors
/// As [`render_each`].
pub fn render(
    config: &PromptConfig,
    infer: &InferSpec,
    output_column: Option<&str>,
    retriever: &RetrieverKind,
    test: &dyn RowSource,
    train: &dyn RowSource,
) -> Result<RenderedDataset, Vec<PromptError>> {
    let mut rendered = RenderedDataset::default();
    let mut keep = |sample: Sample, shots: &[Shot], format: &ShotFormat| {
        rendered.shots.extend_from_slice(shots.get(rendered.shots.len()..).unwrap_or_default());
        rendered.format = format.clone();
        rendered.samples.push(sample);
    };
    render_each(config, infer, output_column, retriever, (test, train), &mut keep)?;
    Ok(rendered)
}

/// Renders all prompts, one row after the other, and hands each to `each`, which must forget them where this fails. Returns how
/// many questions stand among their own shots.
///
/// `test` and `train` are the rows after their ranges were applied; `output_column` holds the gold answer (`None` is for
/// texts without a right answer, the gold is then null).
///
/// # Errors
/// Everything that is wrong, templates first; of the rows the first twenty and a count of the rest.
pub fn render_each(
    config: &PromptConfig,
    infer: &InferSpec,
    output_column: Option<&str>,
    retriever: &RetrieverKind,
    rows: (&dyn RowSource, &dyn RowSource),
    each: &mut SampleSink<'_>,
) -> Result<u32, Vec<PromptError>> {
    if !matches!(infer, InferSpec::SwceLoss { .. }) {
        return render_rows(config, infer, output_column, retriever, rows, each);
    }
    let mut corpus = Corpus::default();
    let add = &mut |sample: Sample, _: &[Shot], _: &ShotFormat| corpus.add(&sample.body);
    let own_questions = render_rows(config, infer, None, retriever, rows, add)?;
    corpus.finish(each).map_err(|error| vec![error])?;
    Ok(own_questions)
}

/// As [`render_each`], a sample per row.
fn render_rows(
    config: &PromptConfig,
    infer: &InferSpec,
    output_column: Option<&str>,
    retriever: &RetrieverKind,
    (test, train): (&dyn RowSource, &dyn RowSource),
    each: &mut SampleSink<'_>,
) -> Result<u32, Vec<PromptError>> {
    if test.is_empty() {
        return Ok(0);
    }
    let shows_shots = !matches!(retriever, RetrieverKind::Zero);
    let (columns, of_train) = (test.columns(), train.columns());
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let of_train: Vec<&str> = of_train.iter().map(String::as_str).collect();
    let recipe = resolve(config, infer, shows_shots, &columns).map_err(|error| vec![error])?;
    let drawn = retriever::draw(retriever, test, train).map_err(|e| vec![PromptError::Retriever(e)])?;
    let wrong = check_placeholders(config, &recipe, &columns, &of_train);
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
        kind: match config.label_type {
            Some(label_type) => GoldKind::written(label_type),
            None if recipe.question.has_labels() => kind_of(&gold, test),
            None => GoldKind::Mixed,
        },
        used: check::used(&asking, &columns),
        blank: output_column.filter(|_| hides),
        recipe: &recipe,
    };
    let of_both: Vec<&str> = columns.iter().chain(&of_train).copied().collect();
    let mut book = recipe.shot.as_ref().map(|shot| ShotBook {
        shot,
        config,
        has_token: recipe.has_token,
        gold,
        used: check::used(&showing_texts(shot), &of_both),
        train,
        written: HashMap::new(),
        shots: Vec::new(),
        positions: HashMap::new(),
    });
    let mut errors = RowErrors::default();
    for (index, row) in each_row(test).enumerate() {
        let shots = match &mut book {
            Some(book) => book.place(drawn.of(index), &row, writer.blank, &mut errors),
            None => Some(Vec::new()),
        };
        match (writer.sample(&row), shots) {
            (Err(message), _) => errors.add(Split::Test, index, message),
            (Ok(_), None) => {}
            (Ok((gold, body)), Some(shots)) => {
                let known = book.as_ref().map_or(&[][..], |book| &book.shots);
                each(Sample { index: index as u32, gold, shots, body }, known, &recipe.shot_format);
            }
        }
    }
    let errors = errors.finish();
    if errors.is_empty() { Ok(drawn.own_questions(test, train)) } else { Err(errors) }
}

fn kind_of(gold: &Gold<'_>, test: &dyn RowSource) -> GoldKind {
    GoldKind::of(each_row(test).filter_map(|row| gold.of(&row).ok().map(Cow::into_owned)))
}

/// Misspelt placeholders, and a question in which nothing of a row appears.
fn check_placeholders(
    config: &PromptConfig,
    recipe: &Recipe<'_>,
    columns: &[&str],
    of_train: &[&str],
) -> Vec<PromptError> {
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
        messages.extend(check::misspelt(&showing_texts(shot), of_train));
    }
    messages.into_iter().collect::<BTreeSet<_>>().into_iter().map(PromptError::Template).collect()
}

fn asking_texts<'a>(question: &RequestForm<'a>) -> Vec<&'a str> {
    match question {
        RequestForm::One(form) | RequestForm::Marked(form) | RequestForm::Chat(form) => form.texts(),
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

/// Returns the texts that are shown; of rounds only the dialogue.
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

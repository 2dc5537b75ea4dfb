//! Writes the prompts of one row, in the shape that its kind of inference wants.

use super::answers::{self, Answers};
use super::check;
use super::form::{Form, Place};
use super::format::{Row, fill};
use super::labels::{self, GoldKind};
use super::recipe::{Question, Recipe};
use super::shots::gold_of;
use super::structured::{Prompt, Segment};
use super::template::{Options, PromptConfig};
use crate::plan::{Body, InferSpec, OptionPrompt, OptionText};
use serde_json::Value;
use std::collections::BTreeSet;

/// What it takes to write one sample.
pub(super) struct Writer<'a> {
    pub(super) config: &'a PromptConfig,
    pub(super) infer: &'a InferSpec,
    pub(super) output_column: Option<&'a str>,
    pub(super) kind: GoldKind,
    pub(super) used: BTreeSet<&'a str>,
    /// The column that is hidden from the question.
    pub(super) blank: Option<&'a str>,
    pub(super) recipe: &'a Recipe<'a>,
}

impl Writer<'_> {
    /// The gold answer and the prompts of a row.
    ///
    /// # Errors
    /// In words: what the row lacks or holds wrongly.
    pub(super) fn sample(&self, row: &Row) -> Result<(Value, Body), String> {
        if let Some(message) = check::missing(row, &self.used) {
            return Err(message);
        }
        if let (Question::Gen(_), None) = (&self.recipe.question, self.output_column) {
            return Ok((Value::Null, self.body(row, &Value::Null)?.1));
        }
        let gold = gold_of(row, self.output_column)?;
        let (replaced, body) = self.body(row, gold)?;
        Ok((replaced.unwrap_or_else(|| gold.clone()), body))
    }

    /// The prompts, and the gold answer where it is not the row's own value.
    fn body(&self, row: &Row, gold: &Value) -> Result<(Option<Value>, Body), String> {
        match &self.recipe.question {
            Question::Gen(form) => Ok((None, Body::Gen { prompt: self.prompt(form, row) })),
            Question::Whole(map) => {
                labels::find(map, gold)?;
                let options = map.iter().map(|(label, form)| OptionPrompt {
                    label: self.kind.typed(label),
                    prompt: self.prompt(form, row),
                    answer: None,
                });
                Ok((None, Body::Ppl { options: options.collect() }))
            }
            Question::Endings { context, endings } => {
                if !endings.iter().any(|(label, _)| labels::names(label, gold)) {
                    let labels: Vec<&str> = endings.iter().map(|(label, _)| *label).collect();
                    return Err(format!("the gold answer {gold} is not among the labels {}", labels.join(", ")));
                }
                let options = endings.iter().map(|(label, ending)| self.ending(label, ending, row));
                let options: Vec<OptionText> = options.collect::<Result<_, _>>()?;
                Ok((None, Body::Loglikelihood { context: self.prompt(&Form::Text(context), row), options }))
            }
            Question::Answers { context, options } => {
                let answers = answers::read(options, row, gold, self.kind)?;
                let gold = match options {
                    Options::Column(_) => Some(answers.gold.into()),
                    Options::Labels(_) => None,
                };
                Ok((gold, self.answered(self.prompt(context, row), answers)))
            }
        }
    }

    fn ending(&self, label: &str, ending: &str, row: &Row) -> Result<OptionText, String> {
        let continuation = fill(ending, row, None);
        if continuation.is_empty() {
            return Err(format!("label `{label}` adds nothing to the context, so nothing of it could be scored"));
        }
        // Leading white space is the delimiter of a label map.
        let length = continuation.trim_start().chars().count() as u32;
        Ok(OptionText { label: self.kind.typed(label), continuation, context: None, length })
    }

    fn answered(&self, context: Prompt, answers: Answers) -> Body {
        let delimiter = &self.config.target_delimiter;
        let texts = answers.all.into_iter().map(|answer| (answer.label, format!("{delimiter}{}", answer.text)));
        if matches!(self.infer, InferSpec::Loglikelihood) {
            let options = texts.map(|(label, continuation)| OptionText {
                label,
                length: continuation.chars().count().saturating_sub(delimiter.chars().count()) as u32,
                continuation,
                context: None,
            });
            return Body::Loglikelihood { options: options.collect(), context };
        }
        let options = texts.map(|(label, text)| {
            let mut segments = context.0.clone();
            segments.push(Segment::Option(text));
            OptionPrompt { label, prompt: Prompt(segments), answer: None }
        });
        Body::Ppl { options: options.collect() }
    }

    fn prompt(&self, form: &Form<'_>, row: &Row) -> Prompt {
        let place = Place {
            token: &self.config.ice_token,
            in_template: self.recipe.has_token,
            shows_shots: self.recipe.shot.is_some(),
        };
        form.prompt(row, self.blank, place)
    }
}

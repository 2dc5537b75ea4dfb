//! Writes the prompts of one row, in the shape that its kind of inference wants.

use super::answers::{self, Answers};
use super::boundary;
use super::chat;
use super::check;
use super::form::{Form, IceContent};
use super::format::{Row, fill};
use super::gold::Gold;
use super::labels::{self, GoldKind};
use super::recipe::{Recipe, RequestForm};
use super::structured::{AnswerPrefix, Prompt, Segment, ShotFormat};
use super::template::{Options, PromptConfig};
use super::template_text::TemplateText;
use crate::{Body, ChatMode, ChatTurn, InferSpec, OptionPrompt, OptionText};
use compass_pyfmt::python_str;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The column of choices where `clp` names none, as in OpenCompass.
const CHOICES: &str = "choices";

/// The column of the spans that count, in OpenCompass's `InferencePPLOnlyInferencer`.
const MARKS: &str = "label";

/// Returns whether every item is a list that begins with two positions.
fn are_spans(marks: &Value) -> bool {
    let is_span = |span: &Value| [0, 1].iter().all(|at| span.get(at).is_some_and(Value::is_u64));
    marks.as_array().is_some_and(|marks| marks.iter().all(is_span))
}

/// Everything that is needed to write one sample.
pub(super) struct Writer<'a> {
    pub(super) config: &'a PromptConfig,
    pub(super) infer: &'a InferSpec,
    pub(super) gold: Gold<'a>,
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
        let gold = match &self.recipe.question {
            RequestForm::One(_)
            | RequestForm::Marked(_)
            | RequestForm::Choices { .. }
            | RequestForm::Chat(_)
            | RequestForm::Held(_)
            | RequestForm::Said { .. }
                if !self.gold.is_given() =>
            {
                Cow::Owned(Value::Null)
            }
            _ => self.gold.of(row)?,
        };
        let (replaced, body) = self.body(row, &gold)?;
        Ok((replaced.unwrap_or_else(|| gold.into_owned()), body))
    }

    /// The prompts, and the gold answer where it is not the row's own value.
    fn body(&self, row: &Row, gold: &Value) -> Result<(Option<Value>, Body), String> {
        match &self.recipe.question {
            RequestForm::One(form) if *self.infer == InferSpec::Rolling => Ok((None, self.rolling(form, row)?)),
            RequestForm::One(form) => Ok((None, Body::Gen { prompt: self.prompt(form, row)? })),
            RequestForm::Marked(form) => {
                let label = row.get(MARKS).filter(|marks| are_spans(marks));
                let label = label.ok_or_else(|| {
                    format!("has no `{MARKS}` with the spans that count: `[[start, end], ...]` in characters")
                })?;
                let option = OptionPrompt { label: label.clone(), prompt: self.prompt(form, row)?, answer: None };
                Ok((None, Body::Ppl { options: vec![option] }))
            }
            RequestForm::Choices { prompt, options } => {
                let column = Options::Column(CHOICES.into());
                let choices = answers::texts(options.unwrap_or(&column), row)?;
                Ok((None, Body::Clp { prompt: self.prompt(prompt, row)?, choices }))
            }
            RequestForm::Whole(map) => {
                labels::check(map, gold)?;
                let options = map.iter().map(|(label, form)| self.whole(label, form, row));
                Ok((None, Body::Ppl { options: options.collect::<Result<_, _>>()? }))
            }
            RequestForm::Endings { context, endings } => {
                labels::find(endings, gold)?;
                let options = endings.iter().map(|(label, ending)| self.ending(label, ending, row));
                let options = self.with_unconditional(options.collect::<Result<_, _>>()?);
                Ok((None, Body::Loglikelihood { context: self.prompt(&Form::Text(context), row)?, options }))
            }
            RequestForm::Answers { context, options } => {
                let answers = answers::read(options, row, gold, self.kind)?;
                let gold = answers.by_position.clone();
                Ok((gold, self.answered(self.prompt(context, row)?, answers)?))
            }
            RequestForm::Said { context, target } => {
                // lm-eval puts no delimiter before the one thing to be said.
                let continuation = target_of(target, row)?;
                let length = continuation.chars().count() as u32;
                let label = 0.into();
                let option =
                    OptionText { label, continuation, context: None, delimiter: 0, length, unconditional: false };
                // What is said is right by definition: whether the model would say it is what is asked.
                let gold = if self.gold.is_given() { None } else { Some(0.into()) };
                let options = self.with_unconditional(vec![option]);
                Ok((gold, Body::Loglikelihood { context: self.prompt(context, row)?, options }))
            }
            RequestForm::Inputs { contexts, target } => {
                labels::find(contexts, gold)?;
                let target = target_of(target, row)?;
                let continuation = format!("{}{target}", self.config.target_delimiter);
                let options = contexts.iter().map(|(label, form)| {
                    let mut context = self.prompt(form, row)?;
                    // lm-eval divides by the length of the choice, which here is the context.
                    let mut length = form.question(row, &self.config.ice_token)?.chars().count();
                    if self.config.target_within {
                        cut_target(&mut context, &target).ok_or_else(|| {
                            format!("has a text of label `{label}` that does not end with its `target` {target:?}")
                        })?;
                        length = length.saturating_sub(target.chars().count());
                    }
                    let (context, length) = (Some(context), length as u32);
                    let label = self.kind.typed(label);
                    let continuation = continuation.clone();
                    let delimiter = self.config.target_delimiter.len() as u32;
                    Ok(OptionText { label, continuation, context, delimiter, length, unconditional: false })
                });
                let mut options = options.collect::<Result<Vec<_>, String>>()?;
                if self.config.unconditional {
                    // lm-eval scores the choice alone, which here is the context.
                    for (at, (_, form)) in contexts.iter().enumerate() {
                        let choice = form.question(row, &self.config.ice_token)?;
                        let continuation = format!("{}{choice}", self.config.target_delimiter);
                        options.push(OptionText { continuation, ..options[at].alone() });
                    }
                }
                Ok((None, Body::Loglikelihood { context: Prompt::default(), options }))
            }
            RequestForm::Chat(form) => {
                let used: Vec<&str> = self.used.iter().copied().collect();
                Ok(self.conversation(chat::written(form, row, &used, &self.gold)?))
            }
            RequestForm::Held(column) => Ok(self.conversation(chat::held(row, column)?)),
        }
    }

    /// OpenCompass's gold of a conversation: the assistant's own last answer, or all of them.
    fn conversation(&self, turns: Vec<ChatTurn>) -> (Option<Value>, Body) {
        let answers = chat::answers(&turns);
        let gold = match self.infer {
            _ if self.gold.is_given() => None,
            InferSpec::Chat { infer_mode: ChatMode::Last, .. } => answers.last().map(|&answer| answer.into()),
            _ => Some(answers.into()),
        };
        (gold, Body::Chat { turns })
    }

    fn rolling(&self, form: &Form<'_>, row: &Row) -> Result<Body, String> {
        let text = self.prompt(form, row)?;
        let whole = text.render(&[], &ShotFormat::default());
        // lm-eval divides by the text as it came, before its detokenizer: where the data set keeps that in a column, by that.
        let counted = match self.gold.column.and_then(|column| row.get(column)) {
            Some(original) => python_str(original),
            None => whole,
        };
        Ok(Body::Rolling { words: pieces(&counted), bytes: counted.len() as u32, text })
    }

    /// A prompt that is scored whole; with `normalizing_str` it says where the answer begins.
    fn whole(&self, label: &str, form: &Form<'_>, row: &Row) -> Result<OptionPrompt, String> {
        let label = self.kind.typed(label);
        let parts = match (self.infer, form, self.config.sep_token.as_deref()) {
            (InferSpec::PplNormalized { .. }, Form::Text(text), Some(separator)) => text.split_once(separator),
            _ => None,
        };
        let Some((context, answer)) = parts else {
            return Ok(OptionPrompt { label, prompt: self.prompt(form, row)?, answer: None });
        };
        let mut prompt = self.prompt(&Form::Text(context), row)?;
        let separator = self.config.sep_token.as_deref().unwrap_or_default();
        let answer = fill(&answer.replace(separator, ""), row, None);
        prompt.0.push(Segment::Option(answer.clone()));
        Ok(OptionPrompt { label, prompt, answer: Some(answer) })
    }

    fn ending(&self, label: &str, ending: &str, row: &Row) -> Result<OptionText, String> {
        let continuation = fill(ending, row, None);
        if continuation.is_empty() {
            return Err(format!("label `{label}` adds nothing to the context, so nothing of it could be scored"));
        }
        // Leading white space is the delimiter of a label map.
        let length = continuation.trim_start().chars().count() as u32;
        let label = self.kind.typed(label);
        Ok(OptionText { label, continuation, context: None, delimiter: 0, length, unconditional: false })
    }

    /// The options, and where a metric wants it each once more with nothing before it.
    fn with_unconditional(&self, mut options: Vec<OptionText>) -> Vec<OptionText> {
        if self.config.unconditional {
            options.extend(options.iter().map(OptionText::alone).collect::<Vec<_>>());
        }
        options
    }

    fn answered(&self, context: Prompt, answers: Answers) -> Result<Body, String> {
        let delimiter = &self.config.target_delimiter;
        let scores_answers = self.infer.scores_continuations();
        let empty = answers.all.iter().position(|answer| answer.text.is_empty() && delimiter.is_empty());
        if let Some(at) = empty.filter(|_| scores_answers) {
            return Err(format!(
                "answer {at} is empty and so is `target_delimiter`: nothing of it could be scored; give the answer a text, \
                 or a delimiter before all of them"
            ));
        }
        let texts = answers.all.into_iter().map(|answer| (answer.label, format!("{delimiter}{}", answer.text)));
        if scores_answers {
            let options = texts.map(|(label, continuation)| OptionText {
                label,
                length: continuation.chars().count().saturating_sub(delimiter.chars().count()) as u32,
                continuation,
                context: None,
                delimiter: delimiter.len() as u32,
                unconditional: false,
            });
            return Ok(Body::Loglikelihood { options: self.with_unconditional(options.collect()), context });
        }
        let normalized = matches!(self.infer, InferSpec::PplNormalized { .. });
        let options = texts.map(|(label, text)| {
            let mut segments = context.0.clone();
            let answer = normalized.then(|| text.clone());
            segments.push(Segment::Option(text));
            OptionPrompt { label, prompt: Prompt(segments), answer }
        });
        Ok(Body::Ppl { options: options.collect() })
    }

    /// The prompt of a row, between the description and what the answer begins with.
    fn prompt(&self, form: &Form<'_>, row: &Row) -> Result<Prompt, String> {
        let place = IceContent {
            token: &self.config.ice_token,
            in_template: self.recipe.has_token,
            shows_shots: self.recipe.shot.is_some(),
            separator: self.config.sep_token.as_deref(),
        };
        let mut prompt = form.prompt(row, self.blank, place)?;
        let text_template = |text_template: &Option<TemplateText>| {
            text_template.as_ref().map(|text_template| text_template.of(row, self.blank)).transpose()
        };
        if let Some(prefix) = text_template(&self.config.gen_prefix)?.filter(|prefix| !prefix.is_empty()) {
            let question = match prompt.0.last() {
                Some(Segment::Question(text) | Segment::Header(text)) => text.as_str(),
                _ => "",
            };
            // Contexts of their own are followed by the prefix at once, as lm-eval has it.
            let inputs = matches!(self.recipe.question, RequestForm::Inputs { .. });
            let delimited = !inputs && boundary::wants_delimiter(question, &prefix);
            let delimiter = if delimited { self.config.target_delimiter.as_str() } else { "" };
            let source = match &self.config.gen_prefix {
                Some(TemplateText::Text(source) | TemplateText::Jinja(source)) => source.as_str(),
                None => "",
            };
            // lm-eval looks at the template, not at what a row makes of it.
            let parted = !source.ends_with(|c: char| c.is_whitespace());
            prompt.0.push(Segment::Prefix(AnswerPrefix { delimiter: delimiter.to_owned(), text: prefix, parted }));
        }
        if let Some(description) = text_template(&self.config.description)?.filter(|text| !text.is_empty()) {
            prompt.0.insert(0, Segment::System(description));
        }
        Ok(prompt)
    }
}

/// Takes the target off the end of what is asked; `None` where that ends otherwise.
fn cut_target(context: &mut Prompt, target: &str) -> Option<()> {
    let Some(Segment::Question(text)) = context.0.last_mut() else { return None };
    let rest = text.strip_suffix(target)?.len();
    text.truncate(rest);
    Some(())
}

fn target_of(target: &TemplateText, row: &Row) -> Result<String, String> {
    match target.value(row)? {
        Value::Array(items) => Err(format!(
            "has a list of {} texts as `target`, and one can be scored: name one of them, as in \
             `target = {{ jinja = \"{{{{...[0]}}}}\" }}`",
            items.len()
        )),
        value if value == "" => Err("has an empty `target`: nothing could be scored".into()),
        value => Ok(python_str(&value)),
    }
}

/// `len(re.split(r"\s+", text))`: pieces between runs of white space, the empty ones at either end counted.
fn pieces(text: &str) -> u32 {
    let space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    let mut pieces = 1;
    let mut within = false;
    for c in text.chars() {
        pieces += u32::from(space(c) && !within);
        within = space(c);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn words_are_counted_as_python_splits() {
        for (text, count) in [("", 1), ("a", 1), ("a b", 2), (" a  b\n", 4), ("\u{1f}", 2), ("é\u{a0}ü", 2)] {
            assert_eq!(pieces(text), count, "{text:?}");
        }
    }
}

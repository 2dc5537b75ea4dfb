//! Decides, before any row is looked at, which template asks, which one shows, and where shots go.
//!
//! The rules are those of OpenCompass's `PromptTemplate` and retrievers; `options` and shots without an ice token are
//! lm-eval's way. Where the original would raise or guess, there is an error that says what to write.

use super::error::PromptError;
use super::form::{Form, Forms};
use super::prefix;
use super::rounds::TemplateLine;
use super::structured::ShotFormat;
use super::template::{Options, PromptConfig};
use super::template_text::TemplateText;
use crate::InferSpec;

/// Form in which the question of a row is asked.
#[derive(Debug)]
pub(super) enum RequestForm<'a> {
    /// One text: to continue, or to score whole.
    One(Form<'a>),
    /// One text, of which only the spans count that its column `label` names.
    Marked(Form<'a>),
    /// One text and the choices for its first token; by default the column `choices`.
    Choices { prompt: Form<'a>, options: Option<&'a Options> },
    /// One whole prompt per label, scored whole.
    Whole(Vec<(&'a str, Form<'a>)>),
    /// A shared context and an ending per label, only the ending scored.
    Endings { context: &'a str, endings: Vec<(&'a str, &'a str)> },
    /// A context and answers from elsewhere.
    Answers { context: Form<'a>, options: &'a Options },
    /// A context and the one thing to be said.
    Said { context: Form<'a>, target: &'a TemplateText },
    /// A context per label and one thing to be said after each.
    Inputs { contexts: Vec<(&'a str, Form<'a>)>, target: &'a TemplateText },
    /// A conversation from a template.
    Chat(Form<'a>),
    /// A conversation that a column holds.
    Held(&'a str),
}

impl RequestForm<'_> {
    /// Returns whether it has options whose labels take the type of the gold answers.
    pub(super) fn has_labels(&self) -> bool {
        matches!(self, Self::Whole(_) | Self::Endings { .. } | Self::Answers { .. } | Self::Inputs { .. })
    }
}

/// Way to write a shot.
#[derive(Clone, Debug)]
pub(super) enum ShotRecipe<'a> {
    /// By a template that holds the answer; a label map is entered by the gold answer.
    Template(Forms<'a>),
    /// As the question's context (after the ice token, if there is one), the delimiter and the gold answer.
    Answered { context: Form<'a>, options: &'a Options },
    /// The same with the target in place of an answer.
    Told { context: Form<'a>, target: &'a TemplateText },
    /// The same with the context of the gold answer.
    ToldInputs { contexts: Vec<(&'a str, Form<'a>)>, target: &'a TemplateText },
}

/// All that is decided.
#[derive(Debug)]
pub(super) struct Recipe<'a> {
    pub(super) question: RequestForm<'a>,
    /// `None` when no shots are shown.
    pub(super) shot: Option<ShotRecipe<'a>>,
    /// Set if the question's template says where shots go; otherwise they go first.
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
        (None, None) if config.dialogue.is_some() => return held(config, infer, shows_shots),
        (None, None) => return fail("there is no `prompt_template`: give a text, or one text per label".into()),
    };
    let asking = Forms::of(asking);
    let has_token = has_token(&asking, config, name)?;
    let question = question(config, infer, &asking, name, columns)?;
    if shows_shots && matches!(question, RequestForm::Chat(_)) {
        return fail("a conversation takes no shots".into());
    }
    if shows_shots && matches!(infer, InferSpec::SwceLoss { .. }) {
        return fail("swce_loss reads the texts alone and takes no shots: write `retriever = \"zero\"`".into());
    }
    let shot = match (&question, &config.prompt_template, &config.ice_template) {
        _ if !shows_shots => None,
        (_, Some(_), Some(showing)) => Some(ShotRecipe::Template(Forms::of(showing))),
        (RequestForm::Answers { context, options }, ..) if context.rounds().is_none() => {
            Some(ShotRecipe::Answered { context: *context, options })
        }
        (RequestForm::Said { context, target }, ..) => Some(ShotRecipe::Told { context: *context, target }),
        // Such texts hold all that a shot shows.
        (RequestForm::Inputs { .. }, ..) if config.target_within => Some(ShotRecipe::Template(asking.clone())),
        (RequestForm::Inputs { contexts, target }, ..) => {
            Some(ShotRecipe::ToldInputs { contexts: contexts.clone(), target })
        }
        (RequestForm::One(context), ..) if !has_token && context.rounds().is_none() && config.target.is_some() => {
            config.target.as_ref().map(|target| ShotRecipe::Told { context: *context, target })
        }
        _ => Some(ShotRecipe::Template(asking.clone())),
    };
    let token = if config.ice_token.is_empty() { super::ICE_TOKEN } else { &config.ice_token };
    let mut shot_format = ShotFormat::default();
    if has_token && shot.is_some() {
        shot_format = ShotFormat { separator: config.ice_separator.clone(), end: config.ice_eos_token.clone() };
    }
    if let Some(ShotRecipe::Template(showing)) = &shot {
        if !has_token {
            return fail(format!(
                "the retriever brings shots, but `{name}` does not say where they go: put `{token}` (the `ice_token`) there"
            ));
        }
        if showing.in_rounds() {
            check_places(&asking, name, token)?;
        }
        if let (InferSpec::PplNormalized { .. }, Some(separator)) = (infer, &config.sep_token)
            && showing.all().iter().any(|form| form.holds(separator))
        {
            return fail(format!(
                "shots hold `{separator}` (the `sep_token`) too, so that an answer would begin within them: write an \
                 `ice_template` without it"
            ));
        }
        // OpenCompass joins shots in rounds by nothing; those of a label map as it joins texts.
        if matches!(showing, Forms::One(Form::Rounds(_))) {
            shot_format = ShotFormat::default();
        }
    }
    Ok(Recipe { question, shot, has_token, shot_format })
}

/// Shots in rounds stand between lines, never within one.
fn check_places(asking: &Forms<'_>, name: &str, token: &str) -> Result<(), PromptError> {
    for form in asking.all() {
        let Some(rounds) = form.rounds() else {
            return fail(format!(
                "the shots are in rounds and `{name}` is one text, which cannot hold them: write it in rounds too, with \
                 `begin = [\"{token}\"]`"
            ));
        };
        let in_role = |line: &TemplateLine| matches!(line, TemplateLine::Role(role) if role.prompt.as_ref().is_some_and(|prompt| prompt.contains(token)));
        if rounds.lines().any(in_role) {
            return fail(format!(
                "the shots are in rounds, and what a role says in `{name}` cannot hold them: take `{token}` out of it and \
                 write `begin = [\"{token}\"]`"
            ));
        }
    }
    Ok(())
}

fn question<'a>(
    config: &'a PromptConfig,
    infer: &InferSpec,
    asking: &Forms<'a>,
    name: &str,
    columns: &[&str],
) -> Result<RequestForm<'a>, PromptError> {
    match &config.options {
        Some(Options::Labels(map)) if map.is_empty() => return fail("`options` has no label".into()),
        Some(Options::TemplateTexts(map)) if map.is_empty() => return fail("`options` has no label".into()),
        Some(Options::List(texts)) if texts.is_empty() => return fail("`options` has no answer".into()),
        _ => {}
    }
    if let (Some(_), true) = (config.gen_prefix.as_ref().or(config.description.as_ref()), asking.in_rounds()) {
        return fail(format!("`{name}` is in rounds: write `description` and `gen_prefix` into it as lines"));
    }
    let mode = infer.mode();
    if config.target_within
        && !(infer.scores_continuations() && config.target.is_some() && matches!(asking, Forms::Labels(_)))
    {
        return fail(format!(
            "`target_within` says that the texts of labels end with the `target` of a log-likelihood: it wants both, and \
             here is {mode} over `{name}`"
        ));
    }
    if let (true, Some(target), None) = (infer.scores_continuations(), &config.target, &config.options) {
        return match asking {
            Forms::One(context) => Ok(RequestForm::Said { context: *context, target }),
            Forms::Labels(map) if map.is_empty() => fail(format!("`{name}` has no label")),
            Forms::Labels(contexts) => Ok(RequestForm::Inputs { contexts: contexts.clone(), target }),
        };
    }
    match (infer, asking, &config.options) {
        (_, Forms::Labels(map), _) if map.is_empty() => fail(format!("`{name}` has no label")),
        (InferSpec::Clp, Forms::One(form), options) => {
            Ok(RequestForm::Choices { prompt: *form, options: options.as_ref() })
        }
        (
            InferSpec::Gen(_)
            | InferSpec::PplOnly
            | InferSpec::InferencePpl
            | InferSpec::Rolling
            | InferSpec::SwceLoss { .. }
            | InferSpec::Chat { .. },
            _,
            Some(_),
        ) => {
            let what = if matches!(infer, InferSpec::Gen(_)) { "a generation" } else { mode };
            fail(format!("`options` is for ppl and loglikelihood; {what} takes a text alone"))
        }
        (InferSpec::Gen(_) | InferSpec::PplOnly | InferSpec::Rolling, Forms::One(form), None) => {
            Ok(RequestForm::One(*form))
        }
        (InferSpec::SwceLoss { .. }, Forms::One(form), None) if form.rounds().is_some() => {
            fail(format!("{mode} reads texts, but `{name}` is in rounds: write it as one text"))
        }
        (InferSpec::SwceLoss { .. }, Forms::One(form), None) => Ok(RequestForm::One(*form)),
        (InferSpec::InferencePpl, Forms::One(form), None) => Ok(RequestForm::Marked(*form)),
        (InferSpec::Chat { .. }, Forms::One(form), None) => Ok(RequestForm::Chat(*form)),
        // OpenCompass: generation over a label map asks with the first label's text.
        (InferSpec::Gen(_) | InferSpec::PplOnly, Forms::Labels(map), None) => {
            Ok(RequestForm::One(map.first().map_or(Form::Text(""), |(_, form)| *form)))
        }
        (_, Forms::Labels(_), Some(_)) => fail(format!(
            "`{name}` is a label map and there are `options` as well: keep the map, or make `{name}` one text"
        )),
        (InferSpec::Ppl | InferSpec::PplNormalized { .. }, Forms::One(Form::Rounds(_)), Some(_)) => fail(format!(
            "ppl cannot append `options` to a dialogue: write `{name}` as a map from label to rounds that hold the answer, \
             or use `loglikelihood`"
        )),
        (_, Forms::One(context), Some(options)) => Ok(RequestForm::Answers { context: *context, options }),
        (_, Forms::One(_), None) => {
            fail(format!("{mode} compares answers, but `{name}` is one text: give one text per label, or `options`"))
        }
        (InferSpec::PplNormalized { .. }, Forms::Labels(map), None) => {
            let separator = config.sep_token.as_deref().unwrap_or_default();
            match map.iter().find(|(_, form)| form.rounds().is_some() || !form.holds(separator)) {
                Some((label, _)) => fail(format!(
                    "`normalizing_str` wants to know where the answer begins: put the `sep_token` into the text of label \
                     `{label}` of `{name}`"
                )),
                None => Ok(RequestForm::Whole(map.clone())),
            }
        }
        (InferSpec::Ppl, Forms::Labels(map), None) => Ok(RequestForm::Whole(map.clone())),
        (InferSpec::Loglikelihood | InferSpec::MeanLoglikelihood, Forms::Labels(map), None) => {
            endings(config, map, name, columns)
        }
        (_, Forms::Labels(_), None) => fail(format!("{mode} takes one text, but `{name}` is a label map")),
    }
}

/// A conversation from a column needs no template.
fn held<'a>(config: &'a PromptConfig, infer: &InferSpec, shows_shots: bool) -> Result<Recipe<'a>, PromptError> {
    match (&config.dialogue, infer) {
        (Some(_), InferSpec::Chat { .. }) if shows_shots => fail("a conversation takes no shots".into()),
        (Some(column), InferSpec::Chat { .. }) => Ok(Recipe {
            question: RequestForm::Held(column),
            shot: None,
            has_token: false,
            shot_format: ShotFormat::default(),
        }),
        _ => fail(format!("`dialogue` is for chat; for {} write a `prompt_template`", infer.mode())),
    }
}

fn endings<'a>(
    config: &PromptConfig,
    map: &[(&'a str, Form<'a>)],
    name: &str,
    columns: &[&str],
) -> Result<RequestForm<'a>, PromptError> {
    let mut texts = Vec::with_capacity(map.len());
    for (_, form) in map {
        match form {
            Form::Text(text) => texts.push(*text),
            Form::Jinja(_) => {
                return fail(format!(
                    "loglikelihood wants what the labels of `{name}` share, and in Jinja that is not known: write the question \
                     as one text, and the answers as `options`, each a text or {{ jinja = \"...\" }}"
                ));
            }
            Form::Rounds(_) => {
                return fail(format!(
                    "loglikelihood wants what the labels of `{name}` share, and dialogues have no such border: write one \
                     dialogue without the answer, and the answers in `options`"
                ));
            }
        }
    }
    let split = prefix::split(&texts, columns, &config.ice_token);
    let endings: Vec<(&str, &str)> = map.iter().map(|(label, _)| *label).zip(split.endings).collect();
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
    Ok(RequestForm::Endings { context: split.context, endings })
}

fn has_token(asking: &Forms<'_>, config: &PromptConfig, name: &str) -> Result<bool, PromptError> {
    match asking {
        Forms::One(form) => Ok(form.holds(&config.ice_token)),
        Forms::Labels(map) => {
            let without = map.iter().filter(|(_, form)| !form.holds(&config.ice_token)).map(|(label, _)| *label);
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

//! Comparison of prompts: a record of OpenCompass was asked as a sample is if its prompts are the ones that the plan renders.
//!
//! Shots that were left out, from the last on, to fit a model's length are no difference. A record without a prompt says
//! nothing.

use compass_eval::report::prediction_record;
use compass_plan::prompt::MetaTemplate;
use compass_plan::{Body, DatasetPlan, Part, Sample};
use compass_types::result::{Outcome, PromptFit, SampleResult};
use serde_json::{Map, Value};
use std::fmt;

/// A sample as the plan asks it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'p> {
    pub dataset: &'p DatasetPlan,
    pub part: &'p Part,
    pub sample: &'p Sample,
}

/// A record's statement about its prompts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// They are the sample's, put in the way at `meta`.
    Same {
        meta: usize,
        shots_kept: u32,
    },
}

/// The place where two prompts part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The prompt of several that differs: ` of label A`, ` in message 2`.
    place: String,
    /// Code points that agree.
    at: usize,
    theirs: String,
    ours: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, at, theirs, ours } = self;
        write!(f, "from character {at}{place} on its prompt has {theirs}, where the plan has {ours}")
    }
}

/// Code points that are shown of what differs.
const SHOWN: usize = 40;

/// A prompt: one text, or what each role says.
#[derive(Debug, PartialEq, Eq)]
struct Words(Vec<(String, String)>);

impl Words {
    /// Reads a text, or a list of messages with OpenCompass's keys or the keys of services; `None` for anything else, or for
    /// nothing at all.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(Self(vec![(String::new(), text.clone())])),
            Value::Array(messages) => {
                let message = |message: &Value| {
                    let text = message.get("prompt").or_else(|| message.get("content"))?.as_str()?;
                    Some((role(message.get("role")?.as_str()?), text.to_owned()))
                };
                let mut said = messages.iter().map(message).collect::<Option<Vec<_>>>()?;
                // Chat models are not given empty messages, and there they are listed.
                said.retain(|(_, text)| !text.is_empty());
                Some(Self(said))
            }
            _ => None,
        }
    }

    /// Returns whether both say the same: a text alone is what the user says.
    fn says(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        match (self.0.as_slice(), other.0.as_slice()) {
            ([(one, said)], [(two, other)]) => {
                said == other && [one, two].into_iter().all(|role| role.is_empty() || role == "HUMAN")
            }
            _ => false,
        }
    }

    fn is_text(&self) -> bool {
        self.0.first().is_some_and(|(role, _)| role.is_empty())
    }

    /// Returns the place where `theirs` parts from it.
    fn difference(&self, theirs: &Self, label: &str) -> Difference {
        let same = self.0.iter().zip(&theirs.0).take_while(|(ours, theirs)| ours == theirs).count();
        let of = |words: &Self| words.0.get(same).map(|(role, text)| (role.clone(), text.clone())).unwrap_or_default();
        let ((our_role, ours), (their_role, said)) = (of(self), of(theirs));
        let several = self.0.len().max(theirs.0.len()) > 1;
        let message = if several { format!(" in message {}", same + 1) } else { String::new() };
        let place = format!("{label}{message}");
        let at = ours.chars().zip(said.chars()).take_while(|(ours, theirs)| ours == theirs).count();
        let rest = |role: &str, text: &str, missing: bool| {
            if missing {
                return "nothing".to_owned();
            }
            let role = if our_role == their_role || role.is_empty() { String::new() } else { format!(" by {role}") };
            let rest: Vec<char> = text.chars().skip(at).take(SHOWN + 1).collect();
            let shown: String = rest.iter().take(SHOWN).collect();
            match (rest.len() > SHOWN, rest.is_empty()) {
                (_, true) => format!("its end{role}"),
                (true, _) => format!("{shown:?}...{role}"),
                (false, _) => format!("{shown:?}{role}"),
            }
        };
        let theirs = rest(&their_role, &said, theirs.0.len() <= same);
        Difference { place, at, theirs, ours: rest(&our_role, &ours, self.0.len() <= same) }
    }
}

/// OpenCompass's name of a role.
fn role(name: &str) -> String {
    match name.to_lowercase().as_str() {
        "user" | "human" => "HUMAN".to_owned(),
        "assistant" | "bot" => "BOT".to_owned(),
        "system" => "SYSTEM".to_owned(),
        _ => name.to_owned(),
    }
}

impl Asked<'_> {
    /// Compares the prompts of `record` with those of the sample, put in each of the ways of `metas`.
    ///
    /// # Errors
    /// Where they first part from the likeliest way.
    pub(crate) fn find(
        &self,
        record: &Map<String, Value>,
        metas: &[Option<MetaTemplate>],
    ) -> Result<Found, Difference> {
        let theirs = self.prompts(record);
        if theirs.is_empty() {
            return Ok(Found::Nothing);
        }
        let mut nearest: Option<Difference> = None;
        for (at, meta) in metas.iter().enumerate() {
            match self.same(&theirs, meta.as_ref()) {
                Ok(shots_kept) => return Ok(Found::Same { meta: at, shots_kept }),
                Err((difference, is_alike)) => {
                    if is_alike && nearest.is_none() || metas.len() == 1 {
                        nearest = Some(difference);
                    }
                }
            }
        }
        let first = metas.first().and_then(|meta| self.same(&theirs, meta.as_ref()).err());
        match nearest.or(first.map(|(difference, _)| difference)) {
            Some(difference) => Err(difference),
            None => Ok(Found::Nothing),
        }
    }

    /// Returns the number of shots that stayed where all prompts agree; or the first difference, and whether both are texts or both
    /// messages.
    fn same(&self, theirs: &[(String, Words)], meta: Option<&MetaTemplate>) -> Result<u32, (Difference, bool)> {
        let all = self.sample.shots.len() as u32;
        let whole = self.record(meta, all);
        let mut fewest = all;
        for (key, words) in theirs {
            let label = key.strip_prefix("label: ").map(|label| format!(" of label {label}")).unwrap_or_default();
            let Some(ours) = prompt_at(&whole, key).and_then(Words::of) else { continue };
            if self.says(&ours, words) {
                continue;
            }
            // From one prompt to the next no more stay.
            let is_same = |kept: &u32| {
                let fewer = self.record(meta, *kept);
                prompt_at(&fewer, key).and_then(Words::of).is_some_and(|ours| self.says(&ours, words))
            };
            match (0..=fewest).rev().find(is_same) {
                Some(kept) => fewest = kept,
                None => return Err((ours.difference(words, &label), ours.is_text() == words.is_text())),
            }
        }
        Ok(fewest)
    }

    fn says(&self, ours: &Words, theirs: &Words) -> bool {
        match &self.sample.body {
            // There what was said before the answer; here the whole conversation.
            Body::Chat { .. } => ours.0.starts_with(&theirs.0),
            _ => ours.says(theirs),
        }
    }

    /// The prompts of a record that can be compared, by the keys that hold them.
    fn prompts(&self, record: &Map<String, Value>) -> Vec<(String, Words)> {
        let of = |key: &str| Some((key.to_owned(), Words::of(prompt_at(record, key)?)?));
        let labels = record.keys().filter(|key| key.starts_with("label: ")).filter_map(|key| of(key));
        let labels: Vec<_> = labels.collect();
        match &self.sample.body {
            Body::Ppl { .. } | Body::Loglikelihood { .. } => labels,
            Body::Clp { .. } => of("prompt").into_iter().collect(),
            Body::Gen { .. } | Body::Chat { .. } => of("origin_prompt").into_iter().collect(),
            Body::Rolling { .. } | Body::Windows { .. } | Body::Execute { .. } => Vec::new(),
        }
    }

    /// The record that the sample would have, with its first `shots`.
    fn record(&self, meta: Option<&MetaTemplate>, shots: u32) -> Map<String, Value> {
        let fit = PromptFit { shots_kept: shots, tokens: 1, truncated_from: 0, ..PromptFit::default() };
        let outcome = Outcome::Failed { reason: String::new() };
        let result = SampleResult { index: self.sample.index, fit, outcome };
        match prediction_record(self.dataset, meta, self.part, self.sample, &result, None) {
            Value::Object(record) => record,
            _ => Map::new(),
        }
    }
}

/// The prompt at a key: of a label's scores, the one inside.
fn prompt_at<'r>(record: &'r Map<String, Value>, key: &str) -> Option<&'r Value> {
    let found = record.get(key)?;
    if key.starts_with("label: ") { found.get("prompt") } else { Some(found) }
}

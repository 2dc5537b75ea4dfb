//! A model behind an endpoint that speaks OpenAI's protocol: where it is, how it is asked, and within which budget.
//!
//! No secret is in it: a key is named by the environment variable or the file that holds it where a worker runs.

use crate::GenerationDefaults;
use crate::weights::{FileMark, Pin, WeightsDigest};
use compass_types::ids::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Beginning of the reason of samples whose endpoint refuses the whole job: no other request could succeed.
pub const ENDPOINT_REFUSED: &str = "the endpoint refuses the job";

/// Beginning of the reason of samples that were not asked for, because the money for their model is spent.
pub const MAX_COST_REACHED: &str = "max_cost is reached";

/// In the value of a header: where the key stands.
pub const KEY_MARK: &str = "{key}";

/// An endpoint as the plan pins it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Base URL that paths like `/chat/completions` follow, without a slash at its end.
    pub url: String,
    /// The name of the model there; empty where the first that the server lists is meant.
    pub model: String,
    pub api: EndpointApi,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeySource>,
    /// Sent with every request; [`KEY_MARK`] stands for the key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Fields added to every request.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub body: serde_json::Map<String, serde_json::Value>,
    /// Set if data sets of the job score texts, for which the endpoint is probed before anything else.
    #[serde(default)]
    pub scores: bool,
    #[serde(default)]
    pub budget: EndpointBudget,
}

/// One of the two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointApi {
    /// `/completions`: texts, continued or scored.
    Completions,
    /// `/chat/completions`: messages, answered.
    Chat,
}

/// Place that holds the key on the host of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// The first line of a file.
    File(String),
}

/// Limits on what the whole job may ask at a time. They are no part of what a model is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointBudget {
    /// Requests at once.
    pub max_concurrency: u32,
    /// Requests a minute; 0 sets no limit.
    pub rpm: u32,
    /// Tokens a minute, read and generated; 0 sets no limit.
    pub tpm: u64,
    /// Longest time that one request may take, in milliseconds.
    pub timeout_ms: u64,
    /// Worker slots that ask the endpoint at once; each has an equal share of the budget.
    pub workers: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Money after which nothing more is asked for, in the currency of the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
}

impl Default for EndpointBudget {
    fn default() -> Self {
        Self { max_concurrency: 64, rpm: 0, tpm: 0, timeout_ms: 300_000, workers: 1, price: None, max_cost: None }
    }
}

/// Money for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Money for a million tokens that are read.
    pub input: f64,
    /// Money for a million tokens that are generated.
    pub output: f64,
}

impl Price {
    /// Returns the cost of `input` tokens read and `output` tokens generated.
    pub fn of(&self, input: u64, output: u64) -> f64 {
        (input as f64 * self.input + output as f64 * self.output) / 1e6
    }
}

impl EndpointBudget {
    /// The share of one worker slot. The shares of all that may ask at once are no more than the whole.
    #[must_use]
    pub fn share(&self) -> Self {
        let workers = self.workers.max(1);
        Self {
            max_concurrency: (self.max_concurrency / workers).max(1),
            // 0 would lift the limit.
            rpm: if self.rpm == 0 { 0 } else { (self.rpm / workers).max(1) },
            tpm: if self.tpm == 0 { 0 } else { (self.tpm / u64::from(workers)).max(1) },
            ..*self
        }
    }
}

impl Endpoint {
    /// Returns what tells it from other endpoints, whatever it may be asked at a time and by which key.
    #[must_use]
    pub fn identity(&self) -> Self {
        Self { key: None, scores: false, budget: EndpointBudget::default(), ..self.clone() }
    }

    /// Returns what identifies the model: address, name, what the server says of itself, and the chat template where prompts are
    /// rendered before they are sent.
    pub fn pin(&self, reported: &Reported, template: Option<&str>) -> Pin {
        let mark = |text: &str| FileMark { bytes: text.len() as u64, digest: Digest::of(text.as_bytes()) };
        let mut files = BTreeMap::from([
            ("endpoint/url".to_owned(), mark(&self.url)),
            ("endpoint/model".to_owned(), mark(&self.model)),
        ]);
        let told = [("endpoint/served model", &reported.model), ("endpoint/fingerprint", &reported.fingerprint)];
        files.extend(template.map(|source| ("endpoint/chat template".to_owned(), mark(source))));
        files.extend(told.into_iter().filter_map(|(name, text)| Some((name.to_owned(), mark(text.as_ref()?)))));
        Pin { weights: WeightsDigest::new(files), generation: GenerationDefaults::default() }
    }
}

/// A server's own account of the model that answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// `model` of its answers.
    pub model: Option<String>,
    /// `system_fingerprint` of its answers.
    pub fingerprint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GenSpec, InferSpec};

    fn endpoint(api: EndpointApi) -> Endpoint {
        Endpoint {
            url: "http://h/v1".into(),
            model: "m".into(),
            api,
            key: Some(KeySource::Env("KEY".into())),
            headers: BTreeMap::new(),
            body: serde_json::Map::new(),
            scores: true,
            budget: EndpointBudget { rpm: 100, tpm: 1000, workers: 3, ..EndpointBudget::default() },
        }
    }

    #[test]
    fn shares_are_no_more_than_the_whole() {
        for workers in 1..70 {
            let whole = EndpointBudget { rpm: 7, tpm: 50, max_concurrency: 64, workers, ..EndpointBudget::default() };
            let share = whole.share();
            assert!(share.rpm >= 1 && share.tpm >= 1 && share.max_concurrency >= 1);
            assert!(share.tpm * u64::from(workers) <= whole.tpm.max(u64::from(workers)));
        }
        let free = EndpointBudget { workers: 4, ..EndpointBudget::default() }.share();
        assert_eq!((free.rpm, free.tpm, free.max_concurrency), (0, 0, 16));
    }

    #[test]
    fn budget_and_key_are_no_part_of_what_a_model_is() {
        let one = endpoint(EndpointApi::Chat);
        let other = Endpoint { key: None, budget: EndpointBudget::default(), ..one.clone() };
        assert_eq!(one.identity(), other.identity());
        assert_ne!(one.identity(), Endpoint { model: "n".into(), ..one.clone() }.identity());
        let said = |fingerprint: &str| Reported { model: None, fingerprint: Some(fingerprint.into()) };
        assert_eq!(one.pin(&said("a"), None), other.pin(&said("a"), None));
        let difference = one.pin(&said("a"), None).difference(&one.pin(&said("b"), None)).unwrap();
        let template = |source: &str| one.pin(&said("a"), Some(source));
        assert!(template("a").difference(&template("b")).unwrap().contains("chat template"));
        assert!(difference.contains("fingerprint"), "{difference}");
    }

    #[test]
    fn chat_endpoints_only_generate() {
        let (chat, texts) = (endpoint(EndpointApi::Chat), endpoint(EndpointApi::Completions));
        let generation = InferSpec::Gen(GenSpec::default());
        assert_eq!((chat.misfit(&generation), texts.misfit(&generation)), (None, None));
        assert!(chat.misfit(&InferSpec::Ppl).is_some_and(|why| why.contains("completions")));
        assert_eq!(texts.misfit(&InferSpec::Ppl), None);
        let windows = InferSpec::SwceLoss { block_size: 8, stride: 4 };
        assert!(texts.misfit(&windows).is_some_and(|why| why.contains("run it on the model's files")));
    }

    #[test]
    fn a_price_is_for_a_million_tokens() {
        assert!((Price { input: 0.5, output: 1.5 }.of(2_000_000, 1_000_000) - 2.5).abs() < 1e-12);
    }
}

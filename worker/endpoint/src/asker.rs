//! Asks the endpoint: waits for the pace, sends, judges answers, and repeats requests that may succeed.
//!
//! A busy server costs no try. A broken answer costs the sample one, unless everything fails: then it is the server, and all
//! wait. A fault that no try can change ends the sample, or the job.

use super::answer::{Usage, reported, told};
use super::context::Lengths;
use super::key;
use super::pace::{Pace, Refusal, Wait};
use super::refusal::{Meaning, REJECTED, UNANSWERED, judge};
use super::sent::SentPrompt;
use compass_chat::{ChatFormat, RenderedChat};
use compass_common::backoff;
use compass_plan::engine::{EngineFault, note_progress};
use compass_plan::prompt::{RenderedPrompt, system_as_user};
use compass_plan::{ENDPOINT_REFUSED, Endpoint, EndpointApi, EndpointBudget, Reported};
use compass_postprocess::thinking::Opened;
use compass_storage::{ApiClient, ApiError, ApiRequest};
use compass_types::secret::Secret;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify, OnceCell};

/// Broken answers after which a sample is given up.
const MOST_TRIES: u32 = 6;
/// Broken answers in a row, of all samples, from which on it is the server that is at fault.
const SERVER_AT_FAULT: u32 = 20;
/// Time for which requests to a server that does not answer are repeated.
const RETRY_FOR: Duration = Duration::from_secs(15 * 60);
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// Bytes of an answer beyond which it is not read.
const MOST_BYTES: usize = 32 << 20;
/// Pause before a request that was refused is made again, where the server does not say.
const RETRY_AFTER_MS: u64 = 500;
/// Requests for one answer, each for fewer tokens than the one before. Some servers leave one token of their context unused.
const MOST_LENGTHS: usize = 3;
const NO_CONTEXT: &str = "`max_out_len = \"rest\"` is what the context leaves, and the server does not list how long that is; help: write \
                          `max_seq_len` of the model, or a number";
/// Versions of a server that are named.
const MOST_VERSIONS: usize = 8;

/// An answer as it was read, with its tokens; else why another try is needed.
type Read<T> = Result<(T, Usage), String>;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The sample has no answer: its class and the reason.
    Sample(String),
    /// The endpoint refuses the job.
    Refused(String),
    /// The endpoint does not answer, whatever it is asked.
    Outage(String),
}

impl From<Unanswered> for EngineFault {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Refused(why) | Unanswered::Sample(why) => Self::Refused(format!("{ENDPOINT_REFUSED}: {why}")),
            Unanswered::Outage(why) => Self::Lost(why),
        }
    }
}

pub(crate) struct Asker {
    pub(crate) endpoint: Endpoint,
    format: Option<ChatFormat>,
    share: EndpointBudget,
    client: ApiClient,
    headers: Vec<(String, Secret)>,
    pace: RefCell<Pace>,
    began: Instant,
    /// Held by the request that goes next: all go in order.
    turn: Mutex<()>,
    answered: Notify,
    last_answer: Cell<Instant>,
    broken_in_row: Cell<u32>,
    /// Set if the server takes `max_completion_tokens` in place of `max_tokens`.
    renames_length: Cell<bool>,
    /// Set once the server refuses system messages: they are put before the user's.
    moves_system: Cell<bool>,
    /// Length in tokens that the server lists for the model; asked for once, where a refusal names none.
    context: OnceCell<Option<u64>>,
    has_shortened: Cell<bool>,
    versions: RefCell<BTreeSet<String>>,
    notes: RefCell<Vec<String>>,
    used: Cell<Usage>,
}

impl Asker {
    /// For this worker's share of an endpoint's budget.
    ///
    /// # Errors
    /// The key is missing here, or TLS cannot be set up.
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, EngineFault> {
        let share = endpoint.budget.share();
        Ok(Self {
            headers: key::headers(endpoint)?,
            client: ApiClient::new().map_err(|fault| EngineFault::Device(fault.with_help()))?,
            endpoint: endpoint.clone(),
            format: None,
            share,
            pace: RefCell::new(Pace::new(share, 0)),
            began: Instant::now(),
            turn: Mutex::new(()),
            answered: Notify::new(),
            last_answer: Cell::new(Instant::now()),
            broken_in_row: Cell::new(0),
            renames_length: Cell::new(false),
            moves_system: Cell::new(false),
            context: OnceCell::new(),
            has_shortened: Cell::new(false),
            versions: RefCell::default(),
            notes: RefCell::default(),
            used: Cell::default(),
        })
    }

    /// Requests that may be in flight at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.share.max_concurrency as usize
    }

    /// Returns the path at which texts are continued.
    pub(crate) fn path(&self) -> &'static str {
        match self.endpoint.api {
            EndpointApi::Completions => "/completions",
            EndpointApi::Chat => "/chat/completions",
        }
    }

    /// Renders prompts by this template before they are sent.
    pub(crate) fn render_by(&mut self, format: ChatFormat) {
        self.format = Some(format);
    }

    /// Returns the template by which prompts are rendered here.
    pub(crate) fn format(&self) -> Option<&ChatFormat> {
        self.format.as_ref()
    }

    /// Returns a prompt as the server takes it; `is_begun` says whether a last message of the assistant begins the answer.
    ///
    /// # Errors
    /// The chat template rejects the messages.
    pub(crate) fn sent(&self, prompt: RenderedPrompt, is_begun: bool) -> Result<SentPrompt, Unanswered> {
        let opened = Opened::Unknown;
        let RenderedPrompt::Messages(messages) = prompt else { return Ok(SentPrompt { prompt, opened }) };
        let Some(format) = &self.format else {
            let placed = if self.moves_system.get() { system_as_user(&messages) } else { messages };
            return Ok(SentPrompt { prompt: RenderedPrompt::Messages(placed), opened });
        };
        let rendered = if is_begun { format.begun_text(&messages, None) } else { format.text(&messages, None) };
        let RenderedChat { text, opened } = rendered.map_err(|error| Unanswered::Sample(error.to_string()))?;
        Ok(SentPrompt { prompt: RenderedPrompt::Text(text), opened })
    }

    /// Puts system messages before the user's from here on.
    pub(crate) fn move_system(&self) {
        self.moves_system.set(true);
        let note = "the endpoint refuses system messages: they stand before the user's, as `system = \"user\"` asks";
        self.notes.borrow_mut().push(note.to_owned());
    }

    /// Tokens used since this was asked last.
    pub(crate) fn take_used(&self) -> Usage {
        self.used.take()
    }

    /// Takes the notes for the user, each of which is given once.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Asks until there is an answer that `read` takes. It is taken for about `estimated` tokens. Where the server's context leaves
    /// fewer tokens than `max_tokens` of `body`, that becomes what is left.
    ///
    /// # Errors
    /// The request has no answer, for this reason.
    pub(crate) async fn ask<T>(
        &self,
        body: &mut Value,
        estimated: u64,
        read: impl Fn(&Value) -> Read<T>,
    ) -> Result<T, Unanswered> {
        if self.endpoint.api == EndpointApi::Completions && body.get("max_tokens").is_none() {
            // Unasked, a server that continues texts gives 16 tokens.
            let Some(context) = *self.context.get_or_init(|| self.listed_context()).await else {
                return Err(Unanswered::Refused(NO_CONTEXT.to_owned()));
            };
            body["max_tokens"] = context.into();
        }
        let mut refusal = String::new();
        for _ in 0..MOST_LENGTHS {
            let (lengths, why) = match self.answer(body, estimated, &read).await? {
                Ok(read) => return Ok(read),
                Err(refused) => refused,
            };
            let Some(left) = self.left(body, estimated, lengths).await? else { return Err(Unanswered::Sample(why)) };
            body["max_tokens"] = left.into();
            refusal = why;
            if !self.has_shortened.replace(true) {
                let url = &self.endpoint.url;
                let note = format!(
                    "the context of {url} is too short for some prompts with max_out_len: they are asked with what is left"
                );
                self.notes.borrow_mut().push(note);
            }
        }
        Err(Unanswered::Sample(refusal))
    }

    /// Returns how many tokens the context leaves for the answer to `body`, which was refused with `lengths`; `None` if it leaves
    /// none, or nothing tells how long it is.
    ///
    /// # Errors
    /// As [`Self::ask`].
    async fn left(&self, body: &Value, estimated: u64, lengths: Lengths) -> Result<Option<u64>, Unanswered> {
        let asked = body.get("max_tokens").and_then(Value::as_u64).unwrap_or(0);
        if asked <= 1 {
            return Ok(None);
        }
        let context = match lengths.context {
            Some(context) => Some(context),
            None => *self.context.get_or_init(|| self.listed_context()).await,
        };
        let Some(context) = context.filter(|_| !lengths.is_full()) else { return Ok(None) };
        let prompt = match lengths.prompt.filter(|_| !lengths.is_least) {
            Some(prompt) => prompt,
            None => {
                // The server counts the prompt when it answers with one token.
                let mut shortest = body.clone();
                shortest["max_tokens"] = 1.into();
                shortest.as_object_mut().map(|fields| fields.remove("min_tokens"));
                let count = |answer: &Value| Ok((told(answer, "prompt_tokens"), Usage::of(answer, 0, 0)));
                match self.answer(&shortest, estimated, &count).await? {
                    Ok(Some(prompt)) => prompt,
                    Ok(None) => {
                        let why = format!(
                            "{REJECTED}: the prompt fits the context of {context} tokens, its answer does not, and the server \
                                           does not count tokens; help: lower max_out_len"
                        );
                        return Err(Unanswered::Sample(why));
                    }
                    Err(_) => return Ok(None),
                }
            }
        };
        Ok(Some(context.saturating_sub(prompt).min(asked - 1)).filter(|left| *left > 0))
    }

    /// Asks until there is an answer that `read` takes, or the context does not hold it: the lengths, and the reason.
    ///
    /// # Errors
    /// As [`Self::ask`], the context apart.
    async fn answer<T>(
        &self,
        body: &Value,
        estimated: u64,
        read: &impl Fn(&Value) -> Read<T>,
    ) -> Result<Result<T, (Lengths, String)>, Unanswered> {
        let url = format!("{}{}", self.endpoint.url, self.path());
        let mut pauses = backoff::policy(PAUSES.0, PAUSES.1);
        let mut tries = 0;
        loop {
            self.admitted(estimated).await;
            let sent = self.now();
            let answered = self.client.post(self.request(&url, body)).await;
            let meaning = match &answered {
                Ok(answer) => judge(answer, &url, &self.endpoint.model),
                Err(ApiError::Malformed(why)) => Meaning::Refused(format!("{url}: {why}")),
                Err(error) => Meaning::Broken(error.to_string()),
            };
            note_progress();
            let why = match meaning {
                Meaning::Answer(answer) => match read(&answer) {
                    Ok((read, usage)) => {
                        self.answered(sent, estimated, usage, &answer);
                        return Ok(Ok(read));
                    }
                    Err(why) => why,
                },
                Meaning::Busy { what, retry_after_ms } => {
                    self.refused(sent, what, retry_after_ms);
                    if self.last_answer.get().elapsed() > RETRY_FOR {
                        return Err(Unanswered::Outage(self.outage("it is busy")));
                    }
                    tokio::time::sleep(Duration::from_millis(retry_after_ms.unwrap_or(RETRY_AFTER_MS))).await;
                    continue;
                }
                Meaning::Sample(why) if why.contains("max_completion_tokens") && !self.renames_length.get() => {
                    self.failed();
                    self.renames_length.set(true);
                    continue;
                }
                Meaning::Context(lengths, why) => {
                    self.failed();
                    // It answers.
                    self.last_answer.set(Instant::now());
                    return Ok(Err((lengths, self.without_secrets(&why))));
                }
                Meaning::Sample(why) => {
                    self.failed();
                    // It answers.
                    self.last_answer.set(Instant::now());
                    return Err(Unanswered::Sample(self.without_secrets(&why)));
                }
                Meaning::Refused(why) => {
                    self.failed();
                    return Err(Unanswered::Refused(self.without_secrets(&why)));
                }
                Meaning::Broken(why) => why,
            };
            self.failed();
            let why = self.without_secrets(&why);
            self.broken_in_row.set(self.broken_in_row.get().saturating_add(1));
            tracing::debug!(why, tries, "no usable answer; trying again");
            if self.last_answer.get().elapsed() > RETRY_FOR {
                return Err(Unanswered::Outage(self.outage(&why)));
            }
            let of_connection = matches!(answered, Err(ApiError::Unreachable(_)));
            if !of_connection && self.broken_in_row.get() < SERVER_AT_FAULT.max(2 * self.share.max_concurrency) {
                tries += 1;
                if tries == MOST_TRIES {
                    return Err(Unanswered::Sample(format!("{UNANSWERED}: {why} ({MOST_TRIES} tries)")));
                }
            }
            tokio::time::sleep(pauses.next().unwrap_or(PAUSES.1)).await;
        }
    }

    /// Asks once, at the beginning, without regard to the pace.
    ///
    /// # Errors
    /// Why there is no answer, and whether one may come later.
    pub(crate) async fn greet(&self, body: &Value) -> Result<Value, (Unanswered, bool)> {
        let url = format!("{}{}", self.endpoint.url, self.path());
        let meaning = match self.client.post(self.request(&url, body)).await {
            Ok(answer) => judge(&answer, &url, &self.endpoint.model),
            Err(ApiError::Malformed(why)) => Meaning::Refused(format!("{url}: {why}")),
            Err(error) => Meaning::Broken(error.to_string()),
        };
        self.last_answer.set(Instant::now());
        match meaning {
            Meaning::Answer(answer) => {
                self.note_version(&answer);
                Ok(answer)
            }
            Meaning::Sample(why) if why.contains("max_completion_tokens") && !self.renames_length.replace(true) => {
                Err((Unanswered::Outage(why), true))
            }
            Meaning::Sample(why) | Meaning::Context(_, why) => {
                Err((Unanswered::Refused(self.without_secrets(&format!("{url}: {why}"))), false))
            }
            Meaning::Refused(why) => Err((Unanswered::Refused(self.without_secrets(&why)), false)),
            Meaning::Busy { .. } => Err((Unanswered::Outage(format!("{url} is busy")), true)),
            Meaning::Broken(why) => Err((Unanswered::Outage(self.without_secrets(&format!("{url}: {why}"))), true)),
        }
    }

    /// Returns the name of the first model that the server lists.
    ///
    /// # Errors
    /// The reason for the lack of a name, and whether there may be one later.
    pub(crate) async fn first_model(&self) -> Result<String, (Unanswered, bool)> {
        let url = format!("{}/models", self.endpoint.url);
        let later = |why: String| Err((Unanswered::Outage(self.without_secrets(&format!("{url}: {why}"))), true));
        match self.models(&url).await {
            Meaning::Answer(listed) => match listed.pointer("/data/0/id").and_then(Value::as_str) {
                Some(name) => Ok(name.to_owned()),
                None => {
                    let why = format!("{url} lists no model; help: write `model` of the endpoint");
                    Err((Unanswered::Refused(why), false))
                }
            },
            Meaning::Sample(why) | Meaning::Context(_, why) | Meaning::Refused(why) => {
                let why = format!("{why}; or write `model` of the endpoint");
                Err((Unanswered::Refused(self.without_secrets(&why)), false))
            }
            Meaning::Busy { .. } => later("it is busy".to_owned()),
            Meaning::Broken(why) => later(why),
        }
    }

    /// Returns `max_model_len` of the model, which vLLM and SGLang list.
    async fn listed_context(&self) -> Option<u64> {
        let Meaning::Answer(listed) = self.models(&format!("{}/models", self.endpoint.url)).await else { return None };
        let models = listed.get("data")?.as_array()?;
        let own =
            models.iter().find(|model| model.get("id").and_then(Value::as_str) == Some(self.endpoint.model.as_str()));
        own.or(models.first())?.get("max_model_len")?.as_u64()
    }

    async fn models(&self, url: &str) -> Meaning {
        match self.client.get(self.request(url, &Value::Null)).await {
            Ok(answer) => judge(&answer, url, &self.endpoint.model),
            Err(ApiError::Malformed(why)) => Meaning::Refused(format!("{url}: {why}")),
            Err(error) => Meaning::Broken(error.to_string()),
        }
    }

    fn request<'r>(&'r self, url: &'r str, body: &Value) -> ApiRequest<'r> {
        let mut body = body.clone();
        if let (true, Some(fields)) = (self.renames_length.get(), body.as_object_mut())
            && let Some(length) = fields.remove("max_tokens")
        {
            fields.insert("max_completion_tokens".into(), length);
        }
        let timeout = Duration::from_millis(self.share.timeout_ms);
        ApiRequest { url, headers: &self.headers, body: body.to_string(), timeout, most: MOST_BYTES }
    }

    /// Waits until the pace lets the next request go.
    async fn admitted(&self, tokens: u64) {
        let _turn = self.turn.lock().await;
        loop {
            let now = self.now();
            let admitted = self.pace.borrow_mut().admit(now, tokens);
            match admitted {
                Ok(()) => return,
                Err(Wait::Until(until)) => tokio::time::sleep(Duration::from_millis(until.saturating_sub(now))).await,
                Err(Wait::ForAnswer) => self.answered.notified().await,
            }
        }
    }

    fn answered(&self, sent: u64, estimated: u64, usage: Usage, answer: &Value) {
        self.pace.borrow_mut().answered(sent, estimated, usage.prompt + usage.generated);
        self.answered.notify_one();
        self.last_answer.set(Instant::now());
        self.broken_in_row.set(0);
        let used = self.used.get();
        let (prompt, generated) = (used.prompt + usage.prompt, used.generated + usage.generated);
        self.used.set(Usage { prompt, generated });
        self.note_version(answer);
    }

    fn refused(&self, sent: u64, what: Refusal, retry_after_ms: Option<u64>) {
        self.pace.borrow_mut().refused(self.now(), sent, what, retry_after_ms);
        self.answered.notify_one();
    }

    fn failed(&self) {
        self.pace.borrow_mut().failed();
        self.answered.notify_one();
    }

    /// Notes once that a second version of the model answered: one run may hold answers of both.
    fn note_version(&self, answer: &Value) {
        let Reported { model, fingerprint } = reported(answer);
        let version = [model, fingerprint].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let mut versions = self.versions.borrow_mut();
        if version.is_empty() || versions.len() >= MOST_VERSIONS || !versions.insert(version) || versions.len() == 1 {
            return;
        }
        let named = versions.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        let url = &self.endpoint.url;
        self.notes.borrow_mut().push(format!("{url} answered as several versions during the run: {named}"));
    }

    fn outage(&self, why: &str) -> String {
        format!("{} has not answered for {} s: {why}", self.endpoint.url, RETRY_FOR.as_secs())
    }

    /// Hides the keys in a text: a server may repeat what it was sent.
    fn without_secrets(&self, text: &str) -> String {
        let secrets = self.headers.iter().map(|(_, value)| value.expose());
        let bare = secrets.flat_map(|value| [value, value.strip_prefix("Bearer ").unwrap_or(value)]);
        bare.filter(|value| value.len() > 3).fold(text.to_owned(), |text, secret| text.replace(secret, "(secret)"))
    }
}

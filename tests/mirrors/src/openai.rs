//! An endpoint that speaks OpenAI's protocol and follows a script: faults, refusals, limits. Its answers follow from the
//! prompts, and it keeps count of them. A test stops it at a request by its latch, not at a time.

use crate::answer::Answer;
use crate::context::Context;
use crate::server::{Request, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Occasional fault of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Status 500.
    Error,
    /// The answer ends in the middle.
    Cut,
    /// The answer never ends.
    Endless,
    /// Two choices in place of one.
    WrongCount,
    /// A page in place of JSON.
    NotJson,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Error, Self::Cut, Self::Endless, Self::WrongCount, Self::NotJson];
}

/// Place of the thinking in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// Between marks in the content.
    Marked,
    /// In the field of this name.
    Field(&'static str),
    /// In the field of this name, with null as the content: the model ended within it.
    Alone(&'static str),
    /// In the field `reasoning`, a word for each token that is asked for: it ends at a budget that is held, else with the tokens.
    Long(Budget),
    /// Between marks, before an answer of many blank lines.
    Blank,
}

/// Treatment of vLLM's `thinking_token_budget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    Held,
    Ignored,
    Refused,
}

/// Blank lines of [`Thinking::Blank`].
const BLANK: usize = 400;

/// The text of every thinking.
pub const THOUGHT: &str = "first\n\nsecond";

/// Behaviour of an endpoint.
#[derive(Clone, Debug)]
pub struct Script {
    /// Time for an answer, for benchmarks; tests have [`Endpoint::hold_after`].
    pub latency: Duration,
    /// The key that every request must have.
    pub key: Option<String>,
    /// Number of requests in a thousand that are answered with a fault, in turn of these.
    pub faults_per_mille: u32,
    pub faults: Vec<Fault>,
    /// Requests a second, and how many at once after a pause; others get 429.
    pub limit: Option<(f64, f64)>,
    /// `Retry-After` of refusals, in seconds.
    pub retry_after: Option<u32>,
    /// Number of requests at the beginning that get 503.
    pub busy_at_first: u32,
    /// From this request on, counted from 0, all get this status.
    pub status: Option<(u32, u16)>,
    /// Address to which all requests are redirected.
    pub redirect: Option<String>,
    /// The status of a request with a message of the system's.
    pub refuses_system: Option<u16>,
    /// Requests that are longer are refused; a word of a prompt is a token.
    pub context: Option<Context>,
    /// Answers have a thinking before them, which this says how it is told; stop strings end it as they end an answer.
    pub thinking: Option<Thinking>,
    /// Answers come as this stream of events: `JSON` stands for one with the whole answer, `LINES` for the same in several lines.
    pub stream: Option<String>,
    pub fingerprint: String,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            key: None,
            faults_per_mille: 0,
            faults: Fault::ALL.into(),
            limit: None,
            retry_after: None,
            busy_at_first: 0,
            status: None,
            redirect: None,
            refuses_system: None,
            context: None,
            thinking: None,
            stream: None,
            fingerprint: "fp-1".into(),
        }
    }
}

/// A request that came.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Since the server began.
    pub at: Duration,
    /// Status of the answer.
    pub status: u16,
    /// Its `max_tokens`.
    pub max_tokens: Option<u64>,
    /// Its `seed`.
    pub seed: Option<u64>,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    answers: BTreeMap<String, u32>,
    /// Requests that were answered as the protocol wants it, faults apart.
    asked: BTreeMap<String, u32>,
    at_once: u32,
    most_at_once: u32,
    tokens: f64,
    filled: Duration,
    faults: usize,
    /// Requests that have come to the latch, and how many of these may pass, in their order; all of them if `None`.
    came: u32,
    may_pass: Option<u32>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// More requests may pass the latch.
    opened: Condvar,
}

/// An endpoint that runs until it is dropped.
pub struct Endpoint {
    server: Server,
    shared: Arc<Shared>,
    script: Arc<Mutex<Script>>,
}

impl Endpoint {
    /// Starts one.
    ///
    /// # Errors
    /// No port can be opened.
    pub fn start(script: Script) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the clock of a script's limit of requests a second")]
        let began = Instant::now();
        let state = State { tokens: script.limit.map_or(0.0, |(_, burst)| burst), ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), opened: Condvar::new() });
        let script = Arc::new(Mutex::new(script));
        let (of_server, told) = (shared.clone(), script.clone());
        let server = Server::start(move |request| {
            let script = lock(&told).clone();
            answer(request, &script, &of_server, began)
        })?;
        Ok(Self { server, shared, script })
    }

    /// Returns the value for `url` of an endpoint.
    pub fn url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    /// Behaves otherwise from now on.
    pub fn follow(&self, script: Script) {
        *lock(&self.script) = script;
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.shared.state).seen.clone()
    }

    /// Returns how often each prompt was answered.
    pub fn answers(&self) -> BTreeMap<String, u32> {
        lock(&self.shared.state).answers.clone()
    }

    /// The most requests that were in flight at once.
    pub fn most_at_once(&self) -> u32 {
        lock(&self.shared.state).most_at_once
    }

    /// Answers this many requests in all, in the order in which they come, earlier ones included; further ones are counted and wait.
    pub fn hold_after(&self, requests: u32) {
        lock(&self.shared.state).may_pass = Some(requests);
        self.shared.opened.notify_all();
    }

    /// Answers none that comes from now on.
    pub fn hold(&self) {
        let mut state = lock(&self.shared.state);
        state.may_pass = Some(state.came);
    }

    /// Answers this many more.
    pub fn admit_more(&self, requests: u32) {
        let mut state = lock(&self.shared.state);
        state.may_pass = state.may_pass.map(|may_pass| may_pass + requests);
        self.shared.opened.notify_all();
    }

    /// Answers every request.
    pub fn open(&self) {
        lock(&self.shared.state).may_pass = None;
        self.shared.opened.notify_all();
    }

    /// Requests that wait for their answers, requests of clients that are gone included.
    pub fn held(&self) -> u32 {
        let state = lock(&self.shared.state);
        state.may_pass.map_or(0, |may_pass| state.came.saturating_sub(may_pass))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.open();
    }
}

impl Shared {
    /// Waits until the request may be answered.
    fn pass(&self) {
        let mut state = lock(&self.state);
        let own = state.came;
        state.came += 1;
        let is_shut = |state: &mut State| state.may_pass.is_some_and(|may_pass| own >= may_pass);
        drop(self.opened.wait_while(state, is_shut).unwrap_or_else(PoisonError::into_inner));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(request: &Request, script: &Script, shared: &Shared, began: Instant) -> Answer {
    let at = began.elapsed();
    let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let made = {
        let mut state = lock(&shared.state);
        state.at_once += 1;
        state.most_at_once = state.most_at_once.max(state.at_once);
        let made = decide(request, &body, script, &mut state, at);
        state.seen.push(Seen {
            at,
            status: made.status,
            max_tokens: body["max_tokens"].as_u64(),
            seed: body["seed"].as_u64(),
        });
        made
    };
    shared.pass();
    if !script.latency.is_zero() {
        #[expect(clippy::disallowed_methods, reason = "a benchmark asks for an endpoint that takes its time")]
        std::thread::sleep(script.latency);
    }
    lock(&shared.state).at_once -= 1;
    made
}

fn decide(request: &Request, body: &Value, script: &Script, state: &mut State, at: Duration) -> Answer {
    let count = u32::try_from(state.seen.len()).unwrap_or(u32::MAX);
    if let Some(to) = &script.redirect {
        return Answer::new(307, "").with("location", to.as_str());
    }
    let expected = script.key.as_ref().map(|key| format!("Bearer {key}"));
    if expected.is_some() && request.header("authorization") != expected.as_deref() {
        let given = request.header("authorization").unwrap_or_default();
        return error(401, &format!("Incorrect API key provided: {given}"), "invalid_api_key");
    }
    if let Some((_, status)) = script.status.filter(|(from, _)| count >= *from) {
        return error(status, "as the script says", "scripted");
    }
    let wait = |answer: Answer| match script.retry_after {
        Some(seconds) => answer.with("retry-after", seconds.to_string()),
        None => answer,
    };
    if count < script.busy_at_first {
        return wait(error(503, "loading", "busy"));
    }
    if let Some((rate, burst)) = script.limit {
        // Requests are counted in the order of the lock, not of their times.
        state.tokens = (state.tokens + at.saturating_sub(state.filled).as_secs_f64() * rate).min(burst);
        state.filled = state.filled.max(at);
        if state.tokens < 1.0 {
            return wait(error(429, "too many requests", "rate_limit_exceeded"));
        }
        state.tokens -= 1.0;
    }
    // Spread evenly by a multiplicative hash of the request's number.
    if count.wrapping_mul(2_654_435_761) % 1000 < script.faults_per_mille && !script.faults.is_empty() {
        state.faults += 1;
        return faulty(script.faults[state.faults % script.faults.len()]);
    }
    let is_system = |message: &Value| message["role"] == "system";
    if let Some(status) = script.refuses_system
        && body["messages"].as_array().is_some_and(|messages| messages.iter().any(is_system))
    {
        return error(status, "System role not supported", "bad_request");
    }
    if request.path.ends_with("/models") {
        return models(script);
    }
    if script.thinking == Some(Thinking::Long(Budget::Refused)) && body.get("thinking_token_budget").is_some() {
        return error(400, "thinking_token_budget is set but reasoning_config is not configured", "BadRequestError");
    }
    let prompt = prompt_of(body);
    let asked = body["max_tokens"].as_u64().unwrap_or(16);
    let refused = script.context.and_then(|context| context.refusal.message(context.tokens, words(&prompt), asked));
    if let Some(message) = refused {
        return error(400, &message, "invalid_request_error");
    }
    *state.asked.entry(prompt.clone()).or_default() += 1;
    let answer = said(body, &prompt, script);
    if answer.status == 200 {
        *state.answers.entry(prompt).or_default() += 1;
    }
    answer
}

fn error(status: u16, message: &str, code: &str) -> Answer {
    Answer::new(status, json!({"error": {"message": message, "type": code, "code": code}}).to_string())
}

/// The list of models, another before the one that is asked.
fn models(script: &Script) -> Answer {
    let listed = script.context.filter(|context| context.is_listed).map(|context| context.tokens);
    let model = |id: &str, length: Option<u64>| json!({"id": id, "object": "model", "max_model_len": length});
    Answer::new(200, json!({"object": "list", "data": [model("another", Some(7)), model("tiny", listed)]}).to_string())
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn faulty(fault: Fault) -> Answer {
    let two = json!({"choices": [{"index": 0, "text": "a", "message": {"content": "a"}, "finish_reason": "stop"},
                                 {"index": 1, "text": "b", "message": {"content": "b"}, "finish_reason": "stop"}]});
    match fault {
        Fault::Error => error(500, "as the script says", "scripted"),
        Fault::Cut => Answer { cut: Some(20), ..Answer::new(200, two.to_string()) },
        Fault::Endless => Answer { endless: true, ..Answer::new(200, " ") },
        Fault::WrongCount => Answer::new(200, two.to_string()),
        Fault::NotJson => Answer::new(200, "<html>a proxy's page</html>"),
    }
}

/// The text that is asked for: a prompt, or the last message.
fn prompt_of(body: &Value) -> String {
    let last = body["messages"].as_array().and_then(|messages| messages.last()).map(|message| &message["content"]);
    last.unwrap_or(&body["prompt"]).as_str().unwrap_or_default().to_owned()
}

/// `the answer is` and the last word; prompts that name a class of failure get that.
fn said(body: &Value, prompt: &str, script: &Script) -> Answer {
    if prompt.contains("(too long)") {
        return error(400, "This model's maximum context length is 16 tokens.", "context_length_exceeded");
    }
    let last = prompt.split_whitespace().next_back().unwrap_or_default();
    let (text, finish) = match prompt {
        prompt if prompt.contains("(filtered)") => (String::new(), "content_filter"),
        prompt if prompt.contains("(empty)") => (String::new(), "length"),
        _ => (format!("the answer is {last}"), "stop"),
    };
    let stops: Vec<&str> = body["stop"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let cut = |text: &str| {
        stops.iter().fold(text.to_owned(), |text, stop| text.split(stop).next().unwrap_or_default().into())
    };
    if script.thinking.is_some() && body.get("messages").is_none() {
        return continued(body, prompt, &stops, script);
    }
    let (mut finish, mut generated) = (finish, 5);
    let message = match script.thinking {
        Some(Thinking::Long(budget)) => {
            let bound = body["thinking_token_budget"].as_u64().filter(|_| budget == Budget::Held);
            let length = bound.unwrap_or_else(|| body["max_tokens"].as_u64().unwrap_or(16));
            let said = vec!["so"; usize::try_from(length).unwrap_or(0)].join(" ");
            generated = length + if bound.is_some() { 4 } else { 0 };
            finish = if bound.is_some() { finish } else { "length" };
            json!({"content": bound.map(|_| cut(&text)), "reasoning": said})
        }
        None => json!({"content": text}),
        Some(Thinking::Marked | Thinking::Blank) => {
            json!({"content": cut(&format!("<think>{THOUGHT}</think>\n\n{text}"))})
        }
        Some(Thinking::Field(name)) => match cut(THOUGHT) == THOUGHT {
            true => json!({"content": cut(&text), name: THOUGHT}),
            false => json!({"content": null, name: cut(THOUGHT)}),
        },
        Some(Thinking::Alone(name)) => json!({"content": null, name: THOUGHT}),
    };
    let choice = match body.get("messages") {
        Some(_) if script.stream.is_some() => json!({"index": 0, "delta": message, "finish_reason": finish}),
        Some(_) => json!({"index": 0, "message": message, "finish_reason": finish}),
        None => json!({"index": 0, "text": text, "finish_reason": finish}),
    };
    let read = if script.context.is_some() { words(prompt) } else { 10 };
    let answer = whole(body, &choice, (read, generated), script);
    match &script.stream {
        Some(form) => {
            let lines = format!("{answer:#}").replace('\n', "\ndata: ");
            Answer::new(200, form.replace("JSON", &answer.to_string()).replace("LINES", &lines))
        }
        None => Answer::new(200, answer.to_string()),
    }
}

fn whole(body: &Value, choice: &Value, (read, generated): (u64, u64), script: &Script) -> Value {
    let usage = json!({"prompt_tokens": read, "completion_tokens": generated, "total_tokens": read + generated});
    json!({
        "id": "x", "object": "answer", "created": 0, "model": body["model"], "system_fingerprint": script.fingerprint,
        "choices": [choice], "usage": usage
    })
}

/// Continues the text behind the last `A:` of a prompt as a model does that thinks between marks. Behind another text than its own it
/// thinks on, or answers where the thinking is closed.
fn continued(body: &Value, prompt: &str, stops: &[&str], script: &Script) -> Answer {
    let (question, begun) = prompt.rsplit_once("A:").unwrap_or((prompt, ""));
    let last = question.split_whitespace().next_back().unwrap_or_default();
    let answer = format!("\n\nthe answer is {last}");
    let whole_text = match script.thinking {
        Some(Thinking::Alone(_)) => format!("<think>{THOUGHT}"),
        Some(Thinking::Blank) => format!("<think>{THOUGHT}</think>{}", "\n".repeat(BLANK)),
        _ => format!("<think>{THOUGHT}</think>{answer}"),
    };
    let rest = match (whole_text.strip_prefix(begun), begun.rsplit_once("</think>")) {
        (Some(rest), _) => rest.to_owned(),
        // The lines behind a mark are the prompt's already.
        (None, Some((_, behind))) => answer[behind.len().min(2)..].to_owned(),
        (None, None) => format!(" more</think>{answer}"),
    };
    let most = usize::try_from(body["max_tokens"].as_u64().unwrap_or(16)).unwrap_or(0);
    let mut tokens = tokens(&rest);
    let is_cut = tokens.len() > most;
    tokens.truncate(most);
    let mut text = tokens.concat();
    let stopped = stops.iter().filter_map(|stop| Some((text.find(stop)?, *stop))).min();
    // As with vLLM, the tokens of a stop string count, and the end token.
    let mut generated = tokens.len() as u64 + u64::from(!is_cut);
    if let Some((at, stop)) = stopped {
        generated = self::tokens(&text[..at + stop.len()]).len() as u64;
        text.truncate(at);
    }
    let finish = if is_cut && stopped.is_none() { "length" } else { "stop" };
    let reason = stopped.map(|(_, stop)| stop);
    let choice = json!({"index": 0, "text": text, "finish_reason": finish, "stop_reason": reason});
    Answer::new(200, whole(body, &choice, (words(prompt), generated), script).to_string())
}

/// Marks and words, with the white space before them.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let begin = rest.len() - rest.trim_start().len();
        let end = match rest[begin..].strip_prefix('<') {
            Some(mark) => mark.find('>').map(|at| begin + at + 2),
            None => rest[begin..].find(|c: char| c.is_whitespace() || c == '<').map(|at| begin + at),
        };
        let (token, behind) = rest.split_at(end.unwrap_or(rest.len()).max(1));
        tokens.push(token);
        rest = behind;
    }
    tokens
}

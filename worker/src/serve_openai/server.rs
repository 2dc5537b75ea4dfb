//! The server: HTTP on one side, the thread that computes on the other.

use super::arguments::ServeOptions;
use super::compute::{Computer, Question, ToContinue};
use super::listener::{self, Limits};
use super::protocol::{self, Form, Wish};
use axum::body::{Body, to_bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use compass_common::private_file::{self, PrivateFileError};
use compass_plan::engine::Caller;
use compass_types::secret::Secret;
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Bytes of a request.
const MOST_BYTES: usize = 8 << 20;
/// Longest time that the body of a request may take.
const BODY: Duration = Duration::from_secs(60);

struct Served {
    options: ServeOptions,
    fingerprint: String,
    /// The longest input in tokens.
    longest: u32,
    key: Option<Secret>,
    questions: Sender<Question>,
}

/// Serves a model until a signal ends the process.
pub fn run(options: ServeOptions) -> ExitCode {
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, why)) => {
            let _ = writeln!(io::stderr(), "compass-worker: {why}");
            ExitCode::from(code)
        }
    }
}

fn serve(options: ServeOptions) -> Result<(), (u8, String)> {
    let key = match &options.key_file {
        None if !options.listen.ip().is_loopback() => {
            let address = options.listen;
            return Err((2, format!("{address} is open to other hosts; name a --key-file, or a loopback address")));
        }
        None => None,
        Some(path) => {
            let text = private_file::read_text(path).map_err(|error| match error {
                PrivateFileError::Read { source, .. } => (2, format!("cannot read {}: {source}", path.display())),
                PrivateFileError::Exposed { .. } => (2, error.to_string()),
            })?;
            let line = text.lines().next().unwrap_or_default().trim().to_owned();
            if line.is_empty() {
                return Err((2, format!("the first line of {} is empty", path.display())));
            }
            Some(Secret::new(line))
        }
    };
    let (questions, asked) = channel();
    let (loaded, ready) = channel();
    let of_thread = options.clone();
    // An engine stays on the thread that loaded it.
    let computing =
        std::thread::Builder::new().name("compute".into()).spawn(move || match Computer::load(&of_thread) {
            Ok(computer) => {
                let _ = loaded.send(Ok((computer.fingerprint(), computer.longest())));
                computer.serve(&asked);
            }
            Err(fault) => drop(loaded.send(Err(fault.to_string()))),
        });
    computing.map_err(|error| (3, format!("cannot start a thread: {error}")))?;
    let model = ready.recv().unwrap_or_else(|_| Err("the thread that computes ended".into()));
    let (fingerprint, longest) = model.map_err(|why| (3, why))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| (3, format!("cannot start a runtime: {error}")))?;
    runtime.block_on(listen(Served { options, fingerprint, longest, key, questions }))
}

async fn listen(served: Served) -> Result<(), (u8, String)> {
    let address = served.options.listen;
    let unusable = |error: io::Error| (3, format!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let bound = listener.local_addr().map_err(unusable)?;
    let served = Arc::new(served);
    let guarded = Router::new()
        .route("/v1/models", get(models))
        .route("/v1/completions", post(completions))
        .route("/v1/chat/completions", post(chat))
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(with_body))
        .layer(from_fn_with_state(served.clone(), with_key))
        .with_state(served);
    let router = guarded.route("/health", get(|| async { "ok\n" }));
    let _ = writeln!(io::stderr(), "serving at http://{bound}/v1");
    let stop = CancellationToken::new();
    let serving = listener::serve(listener, router, Limits::default(), stop.clone());
    let ended = async {
        tokio::select! { () = signal(true) => {}, () = signal(false) => {} }
        stop.cancel();
    };
    tokio::join!(serving, ended);
    Ok(())
}

/// Waits for SIGINT, or SIGTERM.
async fn signal(is_interrupt: bool) {
    use tokio::signal::unix::{SignalKind, signal};
    let kind = if is_interrupt { SignalKind::interrupt() } else { SignalKind::terminate() };
    match signal(kind) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(_) => std::future::pending().await,
    }
}

async fn with_key(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let expected = served.key.as_ref().map(|key| format!("Bearer {}", key.expose()));
    // Digests are compared, so that timing reveals nothing about the key.
    let fits = expected
        .is_none_or(|expected| given.is_some_and(|given| blake3::hash(given) == blake3::hash(expected.as_bytes())));
    if fits {
        return next.run(request).await;
    }
    failed(StatusCode::UNAUTHORIZED, "the key is missing or wrong", "invalid_api_key")
}

/// Reads the body of a request, within its time and length.
async fn with_body(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY, to_bytes(body, MOST_BYTES)).await {
        Ok(Ok(bytes)) => next.run(Request::from_parts(head, Body::from(bytes))).await,
        Ok(Err(_)) => {
            let message = format!("a request has up to {MOST_BYTES} bytes");
            failed(StatusCode::PAYLOAD_TOO_LARGE, &message, "invalid_request_error")
        }
        Err(_) => failed(StatusCode::REQUEST_TIMEOUT, "the body of the request took too long", "invalid_request_error"),
    }
}

fn failed(status: StatusCode, message: &str, code: &str) -> Response {
    (status, Json(protocol::error(message, code))).into_response()
}

fn unusable(message: &str) -> Response {
    let code =
        if message.contains("maximum context length") { "context_length_exceeded" } else { "invalid_request_error" };
    failed(StatusCode::BAD_REQUEST, message, code)
}

async fn models(State(served): State<Arc<Served>>) -> Json<Value> {
    Json(json!({"object": "list", "data": [{"id": served.options.name, "object": "model", "owned_by": "compass"}]}))
}

async fn completions(State(served): State<Arc<Served>>, Json(request): Json<Value>) -> Response {
    if served.options.chat {
        return failed(StatusCode::NOT_FOUND, "this server takes messages alone", "not_found");
    }
    if let Some(refusal) = other_model(&served, &request) {
        return refusal;
    }
    if protocol::wants_scores(&request) {
        let text = match protocol::prompt(&request, served.longest) {
            Ok(text) => text,
            Err(why) => return unusable(&why),
        };
        let (reply, answer) = oneshot::channel();
        let _ = served.questions.send(Question::Score { text: text.clone(), reply });
        return match answer.await {
            Ok(Ok(tokens)) => {
                Json(protocol::scores(&served.options.name, &served.fingerprint, &text, &tokens)).into_response()
            }
            Ok(Err(why)) => unusable(&why),
            Err(_) => gone(),
        };
    }
    answered(&served, protocol::text_question(&request, served.longest), false).await
}

async fn chat(State(served): State<Arc<Served>>, Json(request): Json<Value>) -> Response {
    match other_model(&served, &request) {
        Some(refusal) => refusal,
        None => answered(&served, protocol::chat_question(&request, served.longest), true).await,
    }
}

fn other_model(served: &Served, request: &Value) -> Option<Response> {
    let asked = request.get("model").and_then(Value::as_str).unwrap_or_default();
    let message = format!("there is no model `{asked}` here, only `{}`", served.options.name);
    (asked != served.options.name).then(|| failed(StatusCode::NOT_FOUND, &message, "model_not_found"))
}

/// A client that waits for its answer: when its connection ends, this is dropped.
struct Waiting(Arc<Caller>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.leave();
    }
}

async fn answered(served: &Served, wish: Result<Wish, String>, is_chat: bool) -> Response {
    let Wish { body, infer, seed, variables, is_whole } = match wish {
        Ok(wish) => wish,
        Err(why) => return unusable(&why),
    };
    let (reply, answer) = oneshot::channel();
    let mut caller = Caller::new(seed, variables);
    caller.is_whole = is_whole;
    let waiting = Waiting(Arc::new(caller));
    let stops = infer.generation().map(|spec| spec.stop.clone()).unwrap_or_default();
    let _ = served.questions.send(Question::Continue(ToContinue { body, infer, caller: waiting.0.clone(), reply }));
    match answer.await {
        Ok(Ok(answers)) => {
            let form = Form { is_chat, stops: &stops };
            Json(protocol::answer(&served.options.name, &served.fingerprint, form, answers)).into_response()
        }
        Ok(Err(why)) => unusable(&why),
        Err(_) => gone(),
    }
}

fn gone() -> Response {
    failed(StatusCode::INTERNAL_SERVER_ERROR, "the thread that computes has ended", "internal_error")
}

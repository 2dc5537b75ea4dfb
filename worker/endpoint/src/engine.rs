//! The engine: keeps as many samples in flight as the endpoint's budget allows at once.

use super::answer::{Stopped, Usage, reported, stopped_by};
use super::asker::{Asker, Unanswered};
use super::body::{bounded_greeting, greeting, greeting_with_system};
use super::probe::probe;
use super::work::Work;
use compass_chat::{ChatFormat, special_tokens};
use compass_common::backoff;
use compass_plan::engine::{Added, BatchSpec, Engine, EngineFault, ModelFacts, Request, TokenCounters, note_progress};
use compass_plan::{ENDPOINT_REFUSED, EndpointApi, ModelPlan, RefusedSystem};
use compass_types::result::SampleResult;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Time for which a first answer is awaited before the worker reports that it cannot reach the endpoint.
const RETRY_FOR: Duration = Duration::from_secs(90);
const PAUSES: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(10));
/// Interval at which added samples are looked for.
const LOOK: Duration = Duration::from_millis(10);
/// Failures at a system message, each with an answer without one after it, by which a server is known to refuse it.
const FAILURES_AT_SYSTEM: u32 = 3;
/// Characters of a token, as a first guess.
const CHARACTERS_PER_TOKEN: f64 = 4.0;

/// Remedy where a server does not end a thinking.
const BUDGET_HELP: &str = "start vLLM with --reasoning-parser and --reasoning-config, write `api = \"completions\"` with `tokenizer_path`, by \
                           which the thinking is ended here, or leave `budget` out and write `max_out_len`, which thinking and answer share";

/// Reason to refuse a server that takes a budget and does not hold it.
const THINKS_ON: &str = "the server takes `thinking_token_budget`, and its model thinks beyond it: a question with a budget of 16 tokens has no \
                         answer";

struct EndpointEngine {
    plan: ModelPlan,
    asker: Asker,
    runtime: Runtime,
    facts: ModelFacts,
}

/// Asks the endpoint of a model for a first answer; `waits` is called with the reason while there is no answer.
///
/// # Errors
/// [`EngineFault::Refused`] where it refuses every request, [`EngineFault::Missing`] where this worker has no key or cannot
/// reach it.
pub fn load(plan: &ModelPlan, waits: &dyn Fn(String)) -> Result<Box<dyn Engine>, EngineFault> {
    let endpoint = plan.endpoint.as_ref();
    let endpoint = endpoint.ok_or_else(|| EngineFault::Model(format!("model `{}` has no endpoint", plan.abbr)))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| EngineFault::Device(format!("cannot start a runtime: {error}")))?;
    let mut endpoint = endpoint.clone();
    if endpoint.model.is_empty() {
        let asker = Asker::new(&endpoint)?;
        endpoint.model = runtime.block_on(first_answer(waits, || asker.first_model()))?;
    }
    let endpoint = &endpoint;
    let mut asker = Asker::new(endpoint)?;
    let mut notes = Vec::new();
    let mut template = None;
    if plan.chat && endpoint.api == EndpointApi::Completions {
        let folder = Path::new(&plan.tokenizer_path);
        let format = ChatFormat::read(plan, special_tokens(folder), &mut notes);
        let format = format.map_err(|fault| fault.of_model(folder))?;
        template = Some(format.source().to_owned());
        asker.render_by(format);
    }
    let hello = greeting(&endpoint.model, endpoint.api);
    let greeted = runtime.block_on(first_answer(waits, || asker.greet(&hello)))?;
    if endpoint.scores {
        runtime.block_on(probe(&asker))?;
    }
    if plan.thinking.budget.is_some() && endpoint.api == EndpointApi::Chat {
        let bounded = bounded_greeting(plan, &endpoint.model);
        match runtime.block_on(first_answer(waits, || asker.greet(&bounded))) {
            Ok(answer) if thinks_on(&answer) => {
                return Err(EngineFault::Refused(format!("{ENDPOINT_REFUSED}: {THINKS_ON}; help: {BUDGET_HELP}")));
            }
            Ok(_) => {}
            Err(EngineFault::Refused(why)) => return Err(EngineFault::Refused(format!("{why}; help: {BUDGET_HELP}"))),
            Err(fault) => return Err(fault),
        }
    }
    if plan.system == RefusedSystem::User && endpoint.api == EndpointApi::Chat {
        let with_system = greeting_with_system(&endpoint.model);
        if runtime.block_on(refuses_system(&asker, &with_system, &hello, waits))? {
            asker.move_system();
        }
    }
    let facts = ModelFacts {
        max_seq_len: plan.max_seq_len.unwrap_or(u32::MAX),
        characters_per_token: CHARACTERS_PER_TOKEN,
        bos_token: None,
        eos_token: None,
        device: "endpoint".into(),
        sequences: endpoint.budget.share().max_concurrency,
        notes,
        remarks: Vec::new(),
        pin: Some(endpoint.pin(&reported(&greeted), template.as_deref())),
    };
    Ok(Box::new(EndpointEngine { plan: plan.clone(), asker, runtime, facts }))
}

/// Returns whether an answer to [`bounded_greeting`] shows that the server does not end a thinking at its budget: the tokens ran out
/// before there was an answer.
fn thinks_on(answer: &Value) -> bool {
    let content = answer.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap_or_default();
    stopped_by(answer) == Stopped::AtLength && content.trim().is_empty()
}

/// Returns true if the endpoint, which answers `plain`, does not take `with_system`: it refuses it, or fails at it again and again while it
/// answers the other, as servers do whose template raises an exception.
async fn refuses_system(
    asker: &Asker,
    with_system: &Value,
    plain: &Value,
    waits: &dyn Fn(String),
) -> Result<bool, EngineFault> {
    for _ in 0..FAILURES_AT_SYSTEM {
        match asker.greet(with_system).await {
            Ok(_) => return Ok(false),
            Err((Unanswered::Outage(_), true)) => {}
            Err((Unanswered::Refused(_) | Unanswered::Sample(_), _)) => return Ok(true),
            Err((outage, _)) => return Err(outage.into()),
        }
        first_answer(waits, || asker.greet(plain)).await?;
    }
    Ok(true)
}

/// Asks until there is an answer, for as long as one may come.
async fn first_answer<T, F: Future<Output = Result<T, (Unanswered, bool)>>>(
    waits: &dyn Fn(String),
    ask: impl Fn() -> F,
) -> Result<T, EngineFault> {
    let (began, mut pauses) = (Instant::now(), backoff::policy(PAUSES.0, PAUSES.1));
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err((Unanswered::Outage(why), true)) if began.elapsed() < RETRY_FOR => {
                waits(why);
                tokio::time::sleep(pauses.next().unwrap_or(PAUSES.1)).await;
            }
            Err((Unanswered::Outage(why), _)) => {
                let help = "check `url`, and that this host reaches it";
                let tried = began.elapsed().as_secs();
                return Err(EngineFault::Missing(format!(
                    "the endpoint does not answer (tried for {tried} s): {why}; help: {help}"
                )));
            }
            Err((refused, _)) => return Err(refused.into()),
        }
    }
}

impl Engine for EndpointEngine {
    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn run(
        &mut self,
        batch: &BatchSpec,
        requests: &[Request<'_>],
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        self.run_open(batch, requests, &mut |_| {}, emit)
    }

    fn run_open(
        &mut self,
        batch: &BatchSpec,
        requests: &[Request<'_>],
        added: &mut Added<'_>,
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        let (asker, plan) = (&self.asker, &self.plan);
        let mut waiting: VecDeque<Work> =
            requests.iter().map(|request| Work::of(request, batch, plan, asker.format())).collect();
        let ran = self.runtime.block_on(async {
            let mut flying = FuturesUnordered::new();
            let mut look = tokio::time::interval(LOOK);
            look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                if waiting.len() < asker.most_at_once() {
                    added(&mut |request| waiting.push_back(Work::of(request, batch, plan, asker.format())));
                }
                while flying.len() < asker.most_at_once()
                    && let Some(work) = waiting.pop_front()
                {
                    flying.push(Box::pin(work.run(asker)));
                }
                if flying.is_empty() {
                    return Ok(());
                }
                tokio::select! {
                    Some(result) = flying.next() => emit(result?),
                    // Every request has its own timeout: while one is in flight, nothing hangs.
                    _ = look.tick() => note_progress(),
                }
            }
        });
        let Usage { prompt, generated } = asker.take_used();
        ran.map(|()| TokenCounters { submitted: prompt, distinct: prompt, computed: prompt, padded: 0, generated })
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.asker.take_notes()
    }
}

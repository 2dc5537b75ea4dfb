//! The echo engine: its answers are hashes of the prompts. No model, no libtorch; for tests of everything else.
//!
//! Environment variables inject faults: `COMPASS_ECHO_DELAY_MS` sleeps before every sample, and `COMPASS_ECHO_DIE_ON`
//! aborts the process at a prompt that contains the given text. `COMPASS_ECHO_TRACE` names a file to which every sample
//! run appends a line, the digest of its prompts: samples that run twice can be found. `COMPASS_ECHO_HANG_ON` stops
//! computing at a prompt that contains the given text. `COMPASS_ECHO_MISSING` names a model path that counts as missing
//! on this host. `COMPASS_ECHO_LOST` names a file: while it exists, the engine's device is gone. `COMPASS_ECHO_HOLD` names
//! a file: while it exists, every sample waits. A sample with a prompt that contains the text of `COMPASS_ECHO_NO_ROOM` has
//! no room in memory.

use compass_plan::engine::{BatchSpec, Engine, EngineFault, ModelFacts, Request, TokenCounters};
use compass_plan::prompt::{Message, Prompt, RenderedPrompt};
use compass_plan::{Body, ChatMode, InferSpec, ModelPlan};
use compass_types::result::{
    Finish, Generation, LoglikelihoodScore, Outcome, PplScore, PromptFit, RollingScore, SampleResult,
};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum input length in tokens when the plan does not set one.
const DEFAULT_MAX_SEQ_LEN: u32 = 2048;
const CHARACTERS_PER_TOKEN: u32 = 4;
/// Role of the turns to generate.
const ASSISTANT: &str = "assistant";
/// How often a sample that waits looks whether the file is still there.
const HOLD_INTERVAL: Duration = Duration::from_millis(20);

/// Engine whose answers are hashes of the prompts.
#[derive(Debug)]
pub struct EchoEngine {
    facts: ModelFacts,
    delay: Duration,
    die_on: Option<String>,
    hang_on: Option<String>,
    no_room_on: Option<String>,
    lost: Option<PathBuf>,
    hold: Option<PathBuf>,
    trace: Option<File>,
}

impl EchoEngine {
    /// Path of the model that counts as missing on this host, from the environment.
    pub fn missing() -> Option<String> {
        std::env::var("COMPASS_ECHO_MISSING").ok().filter(|path| !path.is_empty())
    }

    /// File that stands for a device that is gone, from the environment.
    fn lost() -> Option<PathBuf> {
        std::env::var_os("COMPASS_ECHO_LOST").map(PathBuf::from)
    }

    /// Why the engine's device cannot be used, if it is gone.
    pub fn device_fault() -> Option<String> {
        Self::lost().filter(|path| path.exists()).map(|_| "the echo engine's device is gone".into())
    }

    /// Creates an engine for `plan` with the faults that the environment asks for.
    pub fn from_env(plan: &ModelPlan) -> Self {
        let delay = std::env::var("COMPASS_ECHO_DELAY_MS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let facts = ModelFacts {
            max_seq_len: plan.max_seq_len.unwrap_or(DEFAULT_MAX_SEQ_LEN),
            characters_per_token: f64::from(CHARACTERS_PER_TOKEN),
            bos_token: None,
            eos_token: None,
            device: "echo".into(),
            sequences: 0,
            notes: Vec::new(),
            pin: None,
        };
        let given = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let (die_on, hang_on) = (given("COMPASS_ECHO_DIE_ON"), given("COMPASS_ECHO_HANG_ON"));
        let no_room_on = given("COMPASS_ECHO_NO_ROOM");
        let hold = std::env::var_os("COMPASS_ECHO_HOLD").map(PathBuf::from);
        let trace = std::env::var_os("COMPASS_ECHO_TRACE");
        let trace = trace.and_then(|path| File::options().create(true).append(true).open(path).ok());
        Self {
            facts,
            delay: Duration::from_millis(delay),
            die_on,
            hang_on,
            no_room_on,
            lost: Self::lost(),
            hold,
            trace,
        }
    }

    fn answer(&self, spec: &BatchSpec, request: &Request<'_>, tokens: &mut TokenCounters) -> SampleResult {
        let (mut longest, mut has_room) = (0, true);
        let mut prompts = blake3::Hasher::new();
        let mut read = |text: String| {
            if self.die_on.as_ref().is_some_and(|poison| text.contains(poison)) {
                eprintln!("echo engine: told to die at this prompt");
                std::process::abort();
            }
            while self.hang_on.as_ref().is_some_and(|poison| text.contains(poison)) {
                std::thread::park();
            }
            has_room &= self.no_room_on.as_ref().is_none_or(|large| !text.contains(large));
            longest = longest.max(token_count(&text));
            prompts.update(text.as_bytes());
            tokens.submitted += u64::from(token_count(&text));
            tokens.distinct += u64::from(token_count(&text));
            tokens.computed += u64::from(token_count(&text));
            text
        };
        let render = |prompt: &Prompt| match request.render(prompt, request.shots.len(), spec) {
            RenderedPrompt::Text(text) => text,
            RenderedPrompt::Messages(messages) => chat(&messages),
        };
        let outcome = match &request.sample.body {
            Body::Ppl { options } => {
                let texts = options.iter().map(|option| read(render(&option.prompt)));
                Outcome::Ppl(
                    texts
                        .map(|text| PplScore { nll_sum: nll(&text), tokens: token_count(&text), normalizer: None })
                        .collect(),
                )
            }
            Body::Loglikelihood { context, options } => {
                let scores = options.iter().map(|option| {
                    let context = render(option.context.as_ref().unwrap_or(context));
                    let text = read(format!("{context}{}", option.continuation));
                    let is_greedy = blake3::hash(text.as_bytes()).as_bytes()[4] & 1 == 1;
                    LoglikelihoodScore { sum: -nll(&text), tokens: token_count(&option.continuation), is_greedy }
                });
                Outcome::Loglikelihood(scores.collect())
            }
            Body::Gen { prompt } if spec.infer == InferSpec::PplOnly => {
                let text = read(render(prompt));
                Outcome::Ppl(vec![PplScore { nll_sum: nll(&text), tokens: token_count(&text), normalizer: None }])
            }
            Body::Gen { prompt } => {
                let sequences = spec.infer.generation().map_or(1, |spec| spec.decoding.sequences());
                let prompt = read(render(prompt));
                let answers = (0..sequences).map(|at| generation(&prompt, at)).collect();
                Outcome::Generated(answers)
            }
            Body::Clp { prompt, choices } => {
                let prompt = read(render(prompt));
                Outcome::Clp(choices.iter().map(|choice| -nll(&format!("{prompt}{choice}"))).collect())
            }
            Body::Rolling { text, .. } => {
                let text = read(render(text));
                Outcome::Rolling(RollingScore { sum: -nll(&text), tokens: token_count(&text) })
            }
            Body::Execute { .. } => Outcome::Failed { reason: "an engine cannot run programs".into() },
            Body::Chat { turns } => {
                let asked = |at: &usize| turns.get(*at).is_some_and(|turn| turn.role == ASSISTANT);
                let mut asked: Vec<usize> = (0..turns.len()).filter(asked).collect();
                if matches!(spec.infer, InferSpec::Chat { infer_mode: ChatMode::Last, .. }) {
                    asked.drain(..asked.len().saturating_sub(1));
                }
                let before = |at: usize| turns.iter().take(at).map(|turn| turn.content.as_str()).collect::<String>();
                Outcome::Generated(asked.into_iter().map(|at| generation(&read(before(at)), 0)).collect())
            }
        };
        if !has_room {
            let outcome = Outcome::NoRoom { reason: format!("not enough memory for {longest} tokens") };
            return SampleResult { index: request.sample.index, fit: PromptFit::default(), outcome };
        }
        if let Outcome::Generated(answers) = &outcome {
            tokens.generated += answers.iter().map(|answer| u64::from(answer.tokens)).sum::<u64>();
        }
        if let Some(mut trace) = self.trace.as_ref() {
            // A single write, so that lines of several engines do not mix. Errors are ignored: a short trace shows
            // them.
            let _ = trace.write_all(format!("{}\n", prompts.finalize().to_hex()).as_bytes());
        }
        let fit = PromptFit { shots_kept: request.shots.len() as u32, tokens: longest, truncated_from: 0 };
        SampleResult { index: request.sample.index, fit, outcome }
    }
}

impl Engine for EchoEngine {
    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn run(
        &mut self,
        spec: &BatchSpec,
        requests: &[Request<'_>],
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        let mut tokens = TokenCounters::default();
        for request in requests {
            std::thread::sleep(self.delay);
            while self.hold.as_ref().is_some_and(|path| path.exists()) {
                std::thread::sleep(HOLD_INTERVAL);
            }
            if self.lost.as_ref().is_some_and(|path| path.exists()) {
                return Err(EngineFault::Lost("libtorch failed: CUDA error: unknown error".into()));
            }
            emit(self.answer(spec, request, &mut tokens));
        }
        Ok(tokens)
    }
}

/// Formats a chat as text: for each message a line with its role and one with its content.
fn chat(messages: &[Message]) -> String {
    messages.iter().map(|message| format!("{}\n{}\n", message.role, message.content)).collect()
}

fn token_count(text: &str) -> u32 {
    text.chars().count() as u32 / CHARACTERS_PER_TOKEN + 1
}

/// Returns a value in [0, 256): the first four bytes of the digest over 2^24.
fn nll(text: &str) -> f64 {
    let digest = blake3::hash(text.as_bytes());
    let [a, b, c, d, ..] = *digest.as_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) / f64::from(1 << 24)
}

/// Returns answer number `at` to a prompt: a hash and the prompt's last word.
fn generation(prompt: &str, at: u32) -> Generation {
    let digest = match at {
        0 => blake3::hash(prompt.as_bytes()),
        at => blake3::hash(format!("{prompt}{at}").as_bytes()),
    };
    let last = prompt.split_whitespace().next_back().unwrap_or_default();
    let text = format!("{} {last}", &digest.to_hex().as_str()[..8]);
    Generation { tokens: token_count(&text), text, finish: Finish::Eos }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::prompt::{Segment, Shot, ShotFormat};
    use compass_plan::{GenSpec, Sample};

    #[test]
    fn answers_depend_only_on_the_rendered_prompt() {
        let facts = ModelFacts {
            max_seq_len: 2048,
            characters_per_token: 4.0,
            bos_token: None,
            eos_token: None,
            device: "echo".into(),
            sequences: 0,
            notes: Vec::new(),
            pin: None,
        };
        let mut engine = EchoEngine {
            facts,
            delay: Duration::ZERO,
            die_on: None,
            hang_on: None,
            no_room_on: None,
            lost: None,
            hold: None,
            trace: None,
        };
        let infer = InferSpec::Gen(GenSpec::default());
        let spec = BatchSpec {
            infer,
            shot_format: ShotFormat { separator: "|".into(), end: "\n".into() },
            meta_template: None,
        };
        let prompt = Prompt(vec![Segment::Shots, Segment::Question("what is seven".into())]);
        let sample = Sample { index: 3, gold: 7.into(), shots: vec![0, 1], body: Body::Gen { prompt } };
        let shots = ["a", "b"].map(Shot::from);
        let request = Request { sample: &sample, shots: shots.iter().collect() };
        let mut results = Vec::new();
        let tokens = engine.run(&spec, &[request.clone(), request], &mut |result| results.push(result)).unwrap();
        let digest = blake3::hash(b"a|b\nwhat is seven").to_hex();
        let Outcome::Generated(answers) = &results[0].outcome else { panic!("not a generation") };
        assert_eq!(answers[0].text, format!("{} seven", &digest.as_str()[..8]));
        assert_eq!(results[0], results[1]);
        assert_eq!((results[0].index, results[0].fit.shots_kept, results[0].fit.tokens), (3, 2, 5));
        assert_eq!((tokens.submitted, tokens.computed, tokens.padded), (10, 10, 0));
    }
}

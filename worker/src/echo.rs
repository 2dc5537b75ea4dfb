//! The echo engine: its answers are hashes of the prompts. No model and no libtorch: it tries out everything around an engine.

use compass_plan::engine::{BatchSpec, Engine, EngineFault, ModelFacts, Request, TokenCounters};
use compass_plan::prompt::{Message, Prompt, RenderedPrompt};
use compass_plan::{Body, ChatMode, InferSpec, ModelPlan};
use compass_types::result::{
    Finish, Generation, LoglikelihoodScore, Outcome, PplScore, PromptFit, RollingScore, SampleResult,
};

/// Maximum input length in tokens when the plan does not set one.
const DEFAULT_MAX_SEQ_LEN: u32 = 2048;
const CHARACTERS_PER_TOKEN: u32 = 4;
/// Role of the turns to generate.
const ASSISTANT: &str = "assistant";

/// Engine whose answers are hashes of the prompts.
#[derive(Debug)]
pub struct EchoEngine {
    facts: ModelFacts,
}

impl EchoEngine {
    /// Creates an engine for `plan`.
    pub fn new(plan: &ModelPlan) -> Self {
        let facts = ModelFacts {
            max_seq_len: plan.max_seq_len.unwrap_or(DEFAULT_MAX_SEQ_LEN),
            characters_per_token: f64::from(CHARACTERS_PER_TOKEN),
            bos_token: None,
            eos_token: None,
            device: "echo".into(),
            sequences: 0,
            notes: Vec::new(),
            remarks: Vec::new(),
            pin: None,
        };
        Self { facts }
    }

    fn answer(spec: &BatchSpec, request: &Request<'_>, tokens: &mut TokenCounters) -> SampleResult {
        let mut longest = 0;
        let mut read = |text: String| {
            longest = longest.max(token_count(&text));
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
                let answers = (request.drawn..sequences).map(|at| generation(&prompt, at)).collect();
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
            Body::Windows { slice, slices, characters } => {
                let text = read(format!("{slice} of {slices}: {characters}"));
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
        if let Outcome::Generated(answers) = &outcome {
            tokens.generated += answers.iter().map(|answer| u64::from(answer.tokens)).sum::<u64>();
        }
        let fit = PromptFit { shots_kept: request.shots.len() as u32, tokens: longest, ..PromptFit::default() };
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
            emit(Self::answer(spec, request, &mut tokens));
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
    let tokens = token_count(&text);
    Generation::new(text, tokens, Finish::Eos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::prompt::{Segment, Shot, ShotFormat};
    use compass_plan::{GenSpec, ModelKind, Sample};

    #[test]
    fn answers_depend_only_on_the_rendered_prompt() {
        let mut engine = EchoEngine::new(&ModelPlan::new("echo", ModelKind::Echo, ""));
        let infer = InferSpec::Gen(GenSpec::default());
        let spec = BatchSpec {
            infer,
            shot_format: ShotFormat { separator: "|".into(), end: "\n".into() },
            meta_template: None,
            takes_programs: false,
        };
        let prompt = Prompt(vec![Segment::Shots, Segment::Question("what is seven".into())]);
        let sample = Sample { index: 3, gold: 7.into(), shots: vec![0, 1], body: Body::Gen { prompt } };
        let shots = ["a", "b"].map(Shot::from);
        let request = Request::new(&sample, shots.iter().collect());
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

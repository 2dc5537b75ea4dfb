//! A sample as requests: the requests for it, and the result that the answers make.

use super::answer::{Generated, Usage, estimated, generation};
use super::asker::{Asker, Unanswered};
use super::body::{Wish, messages_text};
use super::bounded::bounded;
use super::score::Scoring;
use super::sent::{Read, SentPrompt};
use compass_chat::{ChatError, ChatFormat};
use compass_plan::engine::{BatchSpec, EngineFault, Request};
use compass_plan::prompt::{Message, RenderedPrompt, kept_prompt, prompt_sha};
use compass_plan::{Body, ChatMode, ChatTurn, InferSpec, ModelPlan};
use compass_types::result::{Generation, Outcome, PromptFit, SampleResult, ThinkingEnd, Thought};
use std::ops::Range;

const ASSISTANT: &str = "assistant";

/// A sample whose requests have not been sent.
#[derive(Debug)]
pub(crate) struct Work {
    index: u32,
    shots: u32,
    ask: Ask,
}

#[derive(Debug)]
enum Ask {
    /// Answers to a prompt.
    Generate { prompt: RenderedPrompt, is_begun: bool, sequences: Range<u32>, wish: Wish },
    /// Answers in a conversation.
    Converse { turns: Vec<ChatTurn>, mode: ChatMode, wish: Wish },
    /// The log-probabilities of texts.
    Score(Scoring),
    /// It cannot be asked, for this reason.
    Nothing(String),
}

impl Work {
    /// `format` renders the prompts of the model; `None` where the server does.
    pub(crate) fn of(request: &Request<'_>, batch: &BatchSpec, model: &ModelPlan, format: Option<&ChatFormat>) -> Self {
        let scoring = |scoring: Result<Scoring, ChatError>| match scoring {
            Ok(scoring) => Ask::Score(scoring),
            Err(error) => Ask::Nothing(error.to_string()),
        };
        let ask = match (&request.sample.body, &batch.infer) {
            (Body::Gen { prompt }, InferSpec::Gen(spec)) => {
                let wish = Wish::of(spec, model, format);
                let is_begun = !prompt.is_rounds();
                let prompt = request.render(prompt, request.shots.len(), batch);
                Ask::Generate { prompt, is_begun, sequences: request.drawn..wish.decoding.sequences(), wish }
            }
            (Body::Chat { turns }, InferSpec::Chat { infer_mode, gen_spec }) => {
                Ask::Converse { turns: turns.clone(), mode: *infer_mode, wish: Wish::of(gen_spec, model, format) }
            }
            (Body::Gen { prompt }, InferSpec::PplOnly) => scoring(Scoring::one(request, batch, prompt, format)),
            (Body::Ppl { options }, InferSpec::Ppl) => scoring(Scoring::ppl(request, batch, options, format)),
            (Body::Loglikelihood { context, options }, InferSpec::Loglikelihood) => {
                scoring(Scoring::loglikelihood(request, batch, context, options, format))
            }
            _ => Ask::Nothing("an endpoint cannot run this kind of request".into()),
        };
        Self { index: request.sample.index, shots: request.shots.len() as u32, ask }
    }

    /// Asks, and gives the sample's result.
    ///
    /// # Errors
    /// The endpoint refuses the job, or does not answer at all.
    pub(crate) async fn run(self, asker: &Asker) -> Result<SampleResult, EngineFault> {
        let mut sent = Vec::new();
        let asked = match &self.ask {
            Ask::Generate { prompt, is_begun, sequences, wish } => match asker.sent(prompt.clone(), *is_begun) {
                Ok(prompt) => answers(asker, wish, &prompt, self.index, sequences.clone(), &mut sent).await,
                Err(unanswered) => Err(unanswered),
            },
            Ask::Converse { turns, mode, wish } => converse(asker, wish, turns, *mode, self.index, &mut sent).await,
            Ask::Score(scoring) => scoring.run(asker).await,
            Ask::Nothing(why) => Err(Unanswered::Sample(why.clone())),
        };
        let (outcome, read) = match asked {
            Ok(asked) => asked,
            Err(Unanswered::Sample(reason)) => (Outcome::Failed { reason }, 0),
            Err(unanswered) => return Err(unanswered.into()),
        };
        let tokens = u32::try_from(read).unwrap_or(u32::MAX);
        let prompt_sha = (!sent.is_empty()).then(|| prompt_sha(sent.iter().map(String::as_str)));
        let rendered = match &outcome {
            Outcome::Failed { .. } => sent.pop().map(kept_prompt),
            _ => None,
        };
        let fit = PromptFit { shots_kept: self.shots, tokens, prompt_sha, rendered, ..PromptFit::default() };
        Ok(SampleResult { index: self.index, fit, outcome })
    }
}

async fn answers(
    asker: &Asker,
    wish: &Wish,
    prompt: &SentPrompt,
    index: u32,
    sequences: Range<u32>,
    sent: &mut Vec<String>,
) -> Result<(Outcome, Read), Unanswered> {
    note_sent(asker, prompt, sent);
    let (mut answers, mut read, mut wish) = (Vec::with_capacity(sequences.len()), 0, wish.clone());
    for sequence in sequences {
        let (answer, tokens) = one(asker, &mut wish, prompt, index, sequence).await?;
        read += tokens;
        answers.push(answer);
    }
    Ok((Outcome::Generated(answers), read))
}

/// Notes the text that the requests hold where the prompt consists of messages.
fn note_sent(asker: &Asker, prompt: &SentPrompt, sent: &mut Vec<String>) {
    match &prompt.prompt {
        RenderedPrompt::Messages(messages) => sent.push(messages_text(messages)),
        RenderedPrompt::Text(text) if asker.format().is_some() => sent.push(text.clone()),
        RenderedPrompt::Text(_) => {}
    }
}

/// One answer. Where the context leaves fewer tokens than `wish` has, it has those from then on.
async fn one(
    asker: &Asker,
    wish: &mut Wish,
    prompt: &SentPrompt,
    index: u32,
    sequence: u32,
) -> Result<(Generation, Read), Unanswered> {
    if let Some(bound) = &wish.bound {
        return bounded(asker, wish, bound, prompt, (index, sequence)).await;
    }
    let generation = asked(asker, wish, prompt, index, sequence).await?;
    // A stop string ends thinking on a server that does not tell it apart: it counts in the answer alone.
    let is_stopped = |thought: &Thought| thought.end == ThinkingEnd::Ended && wish.sends_stops();
    match &generation {
        (Ok(Generation { thinking: Some(thought), .. }), _) if is_stopped(thought) => {
            let (again, tokens) = asked(asker, &mut wish.unstopped(), prompt, index, sequence).await?;
            again.map(|answer| (answer, tokens + generation.1)).map_err(Unanswered::Sample)
        }
        _ => generation.0.map(|answer| (answer, generation.1)).map_err(Unanswered::Sample),
    }
}

/// Asks once, and returns what came with the tokens of the prompt.
async fn asked(
    asker: &Asker,
    wish: &mut Wish,
    prompt: &SentPrompt,
    index: u32,
    sequence: u32,
) -> Result<(Generated, Read), Unanswered> {
    let mut body = wish.request(&asker.endpoint.model, &prompt.prompt, index, sequence);
    let characters = usize::try_from(prompt.prompt.characters()).unwrap_or(usize::MAX);
    let expected = estimated(characters).saturating_add(wish.most_tokens());
    let read = |answer: &serde_json::Value| {
        let reading = wish.reading(asker.endpoint.api, &wish.stops, prompt.opened);
        let generated: Generated = generation(answer, reading)?;
        let thought =
            |generation: &Generation| generation.thinking.as_ref().map_or(0, |said| said.text.chars().count());
        let length = generated.as_ref().map_or(0, |said| said.text.chars().count() + thought(said));
        let usage = Usage::of(answer, characters, length);
        Ok(((generated, usage.prompt), usage))
    };
    let asked = asker.ask(&mut body, expected, read).await?;
    wish.shorten_to(&body);
    Ok(asked)
}

/// OpenCompass's `ChatInferencer`: the answers of the assistant, in turn.
async fn converse(
    asker: &Asker,
    wish: &Wish,
    turns: &[ChatTurn],
    mode: ChatMode,
    index: u32,
    sent: &mut Vec<String>,
) -> Result<(Outcome, Read), Unanswered> {
    let asked: Vec<usize> =
        (0..turns.len()).filter(|at| turns.get(*at).is_some_and(|turn| turn.role == ASSISTANT)).collect();
    let last = asked.last().copied();
    let (mut history, mut answers, mut read): (Vec<Message>, Vec<Generation>, Read) = (Vec::new(), Vec::new(), 0);
    let mut wish = wish.clone();
    for (at, turn) in turns.iter().enumerate() {
        let is_asked = turn.role == ASSISTANT && (mode != ChatMode::Last || Some(at) == last);
        let mut content = turn.content.clone();
        if is_asked {
            let prompt = asker.sent(RenderedPrompt::Messages(history.clone()), false)?;
            note_sent(asker, &prompt, sent);
            let (answer, tokens) = one(asker, &mut wish, &prompt, index, answers.len() as u32).await?;
            read += tokens;
            if mode == ChatMode::Every {
                content.clone_from(&answer.text);
            }
            answers.push(answer);
        }
        history.push(Message { role: turn.role.clone(), content });
    }
    Ok((Outcome::Generated(answers), read))
}

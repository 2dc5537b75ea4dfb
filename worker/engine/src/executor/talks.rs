//! The samples of one pack that generate: what each asks the model, and what it was answered.
//!
//! A sample has one prompt with one or several answers, or a conversation whose later prompts hold earlier answers. It is
//! handed in as soon as its last answer is there.

use super::answer::RunError;
use super::batching::{Ask, Heard, Listener};
use super::conversation::Conversation;
use super::decode::Decoder;
use super::prompting::{Prompted, Prompting};
use super::sampling::Draw;
use compass_plan::engine::{Request, TokenCounters};
use compass_plan::{Body, InferSpec};
use compass_types::result::{Finish, Generation, Outcome, PromptFit, SampleResult};
use tch::{TchError, Tensor};

/// A sequence: which talk it belongs to, and which of its sequences it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    talk: usize,
    sequence: u32,
    /// Most tokens.
    most: usize,
}

/// All of a pack.
pub(super) struct Talks<'a> {
    prompting: &'a Prompting<'a>,
    decoder: Decoder<'a>,
    /// Positions that the model has learnt, where they end.
    most_positions: Option<usize>,
    talks: Vec<Talk>,
    counters: TokenCounters,
    emit: &'a mut dyn FnMut(SampleResult),
}

/// One sample.
struct Talk {
    index: u32,
    fit: PromptFit,
    /// By sequence.
    answers: Vec<Option<Generation>>,
    conversation: Option<Conversation>,
    over: bool,
}

impl<'a> Talks<'a> {
    /// Creates an empty batch.
    pub(super) fn new(
        prompting: &'a Prompting<'a>,
        decoder: Decoder<'a>,
        most_positions: Option<usize>,
        emit: &'a mut dyn FnMut(SampleResult),
    ) -> Self {
        Self { prompting, decoder, most_positions, talks: Vec::new(), counters: TokenCounters::default(), emit }
    }

    /// What a sample asks first. One that cannot be asked, or has nothing to be asked, is handed in.
    pub(super) fn begin(&mut self, request: &Request<'_>) -> Vec<Ask<Who>> {
        let (fit, over) = (PromptFit::default(), false);
        let talk = Talk { index: request.sample.index, fit, answers: Vec::new(), conversation: None, over };
        let number = self.talks.len();
        self.talks.push(talk);
        let asks = self.first(number, request);
        self.or_fail(number, asks)
    }

    fn first(&mut self, number: usize, request: &Request<'_>) -> Result<Vec<Ask<Who>>, RunError> {
        match (&self.prompting.pack.infer, &request.sample.body) {
            (InferSpec::Gen(_), Body::Gen { prompt }) => {
                let prompted = self.prompting.prompt(request, prompt)?;
                let settings = self.prompting.settings;
                // Without draws all sequences are the same.
                let drawn = if settings.rules.warp.is_some() { settings.sequences } else { 1 };
                let talk = &mut self.talks[number];
                talk.fit = prompted.fit.clone();
                talk.answers = vec![None; drawn as usize];
                self.asks(number, &prompted, 0..drawn)
            }
            (InferSpec::Chat { infer_mode, .. }, Body::Chat { turns }) => {
                let conversation = Conversation::new(turns.clone(), *infer_mode)?;
                let talk = &mut self.talks[number];
                talk.answers = vec![None; conversation.answers()];
                talk.conversation = Some(conversation);
                self.turn(number, 0)
            }
            (infer, _) => {
                let mode = infer.mode();
                let what = format!("the plan asks for `{mode}`, but the sample's prompt is of another kind");
                Err(RunError::Sample(what))
            }
        }
    }

    /// The prompt of a conversation's answer number `sequence`.
    fn turn(&mut self, number: usize, sequence: u32) -> Result<Vec<Ask<Who>>, RunError> {
        let talk = &mut self.talks[number];
        let Some(conversation) = &talk.conversation else { return Ok(Vec::new()) };
        let prompted = conversation.prompt(self.prompting, sequence as usize)?;
        let length = |fit: &PromptFit| fit.tokens.max(fit.truncated_from);
        if length(&prompted.fit) > length(&talk.fit) {
            talk.fit = prompted.fit.clone();
        }
        self.asks(number, &prompted, sequence..sequence + 1)
    }

    fn asks(
        &mut self,
        number: usize,
        prompted: &Prompted,
        sequences: std::ops::Range<u32>,
    ) -> Result<Vec<Ask<Who>>, RunError> {
        let ids = &prompted.ids;
        // The last token generated needs no position.
        let room = self.most_positions.map_or(usize::MAX, |most| (most + 1).saturating_sub(ids.len()));
        let most = self.prompting.settings.max_out_len.min(room);
        if most == 0 {
            let none = Generation { text: String::new(), tokens: 0, finish: Finish::Length };
            let mut asks = Vec::new();
            for sequence in sequences {
                asks.extend(self.answered(Who { talk: number, sequence, most }, none.clone())?);
            }
            return Ok(asks);
        }
        self.counters.submitted += ids.len() as u64;
        Ok(sequences
            .map(|sequence| Ask::new(ids, &prompted.borders, most, Who { talk: number, sequence, most }))
            .collect())
    }

    /// Takes an answer, and says what is asked next. The last one hands the sample in.
    fn answered(&mut self, who: Who, answer: Generation) -> Result<Vec<Ask<Who>>, RunError> {
        let talk = &mut self.talks[who.talk];
        if let Some(conversation) = &mut talk.conversation {
            conversation.hear(who.sequence as usize, &answer.text);
        }
        if let Some(place) = talk.answers.get_mut(who.sequence as usize) {
            *place = Some(answer);
        }
        if talk.answers.iter().all(Option::is_some) {
            talk.over = true;
            let mut answers: Vec<Generation> = talk.answers.drain(..).flatten().collect();
            if talk.conversation.is_none()
                && let [only] = answers.as_slice()
            {
                answers = vec![only.clone(); self.prompting.settings.sequences as usize];
            }
            let outcome = Outcome::Generated(answers);
            (self.emit)(SampleResult { index: talk.index, fit: talk.fit.clone(), outcome });
            return Ok(Vec::new());
        }
        if talk.conversation.is_some() { self.turn(who.talk, who.sequence + 1) } else { Ok(Vec::new()) }
    }

    fn or_fail(&mut self, number: usize, asks: Result<Vec<Ask<Who>>, RunError>) -> Vec<Ask<Who>> {
        match asks {
            Ok(asks) => asks,
            Err(RunError::Sample(reason)) => {
                self.fail(number, reason);
                Vec::new()
            }
            Err(RunError::Torch(error)) => {
                self.fail(number, error.to_string());
                Vec::new()
            }
        }
    }

    /// Hands a sample in as failed.
    fn fail(&mut self, number: usize, reason: String) {
        let talk = &mut self.talks[number];
        talk.over = true;
        (self.emit)(SampleResult { index: talk.index, fit: PromptFit::default(), outcome: Outcome::Failed { reason } });
    }

    /// Tokens that the samples had a loop compute, and those generated.
    pub(super) fn counters(&self) -> TokenCounters {
        self.counters
    }

    /// The sequence with its next token, and how it ended if it did.
    fn grown(
        &self,
        who: &Who,
        seen: &[u32],
        generated: usize,
        logits: &Tensor,
    ) -> Result<(Vec<u32>, Option<Finish>), RunError> {
        let sample = self.talks[who.talk].index;
        let draw = Draw { seed: self.prompting.settings.seed, sample, sequence: who.sequence };
        let mut seen = seen.to_vec();
        seen.push(self.decoder.next_token(logits, &seen, generated, draw)?);
        let end = self.decoder.ends(&seen, generated + 1, who.most)?;
        Ok((seen, end))
    }
}

impl Listener<Who> for Talks<'_> {
    fn hear(&mut self, who: &Who, seen: &[u32], generated: usize, logits: &Tensor) -> Result<Heard<Who>, TchError> {
        let answer = match self.grown(who, seen, generated, logits) {
            Ok((grown, None)) => return Ok(Heard::Next(grown.last().copied().unwrap_or_default())),
            Ok((grown, Some(finish))) => {
                self.counters.generated += generated as u64 + 1;
                self.counters.submitted += generated as u64;
                self.decoder.finished(&grown[seen.len() - generated..], finish)
            }
            Err(error) => Err(error),
        };
        match answer.and_then(|answer| self.answered(*who, answer)) {
            Ok(asks) => Ok(Heard::Over(asks)),
            Err(RunError::Sample(reason)) => {
                self.fail(who.talk, reason);
                Ok(Heard::Over(Vec::new()))
            }
            Err(RunError::Torch(error)) => Err(error),
        }
    }

    fn is_wanted(&self, who: &Who) -> bool {
        self.talks.get(who.talk).is_some_and(|talk| !talk.over)
    }
}

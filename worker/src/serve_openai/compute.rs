//! The computing thread: one engine, which continues equal requests together, and scores texts one by one.

use super::arguments::ServeOptions;
use crate::engine_child::choose_device;
use compass_common::regular_file;
use compass_engine::BareModel;
use compass_engine::tokenizer::TextTokenizer;
use compass_plan::engine::{BatchSpec, Caller, Engine, EngineFault, Request};
use compass_plan::prompt::ShotFormat;
use compass_plan::{Body, BosPolicy, Dtype, InferSpec, ModelKind, ModelPlan, Sample};
use compass_types::result::{Generation, Outcome, SampleResult};
use serde_json::Value;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use tokio::sync::oneshot;

/// Questions of one batch, which others join while it runs: the memory that it needs for them is freed at its end.
const MOST_OF_A_BATCH: usize = 4096;
/// Tokens before a token by which its own text is found.
const TEXT_WINDOW: usize = 8;

/// Answers to a prompt, with the tokens of the prompt; or the reason why there are none.
pub(super) type Continued = Result<(u32, Vec<Generation>), String>;

/// Questions of the server to the thread.
pub(super) enum Question {
    Continue(ToContinue),
    Score { text: String, reply: oneshot::Sender<Result<Vec<ScoredToken>, String>> },
}

/// A prompt to be continued. What differs in `infer` cannot share a batch; `caller` has the seed.
pub(super) struct ToContinue {
    pub(super) body: Body,
    pub(super) infer: InferSpec,
    pub(super) caller: Arc<Caller>,
    pub(super) reply: oneshot::Sender<Continued>,
}

/// A token of a text.
#[derive(Clone, Debug)]
pub(super) struct ScoredToken {
    pub(super) id: u32,
    pub(super) text: String,
    /// Natural logarithm; `None` for the first.
    pub(super) log_prob: Option<f64>,
    /// The likeliest token in its place.
    pub(super) top: Option<(u32, String, f64)>,
}

/// An engine, and the scorer of texts once a request needs it.
pub(super) struct Computer {
    options: ServeOptions,
    plan: ModelPlan,
    engine: Box<dyn Engine>,
    scorer: Option<(BareModel, TextTokenizer)>,
    device: compass_engine::DeviceChoice,
}

impl Computer {
    /// Loads the model; must stay on the calling thread.
    pub(super) fn load(options: &ServeOptions) -> Result<Self, EngineFault> {
        let path = std::path::absolute(&options.model).unwrap_or_else(|_| options.model.clone());
        let plan = ModelPlan {
            chat: options.chat,
            max_seq_len: options.max_seq_len,
            ..ModelPlan::new(&options.name, ModelKind::Hf, path.display().to_string())
        };
        let device = choose_device(&plan, &options.device, "use --device cpu to compute on the CPU")?.device;
        let engine = compass_engine::load(&plan, &device, options.threads)?;
        Ok(Self { options: options.clone(), plan, engine, scorer: None, device })
    }

    /// Returns the fingerprint of the weights; empty if they have no digest.
    pub(super) fn fingerprint(&self) -> String {
        let pin = self.engine.facts().pin.as_ref();
        pin.map_or_else(String::new, |pin| format!("compass-{}", pin.weights.digest.short()))
    }

    /// The longest input in tokens.
    pub(super) fn longest(&self) -> u32 {
        self.engine.facts().max_seq_len
    }

    /// Answers questions until the channel is closed.
    pub(super) fn serve(mut self, questions: &Receiver<Question>) {
        let mut next = questions.recv().ok();
        while let Some(question) = next.take() {
            match question {
                Question::Score { reply, .. } if reply.is_closed() => {}
                Question::Score { text, reply } => drop(reply.send(self.score(&text))),
                Question::Continue(first) => next = self.go_on(first, questions),
            }
            next = next.or_else(|| questions.recv().ok());
        }
    }

    /// Continues a prompt, and those after it that are asked alike until one is not, which is returned.
    fn go_on(&mut self, first: ToContinue, questions: &Receiver<Question>) -> Option<Question> {
        let spec = BatchSpec {
            infer: first.infer.clone(),
            shot_format: ShotFormat::default(),
            meta_template: self.plan.meta(),
            takes_programs: false,
        };
        let (replies, mut next) = (RefCell::new(Vec::new()), None);
        let sample = |body: Body, reply| {
            let mut replies = replies.borrow_mut();
            replies.push(Some(reply));
            Sample { index: replies.len() as u32 - 1, gold: Value::Null, shots: Vec::new(), body }
        };
        let of_first = sample(first.body, first.reply);
        let requests = [Request { caller: Some(first.caller), ..Request::new(&of_first, Vec::new()) }];
        let mut added = |each: &mut dyn FnMut(&Request<'_>)| {
            while next.is_none() && replies.borrow().len() < MOST_OF_A_BATCH {
                match questions.try_recv() {
                    Ok(Question::Continue(asked)) if asked.infer == spec.infer => {
                        let joining = sample(asked.body, asked.reply);
                        each(&Request { caller: Some(asked.caller), ..Request::new(&joining, Vec::new()) });
                    }
                    Ok(other) => next = Some(other),
                    Err(_) => break,
                }
            }
        };
        let ran = self.engine.run_open(&spec, &requests, &mut added, &mut |SampleResult { index, fit, outcome }| {
            let Some(reply) = replies.borrow_mut().get_mut(index as usize).and_then(Option::take) else { return };
            let _ = reply.send(match outcome {
                Outcome::Generated(answers) => Ok((fit.tokens, answers)),
                Outcome::Failed { reason } | Outcome::NoRoom { reason } => Err(reason),
                _ => Err("the engine gave a result of another kind".into()),
            });
        });
        if let Err(fault) = ran {
            let unanswered: Vec<oneshot::Sender<Continued>> = replies.into_inner().into_iter().flatten().collect();
            unanswered.into_iter().for_each(|reply| drop(reply.send(Err(fault.to_string()))));
        }
        next
    }

    /// The log-probability of every token of a text, as the model's tokenizer reads it.
    fn score(&mut self, text: &str) -> Result<Vec<ScoredToken>, String> {
        if self.scorer.is_none() {
            let folder = Path::new(&self.plan.path);
            let model = BareModel::load(folder, Dtype::Float32, &self.device, self.options.threads);
            let model = model.map_err(|fault| fault.to_string())?;
            let config: Value = regular_file::read(&folder.join("config.json"), regular_file::SMALL)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())
                .unwrap_or_default();
            let bos = config.get("bos_token_id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
            let tokenizer = TextTokenizer::read(folder, BosPolicy::Auto, bos).map_err(|fault| fault.to_string())?;
            self.scorer = Some((model, tokenizer));
        }
        let Some((model, tokenizer)) = &mut self.scorer else { return Err("no model is loaded".into()) };
        let ids = tokenizer.encode(text)?;
        let most = self.engine.facts().max_seq_len as usize;
        if ids.len() > most {
            return Err(format!("{} tokens are longer than this model's maximum context length of {most}", ids.len()));
        }
        let logits = model.prefill(&ids).map_err(|fault| fault.to_string())?;
        let vocabulary = model.vocabulary();
        let mut tokens = Vec::with_capacity(ids.len());
        for (at, &id) in ids.iter().enumerate() {
            let row = at.checked_sub(1).and_then(|before| logits.get(before * vocabulary..(before + 1) * vocabulary));
            let scored = row.map(|row| likelihoods(row, id));
            let top = scored.map(|(_, best, value)| (best, tokenizer.decode_whole(&[best]).unwrap_or_default(), value));
            let log_prob = scored.map(|(own, ..)| own);
            tokens.push(ScoredToken { id, text: own_text(tokenizer, &ids, at), log_prob, top });
        }
        Ok(tokens)
    }
}

/// Returns the log-probability of a token in a row of logits, and the likeliest token with its own.
fn likelihoods(row: &[f32], id: u32) -> (f64, u32, f64) {
    let (best, most) =
        row.iter().enumerate().fold(
            (0, f32::NEG_INFINITY),
            |(best, most), (at, &value)| {
                if value > most { (at, value) } else { (best, most) }
            },
        );
    let sum: f64 = row.iter().map(|&value| f64::from(value - most).exp()).sum();
    let of = |value: f32| f64::from(value - most) - sum.ln();
    (of(row.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY)), best as u32, of(most))
}

/// Returns the text that a token adds to the text before it.
fn own_text(tokenizer: &TextTokenizer, ids: &[u32], at: usize) -> String {
    let from = at.saturating_sub(TEXT_WINDOW);
    let text = |ids: Option<&[u32]>| ids.and_then(|ids| tokenizer.decode_whole(ids).ok()).unwrap_or_default();
    let (before, with) = (text(ids.get(from..at)), text(ids.get(from..=at)));
    with.strip_prefix(&before).map_or_else(|| "\u{fffd}".to_owned(), str::to_owned)
}

#[cfg(test)]
#[path = "compute_tests.rs"]
mod tests;

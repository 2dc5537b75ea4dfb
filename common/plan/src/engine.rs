//! The interface of an engine: requests in, results out. What computes behind it can change without its neighbours.

use crate::prompt::{MetaTemplate, Prompt, RenderedPrompt, Shot, ShotFormat};
use crate::weights::Pin;
use crate::{InferSpec, Sample, Unit};
use compass_types::result::SampleResult;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Longest time that an engine may compute nothing before it is ended, unless the configuration says otherwise.
pub const ENGINE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Steps of computation of this process. See [`note_progress`].
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Notes that the model went on by a step (a layer of a pass, say): what tells a slow engine from one that hangs.
pub fn note_progress() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of steps noted in this process.
pub fn progress() -> u64 {
    STEPS.load(Ordering::Relaxed)
}

/// Facts that a worker tells the master once per model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Longest input in tokens that the engine will use.
    pub max_seq_len: u32,
    /// Characters per token, measured on the tokenizer; a prior for costs.
    pub characters_per_token: f64,
    pub bos_token: Option<String>,
    pub eos_token: Option<String>,
    /// Device it computes on: `cpu`, `echo`, `endpoint`, or a GPU's name as its driver has it.
    #[serde(default)]
    pub device: String,
    /// Number of sequences it generates at once, if memory allows; 0 where it answers one sample after the other.
    #[serde(default)]
    pub sequences: u32,
    /// Requests of the model's own directory or flags that were not obeyed, in words.
    pub notes: Vec<String>,
    /// Parts of the model's files that peers read in different ways, so that their numbers differ: said below the table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Weights that it loaded, and defaults from which its generations begin; `None` for an engine without weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
}

/// Settings that all requests of a batch have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchSpec {
    pub infer: InferSpec,
    pub shot_format: ShotFormat,
    /// The model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_template: Option<MetaTemplate>,
    /// Set if answers are programs, or hold them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_programs: bool,
}

impl BatchSpec {
    /// The settings of a unit's requests.
    pub fn of_unit(unit: &Unit<'_>) -> Self {
        Self {
            infer: unit.dataset.infer.clone(),
            shot_format: unit.dataset.shot_format.clone(),
            meta_template: unit.model.meta(),
            takes_programs: unit.dataset.eval.takes_programs(),
        }
    }
}

/// A client that asks outside of a plan: a prompt of its that is too long is refused instead of shortened.
#[derive(Debug)]
pub struct Caller {
    seed: u64,
    variables: Map<String, Value>,
    /// Set if its text holds its special tokens.
    pub is_whole: bool,
    has_left: AtomicBool,
}

impl Caller {
    /// A client that waits, with the seed of its draws and the variables of the chat template beside the model's.
    pub fn new(seed: u64, variables: Map<String, Value>) -> Self {
        Self { seed, variables, is_whole: false, has_left: AtomicBool::new(false) }
    }

    /// Variables of the chat template.
    pub fn variables(&self) -> &Map<String, Value> {
        &self.variables
    }

    /// Seed of its draws, which follow from the request alone: neither from the sample's index nor from the batch's seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Notes that it waits no longer: an engine may drop its request without a result.
    pub fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if it waits no longer.
    pub fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Relaxed)
    }
}

/// One sample with its shots.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub sample: &'a Sample,
    pub shots: Vec<&'a Shot>,
    /// `None` for a sample of a plan.
    pub caller: Option<Arc<Caller>>,
    /// Number of its first answers that were drawn before: only the others are asked for.
    pub drawn: u32,
}

impl<'a> Request<'a> {
    /// A sample of a plan.
    pub fn new(sample: &'a Sample, shots: Vec<&'a Shot>) -> Self {
        Self { sample, shots, caller: None, drawn: 0 }
    }

    /// A prompt of the sample as the batch's model reads it, with the first `kept` shots in place.
    pub fn render(&self, prompt: &Prompt, kept: usize, batch: &BatchSpec) -> RenderedPrompt {
        self.render_with_borders(prompt, kept, batch).0
    }

    /// As [`Request::render`], with the byte offsets at which the rendered text has structural borders, see
    /// [`Prompt::render_with_borders`].
    pub fn render_with_borders(&self, prompt: &Prompt, kept: usize, batch: &BatchSpec) -> (RenderedPrompt, Vec<usize>) {
        let shots = self.shots.get(..kept).unwrap_or(&self.shots);
        prompt.render_with_borders(shots, &batch.shot_format, batch.meta_template.as_ref(), batch.infer.prompt_mode())
    }
}

/// Tokens of a batch. `computed / distinct` is the promise of the trie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounters {
    /// Tokens of all texts, as a loop over prompts would compute them.
    pub submitted: u64,
    /// Submitted tokens that no text before had in the same place after the same beginning, as far as prefixes are cut at the
    /// plan's borders. Each engine counts for itself; what several held alike ([`PrefixSegment`]) the master counts once.
    #[serde(default)]
    pub distinct: u64,
    /// Rows that went through the model.
    pub computed: u64,
    /// Rows added to reach the least number of rows; not in `computed`.
    pub padded: u64,
    /// Tokens generated.
    pub generated: u64,
}

impl TokenCounters {
    /// Adds `other` to `self`. A worker's claim beyond all measure stays at the largest number.
    pub fn add(&mut self, other: &Self) {
        self.submitted = self.submitted.saturating_add(other.submitted);
        self.distinct = self.distinct.saturating_add(other.distinct);
        self.computed = self.computed.saturating_add(other.computed);
        self.padded = self.padded.saturating_add(other.padded);
        self.generated = self.generated.saturating_add(other.generated);
    }
}

/// Tokens between two structural borders, after the same beginning: what other engines of the same model may hold as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrefixSegment {
    /// Tells it, with all that stands before it and how that is cut, from others.
    pub path: u64,
    pub tokens: u32,
}

/// Reason that an engine cannot continue; a sample that cannot be run is an outcome, not a fault.
#[derive(Debug, thiserror::Error)]
pub enum EngineFault {
    /// Files of the model are missing or unreadable on this host; another host may have them.
    #[error("{0}")]
    Missing(String),
    /// The content of the model's files, or what the configuration asks of it, is at fault: every worker with the same
    /// files would agree.
    #[error("{0}")]
    Model(String),
    /// The device or the library failed; another try may succeed.
    #[error("{0}")]
    Device(String),
    /// The device is gone or broken: no sample is at fault, and nothing more is computed on it.
    #[error("{0}")]
    Lost(String),
    /// The endpoint that serves the model refuses every request of the job: no worker can do better.
    #[error("{0}")]
    Refused(String),
}

impl EngineFault {
    /// Returns the kind of a worker that cannot load a model for this reason.
    pub fn kind(&self) -> UnableKind {
        match self {
            Self::Missing(_) => UnableKind::Missing,
            Self::Model(_) => UnableKind::Content,
            Self::Device(_) | Self::Lost(_) => UnableKind::Device,
            Self::Refused(_) => UnableKind::Refused,
        }
    }
}

/// Reason that a worker cannot load a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnableKind {
    /// Files are missing or unreadable on its host.
    Missing,
    /// The content of the files, or what the configuration asks of it, is at fault.
    Content,
    /// The GPU, its driver or its memory.
    Device,
    /// The endpoint that serves the model refuses the whole job.
    Refused,
}

/// Hands over requests that were added to the running batch since the last call, without waiting; each reference is
/// valid during its call alone.
pub type Added<'a> = dyn FnMut(&mut dyn FnMut(&Request<'_>)) + 'a;

/// A loaded model that answers requests one batch at a time.
pub trait Engine {
    /// Returns what it found when loading.
    fn facts(&self) -> &ModelFacts;

    /// Runs every request and hands each result to `emit` as soon as it is known, in any order.
    ///
    /// # Errors
    /// A [`EngineFault::Device`] or [`EngineFault::Lost`] ends the batch; results emitted before it stand.
    fn run(
        &mut self,
        batch: &BatchSpec,
        requests: &[Request<'_>],
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault>;

    /// As [`Engine::run`], for a batch to which requests are added while it runs. An engine may leave them alone: they
    /// are then run as a batch of their own.
    ///
    /// # Errors
    /// As [`Engine::run`].
    fn run_open(
        &mut self,
        batch: &BatchSpec,
        requests: &[Request<'_>],
        _added: &mut Added<'_>,
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        self.run(batch, requests, emit)
    }

    /// Begins to count distinct tokens for another job; what it keeps for speed may stay.
    fn begin_job(&mut self) {}

    /// Takes what it noticed while running that a person should know, in words: once each, and not again.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Takes, of the tokens that it counted as distinct since it was asked last, the ones that another engine may have counted too.
    fn take_prefix_segments(&mut self) -> Vec<PrefixSegment> {
        Vec::new()
    }
}

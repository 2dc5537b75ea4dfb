//! What the planner resolved and pinned: nothing here is decided again by a worker.

use crate::evaluator::EvaluatorSpec;
use crate::postprocess::Postprocessor;
use serde::{Deserialize, Serialize};

/// Where a model's code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// A Hugging Face directory: config.json, *.safetensors, tokenizer.json.
    Hf,
    /// No model: answers are a hash of the prompt. For tests of everything else.
    Echo,
}

/// The number format in which a model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    Float32,
    Bfloat16,
    Float16,
}

/// Whether a BOS token opens every encoded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BosPolicy {
    /// The tokenizer's own rule (post-processor, or `add_bos_token` of tokenizer_config.json).
    Auto,
    Always,
    Never,
}

/// Whose formulas hold where the peers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NumericProfile {
    Canonical,
}

/// A model as the plan pins it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelPlan {
    /// The name in tables and file names.
    pub abbr: String,
    pub kind: ModelKind,
    /// Directory of config.json and the weights, absolute.
    pub path: String,
    /// Directory of the tokenizer's files, absolute.
    pub tokenizer_path: String,
    /// Longest input in tokens; `None` means what the model's config.json says.
    pub max_seq_len: Option<u32>,
    /// Tokens to generate when the data set does not say.
    pub max_out_len: u32,
    pub dtype: Dtype,
    pub bos: BosPolicy,
    pub profile: NumericProfile,
    /// Strings that end a generation, beside the data set's own.
    pub stop_words: Vec<String>,
    /// GPUs of one replica; 0 lets it run on the CPU.
    pub num_gpus: u32,
}

/// What to compute for each sample of a data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InferSpec {
    /// OpenCompass's `PPLInferencer` at batch size 1: per option, the NLL of t2..tn summed and divided by n.
    Ppl,
    /// lm-eval's `loglikelihood`: per option, the sum of log-probabilities of the continuation.
    Loglikelihood,
    /// Greedy generation.
    Gen {
        /// Most tokens to generate; `None` takes the model's.
        max_out_len: Option<u32>,
        /// Strings that end a generation.
        stop: Vec<String>,
    },
}

impl InferSpec {
    /// The `mode` column of the table: `ppl`, `ll` or `gen`.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Ppl => "ppl",
            Self::Loglikelihood => "ll",
            Self::Gen { .. } => "gen",
        }
    }
}

/// How outputs become metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvalSpec {
    pub evaluator: EvaluatorSpec,
    /// Applied to the prediction, in order.
    pub pred_postprocessors: Vec<Postprocessor>,
    /// Applied to the gold answer, in order.
    pub dataset_postprocessors: Vec<Postprocessor>,
    /// Of several answers to a question: the k of pass@k and G-Pass@k. Empty means 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub k: Vec<u32>,
}

impl EvalSpec {
    /// An evaluator of the answers as they are.
    pub fn new(evaluator: EvaluatorSpec) -> Self {
        Self { evaluator, pred_postprocessors: Vec::new(), dataset_postprocessors: Vec::new(), k: Vec::new() }
    }
}

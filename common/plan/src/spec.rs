//! Everything that the planner resolved and pinned: nothing here is decided again by a worker.

use super::{ChatMode, Decoding, Endpoint, EndpointApi, GenSpec, REST, Thinking, Truncation, Unfinished};
use crate::evaluation::{EvaluatorSpec, FilterPipeline, Reading, TextScore};
use crate::prompt::{MetaTemplate, Mode};
use crate::weights::Pin;
use compass_postprocess::Postprocessor;
use serde::{Deserialize, Serialize};

/// Origin of a model's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// A Hugging Face directory: config.json, *.safetensors, tokenizer.json.
    Hf,
    /// A directory as Meta distributes Llama: params.json, consolidated.NN.pth, tokenizer.model.
    Llama,
    /// A directory as InternLM's training code writes it: model_config.pt, model_tpN_ppN.pt.
    #[serde(rename = "internlm")]
    InternLm,
    /// No files: a server that speaks OpenAI's protocol is asked.
    Endpoint,
    /// No model: answers are a hash of the prompt. For tests of everything else.
    Echo,
    /// No model: programs are run in a sandbox.
    Sandbox,
}

/// The number format in which a model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    Float32,
    Bfloat16,
    Float16,
}

/// The kind of device that a model's configuration asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceRequest {
    /// A GPU where there is one; with `num_gpus`, a GPU in any case.
    #[default]
    Auto,
    Cpu,
    Cuda,
}

impl DeviceRequest {
    /// Returns `true` if nothing was asked for.
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// Rule for a BOS token at the beginning of every encoded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BosPolicy {
    /// The tokenizer's own rule (post-processor, or `add_bos_token` of tokenizer_config.json).
    Auto,
    Always,
    Never,
}

/// Peer whose formulas hold where the peers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NumericProfile {
    /// Log-softmax in fp32; `ppl` as OpenCompass at batch size 1, continuations as lm-eval.
    Canonical,
    /// OpenCompass's `HuggingFaceBaseModel`, also where it differs: `loglikelihood` is minus its masked `get_ppl`.
    Opencompass,
    /// lm-eval's HF backend, also where it differs: log-softmax and sums in the model's own number format.
    LmEvalHf,
}

fn always() -> bool {
    true
}

fn is_true(value: &bool) -> bool {
    *value
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
    /// Directory of an adapter of `peft` that is merged into the weights when they are loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peft_path: Option<String>,
    /// Longest input in tokens; `None` means what the model's config.json says.
    pub max_seq_len: Option<u32>,
    /// Tokens to generate when the data set does not say.
    pub max_out_len: u32,
    pub dtype: Dtype,
    pub bos: BosPolicy,
    pub profile: NumericProfile,
    /// Text around each role's words; `None` joins them by newlines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_template: Option<MetaTemplate>,
    /// Set if prompts go through the tokenizer's chat template (OpenCompass's `HuggingFacewithChatTemplate`).
    pub chat: bool,
    /// Treatment of system messages that the chat template refuses.
    #[serde(default, skip_serializing_if = "RefusedSystem::is_default")]
    pub system: RefusedSystem,
    /// Variables of the chat template, as transformers' `apply_chat_template` takes them.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub chat_template_kwargs: serde_json::Map<String, serde_json::Value>,
    /// Thinking before the answer.
    #[serde(default, skip_serializing_if = "Thinking::is_default")]
    pub thinking: Thinking,
    /// `tokenizer_kwargs` as written: sides of truncation and padding; what is not obeyed is noted by the engine.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub tokenizer_kwargs: serde_json::Map<String, serde_json::Value>,
    /// Way to shorten a prompt that is too long.
    #[serde(default, skip_serializing_if = "Truncation::is_default")]
    pub truncation: Truncation,
    /// Set if `ll` data sets get the sum of the continuation's log-probabilities, as from OpenCompass's `HuggingFaceCausalLM`,
    /// `Llama2` and `TurboMindModel`, not [the mean](InferSpec::MeanLoglikelihood) of `HuggingFaceBaseModel`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sums_loglikelihood: bool,
    /// Fewest tokens before the end token may come, when the data set does not say.
    pub min_out_len: u32,
    /// Choice of tokens when the data set does not say.
    pub decoding: Decoding,
    /// Strings that end a generation, beside the data set's own.
    pub stop_words: Vec<String>,
    /// GPUs of one replica; 0 lets it run on the CPU.
    pub num_gpus: u32,
    /// Device on which it may be loaded: a worker that has no device of that kind refuses it.
    #[serde(default, skip_serializing_if = "DeviceRequest::is_auto")]
    pub device: DeviceRequest,
    /// Set if a sample's numbers must not depend on what a GPU computes beside it.
    #[serde(default = "always", skip_serializing_if = "is_true")]
    pub deterministic: bool,
    /// Applied to every prediction of this model before the data set's own: part of the evaluation, not of the inference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pred_postprocessors: Vec<Postprocessor>,
    /// The weights, and what is read of generation_config.json; `None` where the planner could not read the directory, and
    /// for kinds without weights. The first worker that loads the model then says what holds for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// The endpoint behind which the model is, for [`ModelKind::Endpoint`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
}

/// Treatment of system messages that a model's chat template, or its server, refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedSystem {
    /// The sample fails; under lm-eval's profile a `description` is left out.
    #[default]
    Fails,
    /// Their text stands before the user's.
    User,
}

impl RefusedSystem {
    /// Returns `true` if nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Tokens of an answer that may have what is left of a context whose length is not known.
const UNKNOWN_REST: u32 = 32_768;

impl ModelPlan {
    /// Returns the most tokens that an answer may have; [`REST`] is the longest input, as far as it is known.
    pub fn longest_answer(&self, spec: &GenSpec) -> u32 {
        match spec.max_out_len.unwrap_or(self.max_out_len) {
            REST => self.max_seq_len.unwrap_or(UNKNOWN_REST),
            length => length,
        }
    }

    /// The model in `path`, of which nothing special is asked: fp32, greedy, 16 tokens, everything else its own.
    pub fn new(abbr: impl Into<String>, kind: ModelKind, path: impl Into<String>) -> Self {
        let path = path.into();
        Self {
            abbr: abbr.into(),
            kind,
            tokenizer_path: path.clone(),
            peft_path: None,
            path,
            max_seq_len: None,
            max_out_len: 16,
            dtype: Dtype::Float32,
            bos: BosPolicy::Auto,
            profile: NumericProfile::Canonical,
            meta_template: None,
            chat: false,
            system: RefusedSystem::default(),
            device: DeviceRequest::Auto,
            deterministic: true,
            chat_template_kwargs: serde_json::Map::new(),
            thinking: Thinking::default(),
            tokenizer_kwargs: serde_json::Map::new(),
            truncation: Truncation::default(),
            sums_loglikelihood: false,
            min_out_len: 0,
            decoding: Decoding::default(),
            stop_words: Vec::new(),
            num_gpus: 0,
            pred_postprocessors: Vec::new(),
            pin: None,
            endpoint: None,
        }
    }
}

impl ModelPlan {
    /// Returns whether it has weights, or an endpoint, by which it is known.
    pub fn has_weights(&self) -> bool {
        !matches!(self.kind, ModelKind::Echo | ModelKind::Sandbox)
    }

    /// Returns whether a process of its own has to be able to load it with libtorch.
    pub fn needs_libtorch(&self) -> bool {
        matches!(self.kind, ModelKind::Hf | ModelKind::Llama | ModelKind::InternLm)
    }

    /// Returns the text around each role's words: as told, else as the class of OpenCompass does it where the model is a chat.
    pub fn meta(&self) -> Option<MetaTemplate> {
        let is_service = self.kind == ModelKind::Endpoint && self.tokenizer_path.is_empty();
        let of_class = if is_service { MetaTemplate::service } else { MetaTemplate::chat };
        self.meta_template.clone().or_else(|| self.chat.then(of_class))
    }
}

/// Computation for each sample of a data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InferSpec {
    /// OpenCompass's `PPLInferencer` at batch size 1: per option, the NLL of t2..tn summed and divided by n.
    Ppl,
    /// `PPLInferencer` with `normalizing_str`: the mean NLL of the answer after its context, minus that after this text.
    PplNormalized { normalizing_str: String },
    /// `PPLOnlyInferencer`: the same score of one text, to be averaged.
    PplOnly,
    /// `InferencePPLOnlyInferencer`: the NLL of the tokens that stand in the spans of a text which its column `label` names, and
    /// their number.
    InferencePpl,
    /// lm-eval's `loglikelihood`: per option, the sum of log-probabilities of the continuation.
    Loglikelihood,
    /// OpenCompass's `LLInferencer` over `HuggingFaceBaseModel`: per option, minus the mean NLL of the text's tokens after as
    /// many as the continuation has alone. A model may sum instead ([`ModelPlan::sums_loglikelihood`]).
    MeanLoglikelihood,
    /// `CLPInferencer`: log-probabilities of the choices' tokens after the prompt.
    Clp,
    /// lm-eval's `loglikelihood_rolling`: the log-probability of a whole text, in windows.
    Rolling,
    /// `SWCELossInferencer`: the log-probability of the texts of all rows, one after the other, in windows that slide.
    SwceLoss {
        /// Tokens of a window that are fed.
        block_size: u32,
        /// Tokens from where a window begins to where the next does.
        stride: u32,
    },
    /// Generation.
    Gen(GenSpec),
    /// `ChatInferencer`: generation in a conversation of several turns.
    Chat {
        infer_mode: ChatMode,
        #[serde(flatten)]
        gen_spec: GenSpec,
    },
    /// Running the programs that answers are.
    Execute,
}

impl InferSpec {
    /// Returns whether prompts are rendered to be scored or to be continued.
    pub fn prompt_mode(&self) -> Mode {
        match self {
            Self::Ppl
            | Self::PplNormalized { .. }
            | Self::PplOnly
            | Self::InferencePpl
            | Self::Rolling
            | Self::SwceLoss { .. } => Mode::Ppl,
            // A context ends where the answer begins, which is where a model would begin to speak.
            Self::Loglikelihood
            | Self::MeanLoglikelihood
            | Self::Clp
            | Self::Gen(_)
            | Self::Chat { .. }
            | Self::Execute => Mode::Gen,
        }
    }

    /// The `mode` column of the table: `ppl`, `ll`, `clp`, `gen`, ...
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Ppl | Self::PplNormalized { .. } => "ppl",
            Self::PplOnly => "ppl_only",
            Self::InferencePpl => "inference_ppl_only",
            Self::Loglikelihood | Self::MeanLoglikelihood => "ll",
            Self::Clp => "clp",
            Self::Rolling => "rolling",
            Self::SwceLoss { .. } => "swce_loss",
            Self::Gen(_) => "gen",
            Self::Chat { .. } => "chat",
            Self::Execute => "execute",
        }
    }

    /// Returns about how often each character is read: windows that slide overlap.
    pub fn overlap(&self) -> u64 {
        match self {
            Self::SwceLoss { block_size, stride } => u64::from(block_size.div_ceil((*stride).max(1)).max(1)),
            _ => 1,
        }
    }

    /// Returns whether options are compared by the log-likelihoods of their own texts.
    pub fn scores_continuations(&self) -> bool {
        matches!(self, Self::Loglikelihood | Self::MeanLoglikelihood)
    }

    /// Returns whether a model of this profile scores continuations by OpenCompass's mean
    /// ([`InferSpec::MeanLoglikelihood`]): where the data set asks for it or the profile does, unless the profile is
    /// lm-eval's.
    pub fn means(&self, profile: NumericProfile) -> bool {
        match profile {
            NumericProfile::Canonical => *self == Self::MeanLoglikelihood,
            NumericProfile::Opencompass => self.scores_continuations(),
            NumericProfile::LmEvalHf => false,
        }
    }

    /// Describes the log-likelihoods of a model of this profile, where they are not what the data set asks for.
    pub fn other_formula(&self, profile: NumericProfile) -> Option<&'static str> {
        match (self, self.means(profile)) {
            (Self::MeanLoglikelihood, false) => Some(
                "profile lm-eval-hf: scored by lm-eval's sum of log-probabilities; the data set asks for OpenCompass's mean",
            ),
            (Self::Loglikelihood, true) => Some(
                "profile opencompass: scored by OpenCompass's mean NLL; the data set asks for lm-eval's sum of \
                 log-probabilities",
            ),
            _ => None,
        }
    }

    /// Returns what is asked of the generation, where there is one.
    pub fn generation(&self) -> Option<&GenSpec> {
        match self {
            Self::Gen(spec) | Self::Chat { gen_spec: spec, .. } => Some(spec),
            _ => None,
        }
    }
}

/// Way that outputs become metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvalSpec {
    pub evaluator: EvaluatorSpec,
    /// Applied to the prediction, in order.
    pub pred_postprocessors: Vec<Postprocessor>,
    /// Applied to the gold answer, in order.
    pub dataset_postprocessors: Vec<Postprocessor>,
    /// lm-eval's filters: each pipeline makes one answer of all, and has metrics of its own. Postprocessors come after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<FilterPipeline>,
    /// Set if the most frequent of several answers counts for all (self-consistency).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub majority_vote: bool,
    /// The k of pass@k and G-Pass@k, where a question has several answers. Empty means 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub k: Vec<u32>,
    /// Set if `acc` gives no `acc_norm`, as for OpenCompass's `LLInferencer`, which has none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accuracy_alone: bool,
    /// Rule for answers whose thinking did not end; the model's.
    #[serde(default, skip_serializing_if = "Unfinished::is_default")]
    pub unfinished: Unfinished,
    /// Second reading of generated answers.
    #[serde(default, skip_serializing_if = "Reading::is_default")]
    pub reading: Reading,
}

impl EvalSpec {
    /// An evaluator of the answers as they are.
    pub fn new(evaluator: EvaluatorSpec) -> Self {
        Self {
            evaluator,
            pred_postprocessors: Vec::new(),
            dataset_postprocessors: Vec::new(),
            filters: Vec::new(),
            majority_vote: false,
            k: Vec::new(),
            accuracy_alone: false,
            unfinished: Unfinished::default(),
            reading: Reading::default(),
        }
    }
}

impl EvalSpec {
    /// Returns whether answers are programs, or hold them: their spaces have a meaning.
    pub fn takes_programs(&self) -> bool {
        let is_of_programs = |postprocessor: &Postprocessor| {
            matches!(
                postprocessor,
                Postprocessor::Humaneval
                    | Postprocessor::HumanevalV2
                    | Postprocessor::HumanevalV3
                    | Postprocessor::HumanevalInternalV1
                    | Postprocessor::HumanevalInternalV2
                    | Postprocessor::Mbpp
                    | Postprocessor::MbppV2
            )
        };
        let compares = EvaluatorSpec::Score { score: TextScore::LongbenchCodeSim };
        self.evaluator.executes() || self.evaluator == compares || self.pred_postprocessors.iter().any(is_of_programs)
    }
}

impl InferSpec {
    /// Returns the request for one answer: an answer does not depend on the number of answers that are asked for beside it.
    #[must_use]
    pub fn asked_once(&self) -> Self {
        let mut infer = self.clone();
        if let Self::Gen(generation) = &mut infer {
            generation.decoding.num_return_sequences = None;
        }
        infer
    }

    /// Returns whether texts are scored, not continued.
    pub fn scores(&self) -> bool {
        !matches!(self, Self::Gen(_) | Self::Chat { .. } | Self::Execute)
    }
}

impl Endpoint {
    /// Returns why it cannot run a kind of request; `None` where it can.
    pub fn misfit(&self, infer: &InferSpec) -> Option<&'static str> {
        match (infer, self.api) {
            (InferSpec::Gen(_), _) | (InferSpec::Chat { .. }, EndpointApi::Chat) => None,
            (InferSpec::Chat { .. }, EndpointApi::Completions) => {
                Some("conversations are asked for with `api = \"chat\"`")
            }
            (InferSpec::Execute, _) => Some("an endpoint runs no programs"),
            (_, EndpointApi::Chat) => Some(
                "a chat endpoint gives no log-probabilities of the prompt, so that only `gen` and `chat` run on it; write \
                 `api = \"completions\"` where the server scores prompts (vLLM, SGLang)",
            ),
            (InferSpec::PplNormalized { .. }, _) => Some("`normalizing_str` is not scored through an endpoint yet"),
            (InferSpec::MeanLoglikelihood, _) => {
                Some("OpenCompass's mean log-likelihood is not scored through an endpoint yet; write `loglikelihood`")
            }
            (InferSpec::Clp | InferSpec::Rolling | InferSpec::InferencePpl, _) => {
                Some("it is not scored through an endpoint yet")
            }
            (InferSpec::SwceLoss { .. }, _) => Some(
                "its windows are cut between tokens of all texts, which an endpoint takes as texts; run it on the model's \
                 files (`type = \"hf\"`)",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::BatchSpec;
    use crate::prompt::ShotFormat;

    #[test]
    fn programs_are_known_by_what_reads_them() {
        let of = |evaluator: EvaluatorSpec, postprocessors: &[Postprocessor]| {
            let pred_postprocessors = postprocessors.to_vec();
            EvalSpec { pred_postprocessors, ..EvalSpec::new(evaluator) }.takes_programs()
        };
        assert!(of(EvaluatorSpec::HumanEval { k: vec![1] }, &[]) && of(EvaluatorSpec::MbppPassK { k: vec![1] }, &[]));
        assert!(of(EvaluatorSpec::Score { score: TextScore::LongbenchCodeSim }, &[]));
        assert!(
            of(EvaluatorSpec::Acc, &[Postprocessor::HumanevalV2]) && of(EvaluatorSpec::Acc, &[Postprocessor::Mbpp])
        );
        assert!(!of(EvaluatorSpec::Acc, &[]) && !of(EvaluatorSpec::Em, &[Postprocessor::BbhMcq]));
    }

    #[test]
    fn a_batch_without_programs_is_written_as_before() {
        let batch = |takes_programs| BatchSpec {
            infer: InferSpec::Ppl,
            shot_format: ShotFormat::default(),
            meta_template: None,
            takes_programs,
        };
        let json = serde_json::to_value(batch(false)).unwrap();
        assert!(json.get("takes_programs").is_none());
        assert_eq!(serde_json::from_value::<BatchSpec>(json).unwrap(), batch(false));
        assert_eq!(serde_json::to_value(batch(true)).unwrap()["takes_programs"], true);
    }
}

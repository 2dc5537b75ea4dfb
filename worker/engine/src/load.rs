//! From a model's plan to an engine.

use crate::config::ModelConfig;
use crate::device::{DeviceChoice, resolve};
use crate::executor::Executor;
use crate::fault::file_fault;
use crate::models::{CausalLm, Family, Placement};
use crate::reproducible::make_mkl_reproducible;
use crate::tokenizer::{TextTokenizer, TokenizerKwargs};
use crate::weights::Weights;
use compass_common::engine::{Engine, EngineFault, ModelFacts};
use compass_common::plan::{Dtype, ModelKind, ModelPlan};
use std::path::Path;
use tch::{Device, Kind};

/// Longest input of a model whose files name no limit; lm-eval's default.
const DEFAULT_MAX_SEQ_LEN: u32 = 2048;

/// Rotary tables made at once; longer contexts make them grow.
const ROPE_POSITIONS: u32 = 4096;

/// Loads a model. The engine must stay on the calling thread, whose number of libtorch threads becomes `threads`
/// (at least 1).
///
/// # Errors
/// [`EngineFault::Model`] when the files are missing, damaged, or ask for what is not supported: one message that names
/// the file, and the tensor where there is one. [`EngineFault::Device`] when the device is not there or fails.
pub fn load(plan: &ModelPlan, device: &DeviceChoice, threads: u32) -> Result<Box<dyn Engine>, EngineFault> {
    if matches!(plan.kind, ModelKind::Echo | ModelKind::Sandbox) {
        let what = format!(
            "model `{}` is of kind {:?}, which needs no weights and is not run by libtorch",
            plan.abbr, plan.kind
        );
        return Err(EngineFault::Model(what));
    }
    tch::set_num_threads(i32::try_from(threads.max(1)).unwrap_or(i32::MAX));
    let _no_grad = tch::no_grad_guard();
    let mut notes: Vec<String> = make_mkl_reproducible().map(str::to_owned).into_iter().collect();
    let device = resolve(*device)?;
    let directory = Path::new(&plan.path);
    if !directory.is_dir() {
        return Err(file_fault(directory, "no such model directory on this machine"));
    }
    let config = ModelConfig::read(directory, plan.kind)?;
    let kwargs = TokenizerKwargs::parse(&plan.tokenizer_kwargs).map_err(EngineFault::Model)?;
    let bos = kwargs.bos_policy(plan.bos);
    let tokenizer = TextTokenizer::read(Path::new(&plan.tokenizer_path), bos, config.bos_token_id)?;
    let trained = config.max_position_embeddings.or(tokenizer.model_max_length()).unwrap_or(DEFAULT_MAX_SEQ_LEN);
    let max_seq_len = plan.max_seq_len.unwrap_or(trained);
    if max_seq_len == 0 {
        return Err(EngineFault::Model(format!("model `{}`: max_seq_len must be at least 1", plan.abbr)));
    }
    let model = load_model(directory, plan.kind, &config, plan.dtype, device, max_seq_len, &mut notes)?;
    if let Some(most) = model.most_positions().filter(|&most| most < max_seq_len as usize) {
        let what = format!(
            "model `{}`: max_seq_len {max_seq_len} goes beyond the {most} positions that the model has learnt",
            plan.abbr
        );
        return Err(EngineFault::Model(what));
    }
    if max_seq_len > trained {
        notes
            .push(format!("max_seq_len {max_seq_len} goes beyond the {trained} positions that the model was made for"));
    }
    let mut eos = config.eos_token_ids.clone();
    eos.extend(tokenizer.eos_id());
    let facts = ModelFacts {
        max_seq_len,
        characters_per_token: tokenizer.characters_per_token(),
        bos_token: tokenizer.bos_text(),
        eos_token: tokenizer.eos_text(eos.first().copied()),
        notes,
    };
    Ok(Box::new(Executor::new(plan, model, (tokenizer, kwargs), facts, eos)?))
}

/// The model alone; `notes` receives what its files ask for that is not obeyed.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_model(
    directory: &Path,
    layout: ModelKind,
    config: &ModelConfig,
    dtype: Dtype,
    device: Device,
    max_seq_len: u32,
    notes: &mut Vec<String>,
) -> Result<Box<dyn CausalLm>, EngineFault> {
    let kind = match dtype {
        Dtype::Float32 => Kind::Float,
        Dtype::Bfloat16 => Kind::BFloat16,
        Dtype::Float16 => Kind::Half,
    };
    let family = Family::of_layout(layout, config)?;
    let weights = Weights::open(directory, layout, ModelConfig::file_of(layout), (kind, device))?;
    let to = Placement { kind, device, positions: i64::from(max_seq_len.min(ROPE_POSITIONS)) };
    Ok(Box::new(family.load(config, weights, to, notes)?))
}

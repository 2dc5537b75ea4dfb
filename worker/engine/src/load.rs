//! Loads the engine of a model.

use crate::config::ModelConfig;
use crate::cuda::cuda_memory;
use crate::device::{DeviceChoice, device_name, resolve_all};
use crate::executor::{Executor, generation_defaults, sequences_at_once};
use crate::fault::{device_fault, file_fault, missing_fault};
use crate::guarded::Guarded;
use crate::invariance::is_batch_invariant;
use crate::memory::free_bytes;
use crate::models::{CausalLm, Family, Placement, Stages};
use crate::placement::{Rooms, place_layers, workers_that_fit};
use crate::reproducible::{make_mkl_reproducible, set_deterministic};
use crate::tokenizer::{TextTokenizer, TokenizerKwargs};
use crate::weights::{UnchangedFile, Weights};
use compass_plan::engine::{Engine, EngineFault, ModelFacts};
use compass_plan::weights::adapter::read_adapter;
use compass_plan::weights::{FileMark, Pin, files};
use compass_plan::{Dtype, ModelKind, ModelPlan, NumericProfile};
use std::collections::BTreeMap;
use std::path::Path;
use tch::{Device, Kind};

/// Maximum input of a model whose files have no limit; lm-eval's default.
const DEFAULT_MAX_SEQ_LEN: u32 = 2048;

/// Initial size of rotary tables, which grow for longer contexts.
const ROPE_POSITIONS: u32 = 4096;

/// Loads a model. The engine must stay on the calling thread, whose number of libtorch threads becomes `threads`
/// (at least 1).
///
/// # Errors
/// [`EngineFault::Missing`] if files are missing or unreadable, [`EngineFault::Model`] if they are damaged or ask for
/// unsupported features, with the file's name, and the tensor's if there is one. [`EngineFault::Device`] if the device
/// is missing or fails.
pub fn load(plan: &ModelPlan, device: &DeviceChoice, threads: u32) -> Result<Box<dyn Engine>, EngineFault> {
    load_colocated(plan, device, threads, 1, Vec::new())
}

/// Loads a model as [`load`] does, where `colocated_engines` (at least 1) share a device or a set of devices. Its notes begin
/// with `notes`.
///
/// # Errors
/// As [`load`]; [`EngineFault::Device`] also if a GPU has no room for that many, with the number that fits.
pub fn load_colocated(
    plan: &ModelPlan,
    device: &DeviceChoice,
    threads: u32,
    colocated_engines: u32,
    notes: Vec<String>,
) -> Result<Box<dyn Engine>, EngineFault> {
    load_from(plan, device, threads, colocated_engines, (WeightSource::Files, notes))
}

/// Loads a model as [`load`] does, whose directory needs no weights: they are made on the device, from `seed`.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_random(
    plan: &ModelPlan,
    device: &DeviceChoice,
    threads: u32,
    seed: i64,
) -> Result<Box<dyn Engine>, EngineFault> {
    load_from(plan, device, threads, 1, (WeightSource::Random(seed), Vec::new()))
}

/// The claim that a model on this GPU does not keep, tried when it was loaded.
const DEPENDS_ON_NEIGHBOURS: &str = "on this GPU the last bits of a sample depend on what is computed beside it, so that scores may differ \
     in their last digits, and generated texts in words, with the number of workers and the partitioner";

/// The claim that is not made, because it was not wanted.
const NOT_DETERMINISTIC: &str =
    "`deterministic = false`: the last bits of a sample may depend on what is computed beside it";

/// Source of tensors.
#[derive(Clone, Copy, Debug)]
enum WeightSource {
    Files,
    /// They are made from this seed.
    Random(i64),
}

fn load_from(
    plan: &ModelPlan,
    device: &DeviceChoice,
    threads: u32,
    colocated_engines: u32,
    (source, mut notes): (WeightSource, Vec<String>),
) -> Result<Box<dyn Engine>, EngineFault> {
    if matches!(plan.kind, ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox) {
        let what = format!(
            "model `{}` is of kind {:?}, which needs no weights and is not run by libtorch",
            plan.abbr, plan.kind
        );
        return Err(EngineFault::Model(what));
    }
    tch::set_num_threads(i32::try_from(threads.max(1)).unwrap_or(i32::MAX));
    let _no_grad = tch::no_grad_guard();
    set_deterministic(plan.deterministic);
    notes.extend(make_mkl_reproducible().map(str::to_owned));
    let devices = resolve_all(*device, plan.num_gpus)?;
    let home = devices.first().copied().unwrap_or(Device::Cpu);
    let directory = Path::new(&plan.path);
    if !directory.is_dir() {
        return Err(missing_fault(directory, "no such model directory on this machine"));
    }
    let small = small_files(plan)?;
    let config = ModelConfig::read(directory, plan.kind)?;
    let kwargs = TokenizerKwargs::parse(&plan.tokenizer_kwargs).map_err(EngineFault::Model)?;
    let bos = kwargs.bos_policy(plan.bos);
    let tokenizer = TextTokenizer::read(Path::new(&plan.tokenizer_path), bos, config.bos_token_id)?;
    let trained = config.max_position_embeddings.or(tokenizer.model_max_length()).unwrap_or(DEFAULT_MAX_SEQ_LEN);
    let max_seq_len = plan.max_seq_len.unwrap_or(trained);
    if max_seq_len == 0 {
        return Err(EngineFault::Model(format!("model `{}`: max_seq_len must be at least 1", plan.abbr)));
    }
    let on = Spread::ByMemory { devices: &devices, colocated_engines };
    let mut opened = match source {
        WeightSource::Files => open(directory, plan.kind, &config, plan.dtype, on.home())?,
        WeightSource::Random(seed) => open_random(directory, &config, (plan.kind, plan.dtype), on.home(), seed)?,
    };
    if let Some(adapter) = &plan.peft_path {
        opened.weights.adapt(Path::new(adapter))?;
    }
    let weights = opened.weights.digest(small.clone())?;
    if let Some(difference) = plan.pin.as_ref().and_then(|pin| pin.weights.difference(&weights)) {
        return Err(file_fault(directory, difference));
    }
    let files = opened.weights.unchanged()?;
    if plan.profile != NumericProfile::Canonical {
        opened.weights.tie_as_configured();
    }
    let LoadedModel { mut model, is_mapped, remarks } = load_model(opened, &config, on, max_seq_len, &mut notes)?;
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
    if home != Device::Cpu && plan.dtype == Dtype::Float32 {
        notes.push(
            "computes in float32 on a GPU: write `dtype = \"bfloat16\"`, or `device = \"cuda\"` to take the checkpoint's own, \
             unless that is wanted"
                .into(),
        );
    }
    if home != Device::Cpu {
        if !plan.deterministic {
            notes.push(NOT_DETERMINISTIC.into());
        } else if !is_batch_invariant(model.as_mut()).map_err(|error| device_fault(&error))? {
            notes.push(DEPENDS_ON_NEIGHBOURS.into());
        }
    }
    let generation = generation_defaults(plan, &mut notes)?;
    if small_files(plan)? != small {
        return Err(file_fault(directory, "its configuration or tokenizer changed while the model was loaded"));
    }
    if let Some(path) = files.iter().find_map(UnchangedFile::changed) {
        return Err(file_fault(path, "it was written to while the model was loaded"));
    }
    let pin = Some(Pin { weights, generation: generation.clone() });
    let facts = ModelFacts {
        device: device_name(home),
        sequences: sequences_at_once(home) as u32,
        max_seq_len,
        characters_per_token: tokenizer.characters_per_token(),
        bos_token: tokenizer.bos_text(),
        eos_token: tokenizer.eos_text(eos.first().copied()),
        notes,
        remarks,
        pin,
    };
    let executor = Executor::new(plan, model, (tokenizer, kwargs), facts, eos, generation)?;
    // On a GPU the weights are copies.
    let files = if is_mapped { files } else { Vec::new() };
    Ok(Box::new(Guarded::new(executor, files)))
}

/// Digests of the small files of a model, which are read whole.
fn small_files(plan: &ModelPlan) -> Result<BTreeMap<String, FileMark>, EngineFault> {
    let directory = Path::new(&plan.path);
    let files = files::read_small(directory, Path::new(&plan.tokenizer_path));
    let mut files = files.map_err(|error| missing_fault(directory, error))?;
    if let Some(adapter) = plan.peft_path.as_deref().map(Path::new) {
        files.extend(read_adapter(adapter).map_err(|error| missing_fault(adapter, error))?);
    }
    Ok(files)
}

/// Devices on which to load a model.
pub(crate) enum Spread<'a> {
    /// All on the first device, or the layers over all of them by their memory, if there are several.
    ByMemory { devices: &'a [Device], colocated_engines: u32 },
    /// The layers on these devices, the rest on the first.
    Layers(&'a [Device]),
}

impl Spread<'_> {
    /// Returns the device of everything outside the layers.
    pub(crate) fn home(&self) -> Device {
        let (Self::ByMemory { devices, .. } | Self::Layers(devices)) = self;
        devices.first().copied().unwrap_or(Device::Cpu)
    }
}

/// Returns the device of each layer by the memory of the devices; empty if everything fits on the first.
fn arrange(weights: &Weights, devices: &[Device], colocated_engines: u32) -> Result<Vec<Device>, EngineFault> {
    let memory = |device: &Device| match device {
        Device::Cuda(ordinal) => cuda_memory(*ordinal),
        _ => None,
    };
    let known: Vec<(usize, usize)> = devices.iter().filter_map(memory).collect();
    if known.len() < devices.len() {
        // The CPU, or a GPU that does not report its memory: loading fails if there is too little.
        return Ok(Vec::new());
    }
    let sizes = weights.sizes();
    let all = sizes.all();
    if colocated_engines > 1 {
        let total = known.iter().map(|(_, total)| *total as u64).sum();
        let fit = workers_that_fit(total, all + OF_A_WORKER);
        if fit < u64::from(colocated_engines) {
            return Err(EngineFault::Device(format!(
                "{colocated_engines} workers of {} GiB of weights each do not fit on one GPU of {} GiB: write `max_workers_per_gpu = \
                 {}`, or start the worker with fewer --slots",
                all >> 30,
                total >> 30,
                fit.max(1)
            )));
        }
    }
    if devices.len() < 2 {
        return Ok(Vec::new());
    }
    let share = |free: usize| free as u64 / u64::from(colocated_engines.max(1));
    let rooms = Rooms { gpus: known.iter().map(|(free, _)| share(*free)).collect(), cpu: share(free_bytes()) };
    let places = place_layers(&sizes, &rooms).ok_or_else(|| {
        let gpus = devices.len();
        EngineFault::Device(format!(
            "{} GiB of weights fit neither on {gpus} GPUs nor, beyond them, in the CPU's memory: raise run_cfg.num_gpus",
            all >> 30
        ))
    })?;
    Ok(places.into_iter().map(|place| devices.get(place).copied().unwrap_or(Device::Cpu)).collect())
}

/// Minimum memory of a worker on a GPU in addition to its weights: the library's own, keys and values, activations.
const OF_A_WORKER: u64 = 2 << 30;

/// Least rows of a micro-batch where layers are spread by hand.
const OF_A_TRIED_PASS: usize = 4;

/// A checkpoint that was opened, without loaded weights.
pub(crate) struct Opened {
    family: &'static Family,
    pub(crate) weights: Weights,
    kind: Kind,
    device: Device,
}

/// Opens the checkpoint in `directory` for computing in `dtype`; tensors go to `device` unless spread.
///
/// # Errors
/// As [`load`].
pub(crate) fn open(
    directory: &Path,
    layout: ModelKind,
    config: &ModelConfig,
    dtype: Dtype,
    device: Device,
) -> Result<Opened, EngineFault> {
    let (kind, family) = (kind_of(dtype), Family::of_layout(layout, config)?);
    let mut weights = Weights::open(directory, layout, ModelConfig::file_of(layout), (kind, device))?;
    if let Some(fp8) = config.fp8 {
        weights.dequantise(fp8)?;
    }
    Ok(Opened { family, weights, kind, device })
}

/// Returns what [`open`] does, for a checkpoint without weights.
pub(crate) fn open_random(
    directory: &Path,
    config: &ModelConfig,
    (layout, dtype): (ModelKind, Dtype),
    device: Device,
    seed: i64,
) -> Result<Opened, EngineFault> {
    let (kind, family) = (kind_of(dtype), Family::of_layout(layout, config)?);
    let weights = Weights::random(directory, ModelConfig::file_of(layout), (kind, device), seed);
    Ok(Opened { family, weights, kind, device })
}

/// Returns libtorch's name of a number format.
pub(crate) fn kind_of(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::Float32 => Kind::Float,
        Dtype::Bfloat16 => Kind::BFloat16,
        Dtype::Float16 => Kind::Half,
    }
}

/// A model without tokenizer.
pub(crate) struct LoadedModel {
    pub(crate) model: Box<dyn CausalLm>,
    /// Set if some of its weights may be the mapped files themselves: the weights that are computed on the CPU.
    pub(crate) is_mapped: bool,
    /// As in [`ModelFacts`].
    pub(crate) remarks: Vec<String>,
}

/// Loads the model without tokenizer onto `on`, where `opened` was opened for its first device; appends notes on
/// ignored settings to `notes`.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_model(
    opened: Opened,
    config: &ModelConfig,
    on: Spread<'_>,
    max_seq_len: u32,
    notes: &mut Vec<String>,
) -> Result<LoadedModel, EngineFault> {
    let Opened { family, mut weights, kind, device } = opened;
    let (sharing, stages) = match on {
        Spread::ByMemory { colocated_engines, .. } => (colocated_engines.max(1) as usize, Stages::ByDevice),
        Spread::Layers(_) => (1, Stages::EachLayer { least_rows: OF_A_TRIED_PASS }),
    };
    let layers = match on {
        Spread::ByMemory { devices, colocated_engines } => arrange(&weights, devices, colocated_engines)?,
        Spread::Layers(devices) => devices.to_vec(),
    };
    let is_mapped = device == Device::Cpu || layers.contains(&Device::Cpu);
    if layers.contains(&Device::Cpu) && device != Device::Cpu {
        notes.push("the GPUs cannot hold all layers: the last ones are computed on the CPU, slowly".into());
    }
    let sizes = weights.sizes();
    weights.spread(layers);
    let positions = i64::from(max_seq_len.min(ROPE_POSITIONS));
    let to = Placement {
        kind,
        device,
        positions,
        sharing,
        weights: (sizes.outside as usize, sizes.of_layer() as usize),
        stages,
    };
    let mut remarks = Vec::new();
    let model = Box::new(family.load(config, weights, to, notes, &mut remarks)?);
    Ok(LoadedModel { model, is_mapped, remarks })
}

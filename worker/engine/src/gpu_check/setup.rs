//! Setup of a section, and the engine for it.

use crate::cuda::{CudaLibrary, CudaRuntime};
use crate::device::DeviceChoice;
use crate::load::{load, load_random};
use compass_plan::engine::{BatchSpec, Engine, EngineFault, Request, TokenCounters};
use compass_plan::prompt::ShotFormat;
use compass_plan::{Dtype, InferSpec, ModelPlan, Sample};
use compass_types::result::SampleResult;
use std::time::Instant;

/// From which random weights are made.
const SEED: i64 = 20_261_124;

/// Setup of a section.
#[derive(Clone, Debug)]
pub struct CheckSetup {
    /// The model: its folder holds config.json and a tokenizer, and its weights unless they are made.
    pub plan: ModelPlan,
    /// Name of the configuration whose weights are made; `None` where they are read.
    pub random: Option<String>,
    pub device: DeviceChoice,
    pub threads: u32,
    /// The CUDA half, as found when the device was chosen.
    pub library: CudaLibrary,
    pub runtime: CudaRuntime,
}

impl CheckSetup {
    /// Returns whether this is the CPU, where the amounts are small.
    pub(super) fn is_cpu(&self) -> bool {
        self.device == DeviceChoice::Cpu
    }

    /// Returns the amount for this device: `full` on a GPU, `small` on the CPU.
    pub(super) fn amount<T>(&self, full: T, small: T) -> T {
        if self.is_cpu() { small } else { full }
    }

    /// Returns whether goals of speed hold here: they are for Llama 3 8B in bfloat16 on an H100 or H200.
    pub(super) fn has_speed_goals(&self, device: &str) -> bool {
        self.random.as_deref() == Some("llama-8b")
            && self.plan.dtype == Dtype::Bfloat16
            && ["H100", "H200"].iter().any(|name| device.contains(name))
    }

    /// Loads the model.
    pub(super) fn load(&self) -> Result<Box<dyn Engine>, EngineFault> {
        match self.random {
            Some(_) => load_random(&self.plan, &self.device, self.threads, SEED),
            None => load(&self.plan, &self.device, self.threads),
        }
    }
}

/// Runs samples without shots; returns their results in the order of their indices, the counters, and the seconds.
pub(super) fn run_timed(
    engine: &mut dyn Engine,
    infer: &InferSpec,
    samples: &[Sample],
) -> Result<(Vec<SampleResult>, TokenCounters, f64), EngineFault> {
    let requests: Vec<Request<'_>> = samples.iter().map(|sample| Request::new(sample, Vec::new())).collect();
    let spec = BatchSpec {
        infer: infer.clone(),
        shot_format: ShotFormat::default(),
        meta_template: None,
        takes_programs: false,
    };
    let (mut results, start) = (Vec::with_capacity(samples.len()), Instant::now());
    let counters = engine.run(&spec, &requests, &mut |result| results.push(result))?;
    let seconds = start.elapsed().as_secs_f64();
    results.sort_by_key(|result| result.index);
    Ok((results, counters, seconds))
}

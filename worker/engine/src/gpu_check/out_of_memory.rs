//! Fate of samples, and of a second model, when a GPU's memory runs out: memory is taken away beforehand.

use super::finding::{CheckStatus, Finding};
use super::setup::{CheckSetup, run_timed};
use super::workload::{generation, to_continue, to_score};
use crate::cuda::cuda_memory;
use crate::device::DeviceChoice;
use crate::fault::device_fault;
use compass_plan::engine::{Engine, EngineFault};
use compass_plan::{InferSpec, Sample};
use compass_types::result::Outcome;
use tch::{Device, Kind, Tensor};

const SECTION: &str = "out-of-memory";

const MIB: usize = 1 << 20;

/// Memory left free beside the model, in MiB: too little for a second model, or for a long text.
const LEFT: usize = 1000;

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let DeviceChoice::Cuda(ordinal) = setup.device else {
        report(Finding::ended(SECTION, CheckStatus::Skipped, "a CPU's memory is not taken away"));
        return Ok(());
    };
    let mut engine = setup.load()?;
    // Held to the end, and taken before anything is freed: libtorch's allocator would keep that, and give it again.
    let taken = leave(ordinal as usize, LEFT)?;
    let (said, is_good) = match setup.load() {
        Ok(_) => ("it was loaded".to_owned(), false),
        Err(fault) => {
            let is_helpful = matches!(fault, EngineFault::Device(_)) && fault.to_string().contains("help:");
            (fault.to_string(), is_helpful)
        }
    };
    report(
        Finding::measured(SECTION, "a second model without room", said, "")
            .judged("an error with its remedy, and the first goes on", Some(is_good)),
    );
    let longest = engine.facts().max_seq_len as usize - 1;
    let mut short = to_score("", 24, 60, 2, 4, 7000);
    // One that is longer than all others together.
    let mut long = to_score("", 1, longest.min(8000) - 8, 1, 4, 7100);
    for (index, sample) in (short.len() as u32..).zip(&mut long) {
        sample.index = index;
    }
    short.append(&mut long);
    outcomes(engine.as_mut(), &format!("texts scored, {LEFT} MiB free"), &InferSpec::Ppl, &short, report)?;
    let asked = to_continue("", 24, 60, 7200);
    outcomes(engine.as_mut(), &format!("texts continued, {LEFT} MiB free"), &generation(8, false), &asked, report)?;
    drop((taken, engine));
    Ok(())
}

/// Takes memory until this many MiB are left.
pub(super) fn leave(ordinal: usize, left: usize) -> Result<Tensor, EngineFault> {
    let (free, _) = cuda_memory(ordinal).unwrap_or_default();
    let bytes = free.saturating_sub(left * MIB) as i64;
    Tensor::f_empty([bytes], (Kind::Uint8, Device::Cuda(ordinal))).map_err(|error| device_fault(&error))
}

/// Runs samples. Only samples without enough memory may fail, with that reason.
fn outcomes(
    engine: &mut dyn Engine,
    name: &str,
    infer: &InferSpec,
    samples: &[Sample],
    report: &mut dyn FnMut(Finding),
) -> Result<(), EngineFault> {
    let (results, _, _) = run_timed(engine, infer, samples)?;
    let reasons = results.iter().filter_map(|result| match &result.outcome {
        Outcome::Failed { reason } | Outcome::NoRoom { reason } => Some(reason.as_str()),
        _ => None,
    });
    let reasons: Vec<&str> = reasons.collect();
    let other = reasons.iter().find(|reason| !reason.contains("not enough memory"));
    let done = results.len() - reasons.len();
    let value = match (other, reasons.first()) {
        (Some(other), _) => format!("{done} of {}; {other}", samples.len()),
        (None, Some(reason)) => format!("{done} of {}; {reason}", samples.len()),
        (None, None) => format!("{done} of {}", samples.len()),
    };
    // The long one may lack memory.
    let is_good = results.len() == samples.len() && other.is_none() && reasons.len() <= 1;
    report(Finding::measured(SECTION, name, value, "").judged("all, but for at most the longest", Some(is_good)));
    Ok(())
}

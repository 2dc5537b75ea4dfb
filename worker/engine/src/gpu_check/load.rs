//! Speed at which a model is loaded onto the device.

use super::finding::Finding;
use super::setup::CheckSetup;
use compass_plan::engine::EngineFault;
use std::fs;
use std::time::Instant;

const SECTION: &str = "load";

/// Files below this size are not weights.
const SMALLEST_WEIGHTS: u64 = 1 << 16;

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let start = Instant::now();
    let engine = setup.load()?;
    let seconds = start.elapsed().as_secs_f64();
    if setup.random.is_some() {
        report(Finding::measured(SECTION, "weights made on the device", seconds, "s"));
        return Ok(());
    }
    report(Finding::measured(SECTION, "weights read, page cache as it was", seconds, "s"));
    let entries = fs::read_dir(&setup.plan.path).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| fs::metadata(entry.path()).ok()).map(|metadata| metadata.len());
    let bytes: u64 = sizes.filter(|bytes| *bytes >= SMALLEST_WEIGHTS).sum();
    let speed = bytes as f64 / 1e9 / seconds.max(1e-9);
    // On the CPU files are mapped, and read when they are needed.
    let is_met = (!setup.is_cpu()).then_some(speed >= 3.0);
    report(Finding::measured(SECTION, "speed", speed, "GB/s").judged("at least 3 GB/s onto a GPU", is_met));
    drop(engine);
    Ok(())
}

//! Faults of a history with their times, and how they are drawn.

use compass_types::seeded::Rng;

/// Faults happen before this time.
pub(super) const FAULTS_UNTIL: u64 = 25_000;

/// Number of ways in which a broken worker changes results.
pub(super) const GARBLES: u64 = 4;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The worker's process is gone; another comes under its name after `back_after` ms.
    WorkerCrash { worker: usize, back_after: u64 },
    /// The worker's process is stopped for `ms`.
    WorkerPause { worker: usize, ms: u64 },
    /// Samples take the worker `times` times as long.
    WorkerSlow { worker: usize, times: u64, ms: u64 },
    /// The worker drains and goes; another comes under its name.
    WorkerDrain { worker: usize },
    /// The launcher's time for the worker is nearly up.
    TimeIsUp { worker: usize },
    /// The worker's connection takes nothing for so long.
    Choke { worker: usize, ms: u64 },
    /// The worker's connection takes nothing for `ms`.
    Release { worker: usize },
    /// An engine of the worker breaks, and its grant is handed back.
    EngineBreaks { worker: usize },
    /// The device of the worker's engine is lost while it computes, and does not come back.
    DeviceLost { worker: usize },
    /// The worker hands in samples that it was never granted, then claims a whole unit in its next hello.
    Lies { worker: usize },
    /// The next `results` results of the worker do not fit the plan, in one of several ways.
    Garbles { worker: usize, results: u32, way: u64 },
    /// The worker's connection breaks, with what is on it.
    Cut { worker: usize },
    /// Nothing gets through between the worker and the masters; what was sent comes afterwards, if it still can.
    Partition { worker: usize, ms: u64 },
    /// Messages to the worker take up to `by` ms longer, and its own messages too, unless only `answers` are late.
    Lag { worker: usize, by: u64, answers: bool, ms: u64 },
    /// Frames of the worker's come twice or in another order.
    Stutter { worker: usize, ms: u64 },
    /// The master's process is gone, with what was not synced; another comes after so long.
    MasterCrash { master: usize, back_after: u64 },
    /// The master's process is stopped for so long.
    MasterPause { master: usize, ms: u64 },
    /// The master does not reach the store; where `held`, what it asks gets there afterwards.
    Isolation { master: usize, ms: u64, held: bool },
    /// The store answers no request and does nothing.
    StoreDown { ms: u64 },
    /// The store does what it is asked and its answers are lost.
    StoreDeaf { ms: u64 },
    /// A job is cancelled.
    Cancel { job: usize },
}

/// A fault and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub at: u64,
    pub kind: FaultKind,
}

/// Draws workers that lie, or whose memory is broken: at least one that is not barred always remains.
pub(super) fn draw_untrue(rng: &mut Rng, workers: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    if rng.chance(150) {
        let worker = rng.below(workers as u64) as usize;
        faults.extend(
            (0..rng.between(1, 3)).map(|_| Fault { at: rng.below(FAULTS_UNTIL / 2), kind: FaultKind::Lies { worker } }),
        );
    }
    if rng.chance(150) {
        let worker = rng.below(workers as u64) as usize;
        let most = if worker == 0 && workers > 1 { 9 } else { 2 };
        let (results, way) = (rng.between(1, most) as u32, rng.below(GARBLES));
        faults.push(Fault { at: rng.below(FAULTS_UNTIL / 2), kind: FaultKind::Garbles { worker, results, way } });
    }
    faults
}

/// Draws a fault among this many masters and workers.
pub(super) fn draw_kind(rng: &mut Rng, masters: usize, workers: usize) -> FaultKind {
    let (worker, master) = (rng.below(workers as u64) as usize, rng.below(masters as u64) as usize);
    let ms = if rng.chance(500) { rng.between(200, 3_000) } else { rng.between(3_000, 16_000) };
    match rng.below(49) {
        0..=3 => FaultKind::WorkerCrash { worker, back_after: ms },
        4..=7 => FaultKind::WorkerPause { worker, ms },
        8..=9 => FaultKind::WorkerSlow { worker, times: rng.between(2, 8), ms },
        10 => FaultKind::WorkerDrain { worker },
        11..=12 => FaultKind::EngineBreaks { worker },
        13..=16 => FaultKind::Cut { worker },
        17..=20 => FaultKind::Partition { worker, ms },
        21..=22 => FaultKind::Lag { worker, by: rng.between(50, 4_500), answers: rng.chance(600), ms },
        23..=24 => FaultKind::Stutter { worker, ms },
        25..=29 => FaultKind::MasterCrash { master, back_after: ms },
        30..=33 => FaultKind::MasterPause { master, ms },
        34..=36 => FaultKind::Isolation { master, ms, held: rng.chance(500) },
        37..=38 => FaultKind::StoreDown { ms: ms.min(6_000) },
        39..=41 => FaultKind::StoreDeaf { ms: ms.min(6_000) },
        42..=44 => FaultKind::Release { worker },
        45 => FaultKind::TimeIsUp { worker },
        46..=47 => FaultKind::Choke { worker, ms },
        _ => FaultKind::Cancel { job: 0 },
    }
}

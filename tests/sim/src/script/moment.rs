//! Moments that a script waits for, and bounds that hold at every moment.

use crate::world::World;
use std::fmt;

type Holds = Box<dyn Fn(&mut World) -> bool>;

/// A moment: the first at which something holds.
pub(crate) struct Moment {
    pub(super) what: String,
    /// Milliseconds from the moment before, where only time is waited for.
    pub(super) after: u64,
    pub(super) holds: Holds,
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

fn moment(what: String, holds: impl Fn(&mut World) -> bool + 'static) -> Moment {
    Moment { what, after: 0, holds: Box::new(holds) }
}

/// So much time has passed since the moment before.
pub(crate) fn elapsed(ms: u64) -> Moment {
    Moment { after: ms, ..moment(format!("{ms} ms have passed"), |_| true) }
}

/// This many samples of all jobs are recorded.
pub(crate) fn recorded(samples: usize) -> Moment {
    moment(format!("{samples} samples are recorded"), move |world| {
        (0..world.jobs.len()).map(|job| world.oracle.recorded(job)).sum::<usize>() >= samples
    })
}

/// This many samples of a job are recorded.
pub(crate) fn recorded_of(job: usize, samples: usize) -> Moment {
    moment(format!("{samples} samples of job {job} are recorded"), move |world| world.oracle.recorded(job) >= samples)
}

/// This many samples are recorded for which a worker gave a result.
pub(crate) fn recorded_by(worker: usize, samples: usize) -> Moment {
    moment(format!("{samples} samples of w{worker} are recorded"), move |world| {
        let Some(tally) = &world.tally else { return false };
        tally.computed_by(worker).filter(|key| world.oracle.believes(*key)).count() >= samples
    })
}

/// A worker has begun this many samples.
pub(crate) fn begun(worker: usize, samples: u64) -> Moment {
    moment(format!("w{worker} has begun {samples} samples"), move |world| {
        world.tally.as_ref().is_some_and(|tally| tally.begun(worker) >= samples)
    })
}

/// The engines of a worker have given this many results.
pub(crate) fn computed(worker: usize, results: u64) -> Moment {
    moment(format!("w{worker} has computed {results} results"), move |world| {
        world.tally.as_ref().is_some_and(|tally| tally.computed(worker) >= results)
    })
}

/// An engine of a worker computes.
pub(crate) fn busy(worker: usize) -> Moment {
    moment(format!("w{worker} computes"), move |world| world.workers[worker].is_busy())
}

/// A leader has welcomed a worker.
pub(crate) fn connected(worker: usize) -> Moment {
    moment(format!("w{worker} is connected"), move |world| world.workers[worker].is_connected())
}

/// A worker is at a server, and no job has it.
pub(crate) fn waits(worker: usize) -> Moment {
    moment(format!("w{worker} waits to be assigned"), move |world| {
        let known = &world.workers[worker];
        let waiting = |link: &usize| world.links.all[*link].worker == worker;
        known.alive && world.masters.iter().any(|master| master.waiting.keys().any(waiting))
    })
}

/// The first job is led in this epoch, or a later one.
pub(crate) fn epoch(epoch: u64) -> Moment {
    epoch_of(0, epoch)
}

/// A job is led in this epoch, or a later one, by a process that continues.
pub(crate) fn epoch_of(job: usize, epoch: u64) -> Moment {
    moment(format!("job {job} is led in epoch {epoch}"), move |world| {
        world.masters.iter_mut().any(|master| master.led_job(job).is_some_and(|led| led.epoch.0 >= epoch))
    })
}

/// A job is over.
pub(crate) fn is_over(job: usize) -> Moment {
    moment(format!("job {job} is over"), move |world| world.over[job].is_some())
}

/// Something worth seeing has happened.
pub(crate) fn saw(what: &'static str) -> Moment {
    moment(format!("seen: {what}"), move |world| world.oracle.seen.contains_key(what))
}

/// At every moment, a job has no more slots than this.
pub(crate) fn never_more_than(slots: u32, job: usize) -> Moment {
    moment(format!("job {job} has at most {slots} slots"), move |world| {
        let Some(at) = world.leader_of(job) else { return true };
        world.masters[at].led_job(job).is_none_or(|led| led.leader.core().progress().slots <= slots)
    })
}

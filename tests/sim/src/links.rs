//! The simulated network: connections as TCP gives them, with delays, breaks, partitions, and boxes in between that
//! repeat and reorder frames.

use super::scenario::Scenario;
use compass_types::seeded::Rng;

/// A connection of a worker's process to a master's process.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) worker: usize,
    pub(super) worker_life: u64,
    /// As the worker counts its connections.
    pub(super) number: u64,
    /// Time at which its hello left, by the worker's clock.
    pub(super) hello_sent: u64,
    /// The job whose leader has it.
    pub(super) job: Option<usize>,
    /// Set if its end is on its way to the master.
    pub(super) is_closing: bool,
    pub(super) master: usize,
    pub(super) master_life: u64,
    /// Broken: what is on it is lost.
    pub(super) broken: bool,
    last_up: u64,
    last_down: u64,
}

impl Link {
    /// Moves the times of the frames that went last.
    pub(super) fn moves(&mut self, comes: impl Fn(u64) -> u64) {
        (self.last_up, self.last_down) = (comes(self.last_up), comes(self.last_down));
    }
}

/// Effects of the network on one worker, each with its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weather {
    pub(super) parted_until: u64,
    pub(super) lag: u64,
    /// Only what goes down is late.
    pub(super) answers: bool,
    pub(super) lag_until: u64,
    pub(super) stutter_until: u64,
}

/// Connections, and what the network does to each worker.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) all: Vec<Link>,
    pub(super) weather: Vec<Weather>,
    bulk_passes: bool,
}

impl Links {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            all: Vec::new(),
            weather: vec![Weather::default(); scenario.workers.len()],
            bulk_passes: scenario.bulk_passes,
        }
    }

    /// A new connection of a process of a worker, the `number`th that it opens, to a process of a master.
    pub(super) fn connect(
        &mut self,
        (worker, worker_life, number): (usize, u64, u64),
        (master, master_life): (usize, u64),
    ) -> usize {
        self.all.push(Link {
            worker,
            worker_life,
            number,
            hello_sent: 0,
            job: None,
            is_closing: false,
            master,
            master_life,
            broken: false,
            last_up: 0,
            last_down: 0,
        });
        self.all.len() - 1
    }

    /// Returns the time at which content that travels beside the frames arrives.
    pub(super) fn bulk(&self, now: u64, worker: usize, rng: &mut Rng) -> u64 {
        let delayed = self.delay(now, worker, true, rng) + rng.between(1, 12);
        if self.bulk_passes { now + rng.between(2, 24) } else { delayed }
    }

    fn delay(&self, now: u64, worker: usize, up: bool, rng: &mut Rng) -> u64 {
        let weather = self.weather[worker];
        let late = now < weather.lag_until && !(up && weather.answers);
        let lag = if late { rng.below(weather.lag + 1) } else { 0 };
        let base = now + rng.between(1, 12) + lag;
        // The sender's kernel continues to try until the partition is over.
        if now < weather.parted_until { base.max(weather.parted_until + rng.between(1, 400)) } else { base }
    }

    /// Returns the times at which a frame up comes to the master: one, unless a box in between repeats it.
    pub(super) fn up(&mut self, now: u64, link: usize, rng: &mut Rng) -> Vec<u64> {
        let worker = self.all[link].worker;
        let at = self.delay(now, worker, true, rng);
        let in_order = at.max(self.all[link].last_up);
        if now < self.weather[worker].stutter_until {
            if rng.chance(100) {
                return vec![in_order, in_order + rng.below(300)];
            }
            if rng.chance(60) {
                return vec![in_order + rng.between(1, 300)];
            }
        }
        self.all[link].last_up = in_order;
        vec![in_order]
    }

    /// Returns the time at which a frame down comes to the worker.
    pub(super) fn down(&mut self, now: u64, link: usize, rng: &mut Rng) -> u64 {
        let at = self.delay(now, self.all[link].worker, false, rng).max(self.all[link].last_down);
        self.all[link].last_down = at;
        at
    }
}

//! A script with its play, the process tests that it stands for, and the mutant on which it fails.

use crate::mutant::Mutant;
use crate::run::SimulatedRun;
use crate::script::{Play, Script};

/// A script in place of tests of processes.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    pub name: &'static str,
    /// The tests that asserted the same with processes: their file and their name.
    pub of: &'static [&'static str],
    /// The mutant on which it fails.
    pub mutant: Mutant,
    pub(super) play: fn(Script) -> Play,
}

impl Moved {
    /// Plays it with the delays of a seed.
    pub fn run(&self, seed: u64, mutant: Option<Mutant>, traces: bool) -> SimulatedRun {
        let script = Script::new(seed).under(mutant);
        (self.play)(if traces { script.traced() } else { script }).end()
    }
}

//! Acts of a script at a moment. A process that is killed or stopped, and a way that is cut off, stays so until the script ends it.

use super::play::Play;
use crate::fault::{Fault, FaultKind};
use crate::mutant::Mutant;
use crate::world::Lasting;
use compass_scheduler::{Event, Supply};
use compass_types::ids::WorkerId;

impl Play {
    /// A fault as drawn histories have it: what excuses it there does so here.
    fn fault(mut self, kind: FaultKind) -> Self {
        if self.goes_on() {
            let fault = Fault { at: self.world.now, kind };
            self.world.scenario.faults.push(fault);
            self.world.fault(fault);
        }
        self
    }

    fn left(&self, lasting: Lasting) -> u64 {
        lasting.until() - self.world.now
    }

    fn ends(mut self, lasting: Lasting) -> Self {
        if self.goes_on() {
            self.world.oracle.note(self.world.now, || format!("OVER {lasting:?}"));
            self.world.is_over(lasting);
        }
        self
    }

    pub(crate) fn kill_worker(self, worker: usize) -> Self {
        let back_after = self.left(Lasting::WorkerGone(worker));
        self.fault(FaultKind::WorkerCrash { worker, back_after })
    }

    /// Starts a worker that is late, or was killed.
    pub(crate) fn start_worker(self, worker: usize) -> Self {
        self.ends(Lasting::WorkerGone(worker))
    }

    /// A worker hears a signal: it drains, and another process comes under its name.
    pub(crate) fn drain(self, worker: usize) -> Self {
        self.fault(FaultKind::WorkerDrain { worker })
    }

    pub(crate) fn break_engine(self, worker: usize) -> Self {
        self.fault(FaultKind::EngineBreaks { worker })
    }

    pub(crate) fn lose_device(self, worker: usize) -> Self {
        self.fault(FaultKind::DeviceLost { worker })
    }

    /// Nothing gets through between a worker and the masters.
    pub(crate) fn cut_off(self, worker: usize) -> Self {
        let ms = self.left(Lasting::CutOff(worker));
        self.fault(FaultKind::Partition { worker, ms })
    }

    pub(crate) fn heal(mut self, worker: usize) -> Self {
        self.world.links.weather[worker].parted_until = self.world.now;
        self.ends(Lasting::CutOff(worker))
    }

    /// A worker hands in results of others, and claims what it was never granted.
    pub(crate) fn lie(self, worker: usize) -> Self {
        self.fault(FaultKind::Lies { worker })
    }

    /// The next `results` results of a worker are of another kind than the plan asks for.
    pub(crate) fn garble(self, worker: usize, results: u32) -> Self {
        self.fault(FaultKind::Garbles { worker, results, way: 0 })
    }

    /// The process that leads the first job is killed.
    pub(crate) fn kill_leader(self) -> Self {
        let leader = self.world.leader_of(0).unwrap_or_default();
        self.kill_master(leader)
    }

    /// The process that leads the first job is stopped.
    pub(crate) fn pause_leader(self) -> Self {
        let master = self.world.leader_of(0).unwrap_or_default();
        let ms = self.left(Lasting::MasterStopped(master));
        self.fault(FaultKind::MasterPause { master, ms })
    }

    /// Every master that is stopped continues.
    pub(crate) fn resume_masters(mut self) -> Self {
        for master in 0..self.world.masters.len() {
            self.world.masters[master].paused_until = self.world.now;
            self = self.ends(Lasting::MasterStopped(master));
        }
        self
    }

    pub(crate) fn kill_master(self, master: usize) -> Self {
        let back_after = self.left(Lasting::MasterGone(master));
        self.fault(FaultKind::MasterCrash { master, back_after })
    }

    pub(crate) fn start_master(self, master: usize) -> Self {
        self.ends(Lasting::MasterGone(master))
    }

    /// A master does not reach the store for so long.
    pub(crate) fn isolate_master(self, master: usize, ms: u64) -> Self {
        self.fault(FaultKind::Isolation { master, ms, held: false })
    }

    /// The store does nothing for so long.
    pub(crate) fn store_down(self, ms: u64) -> Self {
        self.fault(FaultKind::StoreDown { ms })
    }

    /// Submits a job that comes later.
    pub(crate) fn submit(mut self, job: usize) -> Self {
        let now = self.world.now;
        self.world.scenario.further.iter_mut().skip(job - 1).take(1).for_each(|further| further.begins = now);
        self
    }

    pub(crate) fn cancel(self, job: usize) -> Self {
        self.fault(FaultKind::Cancel { job })
    }

    /// The launcher of a worker tells the leader that its process has ended.
    pub(crate) fn tell_exit(self, worker: usize) -> Self {
        if self.world.mutant == Some(Mutant::ExitUnheard) {
            return self;
        }
        let name = WorkerId(self.world.workers[worker].name.clone());
        self.decide(Event::Exited { worker: name, wanted: false })
    }

    /// The leader learns that no further worker can come.
    pub(crate) fn no_worker_can_come(self) -> Self {
        self.decide(Event::Supply(Supply::None))
    }

    fn decide(mut self, event: Event) -> Self {
        if let Some(at) = self.world.leader_of(0).filter(|_| self.goes_on()) {
            self.world.leader_decides(at, 0, event);
        }
        self
    }
}

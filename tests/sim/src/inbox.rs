//! Recipients of what happens, and effects of faults.

use super::fault::{Fault, FaultKind};
use super::links::Weather;
use super::mutant::Mutant;
use super::world::{Happening, Up, World};
use compass_agent::{ConnectError, ConnectionEvent, Input};

impl World {
    pub(super) fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::MasterStarts { master } => self.master_starts(master),
            Happening::MasterTick { master, life } => {
                if self.is_up(master, life) {
                    self.master_tick(master);
                }
            }
            Happening::WorkerStarts { worker } => self.worker_starts(worker),
            Happening::WorkerTick { worker, life, wake } => {
                if self.lives(worker, life) {
                    self.worker_tick(worker, wake);
                }
            }
            Happening::Dials { worker, life, number, master, hello } => {
                if self.lives(worker, life) {
                    self.dials(worker, number, master, hello);
                }
            }
            Happening::Up { link, what } => self.up_arrives(link, what),
            Happening::Opens { link } => {
                let hello_sent_ms = self.links.all[link].hello_sent;
                self.comes_down(link, ConnectionEvent::Opened { hello_sent_ms });
            }
            Happening::Down { link, frame } => self.comes_down(link, ConnectionEvent::Frame(Box::new(frame))),
            Happening::Fetching { link } => self.comes_down(link, ConnectionEvent::Fetching),
            Happening::NotOpened { worker, life, number } => {
                if self.lives(worker, life) {
                    self.not_opened(worker, number);
                }
            }
            Happening::Lost { link } => {
                self.answers_end(link);
                self.hears(
                    link,
                    ConnectionEvent::Closed { why: ConnectError::Unavailable("the connection is gone".into()) },
                );
            }
            Happening::Uploads { link, seq, digest, bytes, pause } => {
                self.upload_arrives(link, seq, digest, bytes, pause);
            }
            Happening::Uploaded { worker, life, number, seq, done } => {
                if self.lives(worker, life) {
                    self.uploaded(worker, number, seq, done);
                }
            }
            Happening::Fetched { worker, life, digest, content } => {
                if self.lives(worker, life) {
                    self.agent(worker, Input::Fetched { digest, content });
                }
            }
            Happening::Engine { worker, life, slot, batch } => {
                if self.lives(worker, life) {
                    self.engine_goes_on(worker, slot, batch);
                }
            }
            Happening::IsToWait { link } => self.is_to_wait(link),
            Happening::Synced { master, life, job, epoch } => {
                if self.is_up(master, life) {
                    self.synced(master, job, epoch);
                }
            }
            Happening::Asked { master, life, call, request } => self.asked(master, life, call, request),
            Happening::Answered { master, life, call, answer } => {
                if self.is_up(master, life) {
                    self.answered(master, call, answer);
                }
            }
            Happening::Unanswered { master, life, call } => {
                if self.is_up(master, life) {
                    self.unanswered(master, call);
                }
            }
            Happening::Fault { number } => {
                let fault = self.scenario.faults[number];
                self.fault(fault);
            }
        }
    }

    /// Returns whether this process of the master is up.
    pub(super) fn is_up(&self, master: usize, life: u64) -> bool {
        self.masters[master].up && self.masters[master].life == life
    }

    fn comes_down(&mut self, link: usize, news: ConnectionEvent) {
        if !self.links.all[link].broken {
            self.hears(link, news);
        }
    }

    /// A worker that learns of the end of its connection by the master ends it at its side.
    fn answers_end(&mut self, link: usize) {
        if std::mem::replace(&mut self.links.all[link].is_closing, true) {
            return;
        }
        for at in self.links.up(self.now, link, &mut self.aside).into_iter().take(1) {
            self.at(at, Happening::Up { link, what: Up::Closed });
        }
    }

    fn up_arrives(&mut self, link: usize, what: Up) {
        let known = self.links.all[link].clone();
        if known.broken && !matches!(what, Up::Closed) {
            return;
        }
        let lives = self.is_up(known.master, known.master_life);
        if !lives || !self.masters[known.master].is_serving() {
            if matches!(what, Up::Hello(_)) {
                self.sever(link, 20);
            }
            return;
        }
        match what {
            Up::Hello(hello) => {
                let arrives = self.links.down(self.now, link, &mut self.rng);
                self.at(arrives, Happening::Opens { link });
                self.hello_arrives(known.master, link, hello);
            }
            Up::Frame(frame) => {
                let Some(job) = known.job else { return };
                match self.whole(link, *frame) {
                    Some(frame) => self.leader_hears(known.master, job, link, Up::Frame(Box::new(frame))),
                    None => {
                        self.oracle.saw("an upload was gone when its frame came");
                        self.sever(link, 20);
                    }
                }
            }
            Up::Closed => self.connection_ends(link),
        }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        self.oracle.note(self.now, || format!("FAULT {:?}", fault.kind));
        let now = self.now;
        let weather =
            |world: &mut Self, worker: usize, change: &dyn Fn(&mut Weather)| change(&mut world.links.weather[worker]);
        match fault.kind {
            FaultKind::WorkerCrash { worker, back_after } => {
                let busy = self.workers[worker].is_busy();
                self.oracle.saw(if busy { "a worker died while it computed" } else { "an idle worker died" });
                self.worker_dies(worker, back_after);
            }
            FaultKind::WorkerPause { worker, ms } => {
                let busy = self.workers[worker].is_busy();
                self.oracle.saw(if busy {
                    "a worker was stopped while it computed"
                } else {
                    "an idle worker was stopped"
                });
                self.workers[worker].paused_until = now + ms;
            }
            FaultKind::WorkerSlow { worker, times, ms } => {
                self.oracle.saw("a worker was slow");
                (self.workers[worker].times, self.workers[worker].slow_until) = (times, now + ms);
            }
            FaultKind::WorkerDrain { worker } if self.mutant == Some(Mutant::DrainEndsAtOnce) => {
                self.worker_dies(worker, 1_500);
            }
            FaultKind::WorkerDrain { worker } => self.agent(worker, Input::Signal(15)),
            FaultKind::TimeIsUp { worker } => self.agent(worker, Input::TimeIsUp),
            FaultKind::Choke { worker, ms } => {
                self.oracle.saw("a connection had no room");
                self.workers[worker].choked_until = now + ms;
            }
            FaultKind::Release { worker } => self.is_let_go(worker),
            FaultKind::EngineBreaks { worker } => self.engine_breaks(worker),
            FaultKind::DeviceLost { worker } => self.device_is_lost(worker),
            FaultKind::Lies { worker } => self.lies(worker),
            FaultKind::Garbles { worker, results, way } => self.workers[worker].garbles = (results, way),
            FaultKind::Cut { worker } => {
                if let Some(link) = self.workers[worker].link {
                    self.oracle.saw("a connection broke");
                    self.sever(link, 3_000);
                }
            }
            FaultKind::Partition { worker, ms } => {
                self.oracle.saw("a partition");
                weather(self, worker, &|weather| weather.parted_until = now + ms);
            }
            FaultKind::Lag { worker, by, answers, ms } => {
                self.oracle.saw("frames were delayed");
                weather(self, worker, &|weather| {
                    (weather.lag, weather.answers, weather.lag_until) = (by, answers, now + ms);
                });
            }
            FaultKind::Stutter { worker, ms } => {
                self.oracle.saw("frames were repeated or reordered");
                weather(self, worker, &|weather| weather.stutter_until = now + ms);
            }
            FaultKind::MasterCrash { master, back_after } => self.master_dies(master, back_after),
            FaultKind::MasterPause { master, ms } => {
                if self.masters[master].is_leading() {
                    self.oracle.saw("a leader was stopped");
                }
                self.masters[master].paused_until = now + ms;
            }
            FaultKind::Isolation { master, ms, held: true } => {
                self.oracle.saw("what a master asked the store was held up");
                self.masters[master].held_until = now + ms;
            }
            FaultKind::Isolation { master, ms, .. } => {
                self.oracle.saw("a master did not reach the store");
                self.masters[master].isolated_until = now + ms;
            }
            FaultKind::StoreDown { ms } => (self.store_down_until, self.store_was_down) = (now + ms, true),
            FaultKind::StoreDeaf { ms } => self.store_deaf_until = now + ms,
            FaultKind::Cancel { job } => self.cancel(job),
        }
    }
}

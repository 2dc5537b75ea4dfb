//! Workers that come and go: killed, asked to leave, replaced.

use crate::server::Server;
use compass_tests::{Worker, kill, worker_command};
use compass_types::seeded::Rng;

/// Workers at any time.
const WORKERS: usize = 4;
/// Time that a sample takes, so that kills hit samples that run.
const DELAY_MS: &str = "4";

/// The workers of a server.
pub(crate) struct Workers {
    address: String,
    all: Vec<Worker>,
    started: u32,
    pub(crate) killed: u32,
    pub(crate) asked: u32,
    rng: Rng,
}

impl Workers {
    pub(crate) fn start(server: &Server) -> Self {
        let address = server.address();
        let mut workers = Self { address, all: Vec::new(), started: 0, killed: 0, asked: 0, rng: Rng::new(1) };
        (0..WORKERS).for_each(|_| workers.add(server));
        workers
    }

    fn add(&mut self, server: &Server) {
        self.started += 1;
        let mut command = worker_command(&self.address, &server.job.path("home"));
        command.args(["--slots", "1"]).env("NO_COLOR", "1").env("COMPASS_FAULT_DELAY_MS", DELAY_MS);
        command.env("TMPDIR", server.job.path("tmp"));
        // The log of the worker that it replaces, so that the folder does not grow.
        let log = server.job.path(&format!("worker-{}.log", self.started as usize % (2 * WORKERS)));
        self.all.push(Worker::start(command, log));
    }

    /// One of them goes, by `kill -9` or by SIGTERM, and another comes.
    pub(crate) fn replace_one(&mut self, server: &Server) {
        let worker = self.all.remove(self.rng.below(self.all.len() as u64) as usize);
        if self.rng.below(2) == 0 {
            self.killed += 1;
            // Dropping it kills it.
            drop(worker);
        } else {
            self.asked += 1;
            kill(worker.pid(), "TERM");
            worker.finish();
        }
        self.add(server);
    }
}

//! A server under test: its folder, requests to it, and jobs that it has in the middle of their work.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Finished, Job, Running, configuration, echo_job, results_in, undisturbed, wait_until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A server and the folder that its jobs are in, each configuration under a name of its own.
pub(super) struct Served {
    pub(super) job: Job,
    pub(super) log: &'static str,
}

/// A job's configuration differs from another's by its model's name.
pub(super) fn named(abbr: &str, infer: &str) -> String {
    configuration("", infer).replace("\"echo\"\ntype", &format!("\"{abbr}\"\ntype"))
}

impl Served {
    /// A folder whose `eval.toml` is the server's.
    pub(super) fn new(workers: u32) -> Self {
        Self::with(workers, "")
    }

    /// The same with more of `[master]`.
    pub(super) fn with(workers: u32, master: &str) -> Self {
        let job = echo_job(master, &format!("[infer.runner]\nmax_num_workers = {workers}"));
        Self { job, log: "serve.log" }
    }

    /// Holds all jobs together once this many samples have begun.
    pub(super) fn held(mut self, samples: u64) -> Self {
        self.job.hold_after(samples);
        self
    }

    /// Results in the ledgers of the runs of jobs, by the names of the jobs.
    pub(super) fn results_written(&self, names: &[&str]) -> usize {
        let runs = names.iter().flat_map(|name| fs::read_dir(self.job.path(name)).into_iter().flatten().flatten());
        runs.map(|run| results_in(&run.path())).sum()
    }

    /// Lets samples of these jobs begin, each once the last one's result is in its ledger, until `condition` holds: slots
    /// finish what they have begun, and no more of the jobs than that goes by meanwhile.
    pub(super) fn trickle_until<T>(&self, names: &[&str], what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
        let gate = self.job.gate();
        wait_until(what, || {
            if gate.admitted().is_some_and(|admitted| self.results_written(names) as u64 >= admitted) {
                gate.admit_more(1);
            }
            condition()
        })
    }

    /// A second server of the same store and state folder, once it stands by.
    pub(super) fn stand_by(&self, log: &str) -> Running {
        let line = self.job.command_line(&["serve", "--config", "eval.toml"]);
        let running = line.spawn_logged(&self.job.path(log));
        wait_until("it stands by", || self.job.log(log).contains("standing by: process").then_some(()));
        running
    }

    pub(super) fn start(&self) -> Running {
        let running = self.job.command_line(&["serve", "--config", "eval.toml"]).spawn_logged(&self.job.path(self.log));
        wait_until("the server answers", || self.command(&["status"]).code.filter(|code| *code == 0));
        running
    }

    /// Runs a command against the server to its end.
    pub(super) fn command(&self, words: &[&str]) -> Finished {
        let mut line = words.to_vec();
        line.extend(["--config", "eval.toml"]);
        self.job.command_line(&line).run()
    }

    /// Submits a configuration under `name` and returns the id of the job.
    pub(super) fn submit(&self, name: &str, toml: &str, more: &[&str]) -> Finished {
        let state = self.job.path("state");
        let toml = toml.replace("[master]", &format!("[master]\nstate_dir = \"{}\"", state.display()));
        self.job.write(&format!("{name}.toml"), &format!("work_dir = \"{name}\"\n{toml}"));
        let file = format!("{name}.toml");
        let mut line = vec!["submit", "--config", &file];
        line.extend(more);
        self.job.command_line(&line).run()
    }

    /// Everything about one job.
    pub(super) fn status(&self, job: &str) -> Value {
        serde_json::from_str(&self.command(&["status", job, "--json"]).expect(0).stdout).unwrap()
    }

    pub(super) fn wait_for_end(&self, job: &str) -> Value {
        wait_until("the job ends", || Some(self.status(job)).filter(|status| !status["exit_code"].is_null()))
    }

    /// The files of a run's `results/` and `predictions/` as an echo job of its own writes them.
    pub(super) fn assert_same(&self, name: &str, abbr: &str, expected: &(compass_tests::Tree, compass_tests::Tree)) {
        let renamed = |tree: &compass_tests::Tree| -> compass_tests::Tree {
            tree.iter().map(|(name, bytes)| (name.replace("echo/", &format!("{abbr}/")), bytes.clone())).collect()
        };
        let run = self.run(name);
        assert_eq!(compass_tests::tree_of(&run.join("results")), renamed(&expected.0));
        assert_eq!(compass_tests::tree_of(&run.join("predictions")), renamed(&expected.1));
    }

    pub(super) fn run(&self, name: &str) -> PathBuf {
        let runs: Vec<_> = fs::read_dir(self.job.path(name)).unwrap().flatten().map(|entry| entry.path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }
}

/// The id in what `submit` prints, and the run folder.
pub(super) fn accepted(finished: &Finished) -> (String, PathBuf) {
    let (job, folder) = finished.stdout.trim_end().split_once(' ').unwrap();
    assert_eq!(job.len(), 12, "{}", finished.stdout);
    (job.to_owned(), Path::new(folder).to_owned())
}

/// Two jobs that differ only in the name of their model give the same numbers under either name.
pub(super) fn expected() -> (compass_tests::Tree, compass_tests::Tree) {
    undisturbed()
}

/// Tasks of a few samples: a slot that another job is to have has little to finish.
pub(super) const SMALL_TASKS: &str = "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 12\ngen_task_coef = 3\n";

/// The jobs `a` and `b` under a held server with two slots, once each has one.
pub(super) fn two_jobs_with_a_slot_each(served: &Served) -> (String, String) {
    let a = accepted(&served.submit("a", &named("first", SMALL_TASKS), &[]).expect(0)).0;
    let b = accepted(&served.submit("b", &named("second", SMALL_TASKS), &[]).expect(0)).0;
    served.trickle_until(&["a", "b"], "both have a slot at once", || {
        let slots = |job: &str| served.status(job)["slots"].as_u64();
        (slots(&a) == Some(1) && slots(&b) == Some(1)).then_some(())
    });
    (a, b)
}

/// The same once each has five samples.
pub(super) fn two_jobs_with_samples(served: &Served) -> (String, String) {
    let jobs = two_jobs_with_a_slot_each(served);
    served.trickle_until(&["a", "b"], "both have samples", || {
        (served.results_written(&["a"]) >= 5 && served.results_written(&["b"]) >= 5).then_some(())
    });
    jobs
}

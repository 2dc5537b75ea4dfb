//! Chaos: faults at random, by seed, at random samples of a run, until it ends; then bytes are compared.
//!
//! Every seed is a history of `kill -9`, SIGSTOP and SIGCONT, Ctrl-C and rival masters against masters, agents and
//! engines. Whatever happened, `results/` and `predictions/` equal an undisturbed run's, the ledger holds
//! every sample, and no process is left behind. Wires fail as well: cut again and again, or swallowing all they are
//! given. A few seeds run always, more with `COMPASS_FULL=1`; `COMPASS_CHAOS_SEEDS=200` runs that many, from
//! `COMPASS_CHAOS_FIRST` on. A fault hits once some number of samples have begun, or at any moment of a start: a seed names a family of
//! histories rather than one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use compass_tests::{Job, SAMPLES, children_of, echo_job, held_job, join_token_file, program, wait_until};
use compass_types::seeded::Rng;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

const SEEDS: u64 = 4;
/// With `COMPASS_FULL`.
const FULL_SEEDS: u64 = 30;
/// Marks every process of one history, whatever its parent has become.
const MARK: &str = "COMPASS_CHAOS_MARK";
/// Many tasks, so that grants are in flight whenever something happens.
const SMALL_TASKS: &str = "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 12\ngen_task_coef = 3\n";
/// Faults of one history at most; after them the run is left alone.
const FAULTS: u32 = 8;

type Tree = BTreeMap<String, Vec<u8>>;

/// Waits for up to this many milliseconds.
fn pause(dice: &mut Rng, at_most_ms: u64) {
    #[expect(
        clippy::disallowed_methods,
        reason = "any moment of a start, and how long a process is frozen: nothing waits for it"
    )]
    std::thread::sleep(Duration::from_millis(dice.below(at_most_ms)));
}

/// Sends a signal to a process that may be gone already.
fn signal(pid: u32, signal: &str) {
    let mut kill = Command::new("kill");
    kill.arg(format!("-{signal}")).arg(pid.to_string()).stderr(Stdio::null()).status().unwrap();
}

fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// Processes that carry the mark and are no zombies.
fn marked(mark: &str) -> Vec<u32> {
    let needle = format!("{MARK}={mark}\0");
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // The environment of a zombie reads as empty.
    let carries = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(needle.len()).any(|window| window == needle.as_bytes())
    };
    pids.filter(carries).collect()
}

struct History {
    dice: Rng,
    job: Job,
    log: String,
    masters: u32,
    counts: BTreeMap<&'static str, u32>,
    faults: u32,
    /// Within one master's life: more would be taken for a poison sample or a hopeless machine, and rightly so.
    agents_killed: u32,
    engines_killed: u32,
}

/// End of a master.
enum Life {
    Ended(Option<i32>),
    Killed,
}

impl History {
    fn new(seed: u64, mark: &str) -> Self {
        let mut dice = Rng::new(seed);
        let infer = ["", SMALL_TASKS][dice.below(2) as usize];
        let mut job = held_job(0, "", infer);
        job.set_env(MARK, mark);
        let (log, counts) = (String::new(), BTreeMap::new());
        Self { dice, job, log, masters: 0, counts, faults: 0, agents_killed: 0, engines_killed: 0 }
    }

    fn note(&mut self, what: &'static str, pid: u32) {
        *self.counts.entry(what).or_default() += 1;
        let _ = writeln!(self.log, "{what} {pid}");
    }

    fn start(&mut self, arguments: &[&str]) -> Child {
        self.masters += 1;
        let error = File::create(self.job.path(&format!("stderr.{}", self.masters))).unwrap();
        let _ = writeln!(self.log, "master {} {arguments:?}", self.masters);
        self.job.command(arguments).stdout(Stdio::null()).stderr(error).spawn().unwrap()
    }

    /// Starts a master on the run, if there is one to resume, and sometimes a rival at the same moment.
    fn next_master(&mut self) -> Child {
        let planned = self.job.runs().iter().any(|run| run.join("plan/job.json").is_file());
        let workers = (1 + self.dice.below(3)).to_string();
        let arguments: &[&str] =
            if planned { &["--max-num-workers", &workers, "-r"] } else { &["--max-num-workers", &workers] };
        (self.agents_killed, self.engines_killed) = (0, 0);
        let mut master = self.start(arguments);
        if planned && self.dice.below(4) == 0 {
            let mut rival = self.start(arguments);
            self.note("rival master", rival.id());
            // One of the two has the run; which one, the lock decides. A rival that comes late finds all done.
            wait_until("one of two masters gives way", || {
                if master.try_wait().unwrap().is_some() {
                    std::mem::swap(&mut master, &mut rival);
                }
                rival.try_wait().unwrap()
            });
            let code = rival.wait().unwrap().code();
            assert!(matches!(code, Some(0 | 3)), "the master that gave way ended with {code:?}\n{}", self.told());
        }
        master
    }

    /// Lives with one master until it ends or is killed.
    fn live(&mut self) -> Life {
        let mut master = self.next_master();
        let pid = master.id();
        loop {
            let gate = self.job.gate();
            if self.faults >= FAULTS {
                gate.open();
                return Life::Ended(master.wait().unwrap().code());
            }
            // Most faults hit a run in full swing, the rest anything from its first moment on.
            if self.dice.below(3) > 0 {
                gate.admit_more(self.dice.below(40));
                let admitted = gate.admitted().unwrap_or(0);
                wait_until("as many samples have begun as may, or the master ends", || {
                    (gate.begun() >= admitted || master.try_wait().unwrap().is_some()).then_some(())
                });
            } else {
                pause(&mut self.dice, 250);
            }
            if let Some(status) = master.try_wait().unwrap() {
                return Life::Ended(status.code());
            }
            self.faults += 1;
            let agent = children_of(pid).first().copied();
            let engines = agent.map(children_of).unwrap_or_default();
            let engine = (!engines.is_empty()).then(|| engines[self.dice.below(engines.len() as u64) as usize]);
            match (self.dice.below(12), agent, engine) {
                (0 | 1, ..) => {
                    self.note("kill master", pid);
                    signal(pid, "KILL");
                    master.wait().unwrap();
                    return Life::Killed;
                }
                (2, Some(agent), _) => {
                    self.note("kill master and agent", pid);
                    signal(agent, "KILL");
                    signal(pid, "KILL");
                    master.wait().unwrap();
                    return Life::Killed;
                }
                (3, ..) => {
                    self.note("interrupt master", pid);
                    signal(pid, if self.dice.below(2) == 0 { "INT" } else { "TERM" });
                }
                (4 | 5, Some(agent), _) if self.agents_killed < 3 => {
                    self.agents_killed += 1;
                    self.note("kill agent", agent);
                    signal(agent, "KILL");
                }
                (6 | 7, _, Some(engine)) if self.engines_killed < 1 => {
                    self.engines_killed += 1;
                    self.note("kill engine", engine);
                    signal(engine, "KILL");
                }
                (8, ..) => self.freeze("freeze master", pid),
                (9, Some(agent), _) => self.freeze("freeze agent", agent),
                (10, _, Some(engine)) if threads(engine) > 1 => self.freeze("freeze engine", engine),
                // Frozen agents and engines do not see that their master is gone; they must go all the same. Only a process
                // that is frozen before its first thread runs cannot have arranged for that.
                (11, Some(agent), Some(engine)) if threads(engine) > 1 => {
                    self.note("kill master of the frozen", pid);
                    signal(agent, "STOP");
                    signal(engine, "STOP");
                    signal(pid, "KILL");
                    master.wait().unwrap();
                    return Life::Killed;
                }
                _ => {}
            }
        }
    }

    fn freeze(&mut self, what: &'static str, pid: u32) {
        self.note(what, pid);
        signal(pid, "STOP");
        pause(&mut self.dice, 900);
        signal(pid, "CONT");
    }

    /// Everything that happened, for a failure.
    fn told(&self) -> String {
        let mut text = self.log.clone();
        for master in 1..=self.masters {
            let error = std::fs::read_to_string(self.job.path(&format!("stderr.{master}"))).unwrap_or_default();
            let _ = writeln!(text, "--- master {master}:\n{error}");
        }
        let agent = self.job.runs().pop().map(|run| std::fs::read_to_string(run.join("logs/infer/local.log")));
        let _ = writeln!(text, "--- agents:\n{}", agent.and_then(Result::ok).unwrap_or_default());
        text
    }

    /// Runs the history to its end.
    fn run(&mut self) {
        loop {
            match self.live() {
                Life::Killed => {}
                Life::Ended(Some(0)) => break,
                // Asked to stop, by SIGINT or SIGTERM; before it listens for them, they kill.
                Life::Ended(Some(130 | 143) | None) => {}
                Life::Ended(code) => panic!("a master ended with {code:?}\n{}", self.told()),
            }
        }
    }
}

/// One history, compared with the run that nothing disturbed.
fn survives(seed: u64, expected: &(Tree, Tree)) -> BTreeMap<&'static str, u32> {
    let mark = format!("{}-{seed}", std::process::id());
    let mut history = History::new(seed, &mark);
    history.run();
    let told = || format!("seed {seed}\n{}", history.told());
    let job = &history.job;
    for (name, expected) in [("results", &expected.0), ("predictions", &expected.1)] {
        let found = job.tree(name);
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{}", told());
        for (file, bytes) in expected {
            let (found, bytes) = (String::from_utf8_lossy(&found[file]), String::from_utf8_lossy(bytes));
            assert!(found == bytes, "{name}/{file} differs\n{found}\n{}", told());
        }
    }
    let facts = job.facts();
    let all = u64::from(2 * SAMPLES);
    assert_eq!((&facts["recorded_samples"], &facts["expected_samples"]), (&all.into(), &all.into()), "{}", told());
    assert_eq!(facts["divergences"], 0, "{}", told());
    let received: u64 = facts["workers"].as_object().unwrap().values().map(|w| w["results"].as_u64().unwrap()).sum();
    // Of earlier masters what was recorded, of the last what came.
    let repeats = facts["repeats"].as_u64().unwrap();
    assert_eq!(received - repeats, all, "each sample is recorded once: {facts}\n{}", told());
    wait_until("no process is left behind", || marked(&mark).is_empty().then_some(()));
    history.counts
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn undisturbed() -> (Tree, Tree) {
    let calm = echo_job("", "");
    calm.run(&[]).expect(0);
    (calm.tree("results"), calm.tree("predictions"))
}

#[test]
#[ignore = "nightly"]
fn whatever_dies_the_bytes_are_the_same() {
    let expected = undisturbed();
    let usual = if std::env::var_os("COMPASS_FULL").is_some() { FULL_SEEDS } else { SEEDS };
    let (first, seeds) = (number("COMPASS_CHAOS_FIRST", 1), number("COMPASS_CHAOS_SEEDS", usual));
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in first..first + seeds {
        for (what, count) in survives(seed, &expected) {
            *counts.entry(what).or_default() += count;
        }
        if seeds > SEEDS {
            eprintln!("seed {seed}: {counts:?}");
        }
    }
}

/// A proxy between a worker and its master that can fail as networks do.
#[derive(Default)]
struct Wire {
    /// Connections begun before this number are cut.
    cut_before: AtomicU64,
    /// Connections begun before this number swallow what they are given, in both directions, and stay open.
    swallow_before: AtomicU64,
    begun: AtomicU64,
}

impl Wire {
    /// Passes on connections to `master`; returns the port.
    fn start(self: &Arc<Self>, master: String) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = self.clone();
        std::thread::spawn(move || {
            for worker in listener.incoming().flatten() {
                let number = wire.begun.fetch_add(1, SeqCst);
                let Ok(master) = TcpStream::connect(&master) else { continue };
                for (from, to) in [(&worker, &master), (&master, &worker)] {
                    let (wire, from, to) = (wire.clone(), from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || wire.pump(number, from, to));
                }
            }
        });
        port
    }

    fn pump(&self, number: u64, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 * 1024];
        let _ = from.set_read_timeout(Some(Duration::from_millis(20)));
        while number >= self.cut_before.load(SeqCst) {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) if number < self.swallow_before.load(SeqCst) => {}
                Ok(read) => {
                    if to.write_all(&buffer[..read]).is_err() {
                        break;
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}

/// A run whose only worker reaches its master through `wire`, held once `samples` have begun; `meddle` is called until the run
/// ends.
fn through_a_wire(samples: u64, mut meddle: impl FnMut(&Wire, &Job)) {
    let expected = undisturbed();
    let runner = format!("[infer.runner]\ntype = \"none\"\n{SMALL_TASKS}");
    let job = held_job(samples, "listen = \"127.0.0.1:0\"", &runner);
    let error = || std::fs::read_to_string(job.path("err")).unwrap_or_default();
    let mut master = job.command(&[]);
    let mut master = master.stderr(File::create(job.path("err")).unwrap()).spawn().unwrap();
    let address = wait_until("the master says where it listens", || {
        Some(error().lines().find_map(|line| line.split_once("compass-worker --master "))?.1.trim().to_owned())
    });
    let wire = Arc::new(Wire::default());
    let port = wire.start(address);
    let mut worker = Command::new(program("worker-with-faults"));
    worker.args(["--master", &format!("127.0.0.1:{port}"), "--slots", "2"]);
    worker.envs(job.environment()).env("COMPASS_TOKEN_FILE", join_token_file(&job));
    worker.stderr(File::create(job.path("worker")).unwrap());
    let mut worker = worker.spawn().unwrap();
    let status = wait_until("the run ends", || {
        meddle(&wire, &job);
        master.try_wait().unwrap()
    });
    // One that could not receive the farewell would look for its master for ten minutes.
    signal(worker.id(), "KILL");
    worker.wait().unwrap();
    let log = || std::fs::read_to_string(job.path("worker")).unwrap_or_default();
    assert_eq!(status.code(), Some(0), "{}\n{}", error(), log());
    assert_eq!((job.tree("results"), job.tree("predictions")), expected, "{}\n{}", error(), log());
    assert_eq!(job.facts()["divergences"], 0);
}

/// Samples between two cuts.
const EACH: u64 = 15;

#[test]
#[ignore = "nightly"]
fn a_wire_that_is_cut_again_and_again_loses_nothing_and_stops_nothing() {
    let mut cuts = 0;
    through_a_wire(EACH, |wire, job| {
        let gate = job.gate();
        if gate.admitted() == Some(gate.begun()) {
            cuts += 1;
            wire.cut_before.store(wire.begun.load(SeqCst), SeqCst);
            gate.admit_more(EACH);
        }
    });
    assert!(cuts >= u64::from(2 * SAMPLES) / EACH, "{cuts}");
}

#[test]
#[ignore = "nightly"]
fn a_wire_that_swallows_everything_is_left_for_another() {
    let mut swallowed = false;
    through_a_wire(20, |wire, job| {
        if !swallowed && job.results_written() == 20 {
            wire.swallow_before.store(wire.begun.load(SeqCst), SeqCst);
            swallowed = true;
            job.gate().open();
        }
    });
    assert!(swallowed);
}

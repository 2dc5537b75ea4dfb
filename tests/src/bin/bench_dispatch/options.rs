//! The command line.

pub(crate) const USAGE: &str = "usage: bench-dispatch [--store embedded|etcd] [--tasks N] [--workers W] [--samples S] \
[--credit C] [--pace MS] [--vanish] [--small] [--compare RUNS]
  --compare RUNS: runs 64 workers and W of them (10000 unless said) in turn, so many times, at equal credit; prints the medians of the
                  master's processor time per task, and their ratio";

/// Workers that are few, and that are many, of a comparison.
pub(crate) const FEW: u32 = 64;
const MANY: u32 = 10_000;

/// Sessions of one connection; the master takes 64 streams of one.
const PER_CONNECTION: u32 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Starts the master, and is its workers.
    Bench,
    /// The master's half.
    Master,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Embedded,
    Etcd,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Etcd => "etcd",
        }
    }
}

/// Options of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) role: Role,
    pub(crate) store: Store,
    pub(crate) tasks: u32,
    pub(crate) workers: u32,
    /// Samples of a task.
    pub(crate) samples: u32,
    /// Grants that a worker holds at once.
    pub(crate) credit: u32,
    /// Time that a worker takes for a task, in milliseconds.
    pub(crate) pace_ms: u64,
    /// Set if one worker falls silent with what it holds.
    pub(crate) vanish: bool,
    /// Number of times that few workers and many are compared; 0 for one run of `workers`.
    pub(crate) compare: u32,
    /// Threads of this process for its sessions.
    pub(crate) threads: usize,
    /// For the master: its folder, and where etcd is.
    pub(crate) folder: String,
    pub(crate) endpoints: String,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self {
            role: Role::Bench,
            store: Store::Embedded,
            tasks: 1_000_000,
            workers: 1_000,
            samples: 1,
            credit: 4,
            pace_ms: 0,
            vanish: false,
            compare: 0,
            threads: 2,
            folder: String::new(),
            endpoints: String::new(),
        };
        while let Some(word) = words.next() {
            let mut next = || words.next();
            match word.as_str() {
                "--store" => {
                    options.store = match next()?.as_str() {
                        "embedded" => Store::Embedded,
                        "etcd" => Store::Etcd,
                        _ => return None,
                    }
                }
                "--tasks" => options.tasks = next()?.parse().ok().filter(|tasks| *tasks > 0)?,
                "--workers" => options.workers = next()?.parse().ok().filter(|workers| *workers > 0)?,
                "--samples" => options.samples = next()?.parse().ok().filter(|samples| *samples > 0)?,
                "--credit" => options.credit = next()?.parse().ok().filter(|credit| *credit > 0)?,
                "--pace" => options.pace_ms = next()?.parse().ok()?,
                "--vanish" => options.vanish = true,
                "--small" => (options.tasks, options.workers) = (20_000, 200),
                "--compare" => {
                    options.compare = next()?.parse().ok().filter(|runs| *runs > 0)?;
                    options.workers = options.workers.max(MANY);
                }
                "--as-master" => options.role = Role::Master,
                "--folder" => options.folder = next()?,
                "--endpoints" => options.endpoints = next()?,
                _ => return None,
            }
        }
        Some(options)
    }

    /// Over how many connections the sessions go.
    pub(crate) fn connections(&self) -> u32 {
        self.workers.div_ceil(PER_CONNECTION)
    }

    /// The connection of a session.
    pub(crate) fn connection_of(&self, worker: u32) -> usize {
        (worker / PER_CONNECTION) as usize
    }

    /// Returns the arguments of the master's process.
    pub(crate) fn for_master(&self, folder: &str, endpoints: &str) -> Vec<String> {
        let numbers = [("--tasks", self.tasks), ("--workers", self.workers), ("--samples", self.samples)];
        let mut words = vec!["--as-master".into(), "--store".into(), self.store.name().into()];
        words.extend(numbers.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value.to_string()]));
        words.extend(["--folder".into(), folder.into(), "--endpoints".into(), endpoints.into()]);
        words
    }
}

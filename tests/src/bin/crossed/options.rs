//! The command line of `crossed`.

use std::time::Duration;

const USAGE: &str =
    "usage: crossed [--near N | --pairs | --triples] [--seed N] [--rows N] [--limit SECONDS] [--only N,...] [--list]";

/// Jobs to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All that differ from the defaults in at most this number of factors.
    Near(usize),
    /// A covering array of this strength.
    Covering(usize),
}

/// The command line, parsed.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) choice: Choice,
    /// Seed of the covering array.
    pub(crate) seed: u64,
    /// Rows of the first data set.
    pub(crate) rows: usize,
    /// Time after which a job counts as one that never ends.
    pub(crate) limit: Duration,
    /// Numbers of the jobs to be run; empty for all.
    pub(crate) only: Vec<usize>,
    pub(crate) list: bool,
}

impl Options {
    /// Parses the command line.
    ///
    /// # Errors
    /// The usage, for anything else.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, &'static str> {
        let mut options = Self {
            choice: Choice::Near(1),
            seed: 1,
            rows: 40,
            limit: Duration::from_secs(120),
            only: Vec::new(),
            list: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(USAGE);
            match argument.as_str() {
                "--near" => options.choice = Choice::Near(number(&value()?)?),
                "--pairs" => options.choice = Choice::Covering(2),
                "--triples" => options.choice = Choice::Covering(3),
                "--seed" => options.seed = number(&value()?)?,
                "--rows" => options.rows = number::<usize>(&value()?)?.max(20),
                "--limit" => options.limit = Duration::from_secs(number(&value()?)?),
                "--only" => options.only = value()?.split(',').map(number).collect::<Result<_, _>>()?,
                "--list" => options.list = true,
                _ => return Err(USAGE),
            }
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| USAGE)
}

//! The command line of `parity-hf`.

use compass_engine::DeviceChoice;
use std::path::PathBuf;

const USAGE: &str =
    "usage: parity-hf [--seed N] [--threads N] [--device cpu|cuda:N] [--keep DIR | --from DIR] [NAME...]";

/// Subject of a comparison.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) seed: u32,
    /// Threads of libtorch, on both sides.
    pub(crate) threads: u32,
    /// Device of this side; transformers computes on the CPU.
    pub(crate) device: DeviceChoice,
    /// Folder in which the models and what transformers computes of them stay, for another machine to compare with.
    pub(crate) keep: Option<PathBuf>,
    /// Folder in which an earlier call kept them: no Python is needed.
    pub(crate) from: Option<PathBuf>,
    /// Models by name; all when empty.
    pub(crate) names: Vec<String>,
}

impl Options {
    /// Reads the command line.
    ///
    /// # Errors
    /// What is wrong, with the usage.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (seed, threads, device) = (1, 2, DeviceChoice::Cpu);
        let mut options = Self { seed, threads, device, keep: None, from: None, names: Vec::new() };
        while let Some(argument) = arguments.next() {
            if argument.starts_with('-') {
                let value = arguments.next().ok_or_else(|| format!("{argument} wants a value; {USAGE}"))?;
                let number = || value.parse::<u32>().map_err(|_| format!("{argument} wants a number; {USAGE}"));
                match argument.as_str() {
                    "--seed" => options.seed = number()?,
                    "--threads" => options.threads = number()?.max(1),
                    "--device" => options.device = value.parse().map_err(|error| format!("{error}; {USAGE}"))?,
                    "--keep" => options.keep = Some(value.into()),
                    "--from" => options.from = Some(value.into()),
                    option => return Err(format!("unknown option {option}; {USAGE}")),
                }
                continue;
            }
            options.names.push(argument);
        }
        if options.keep.is_some() && options.from.is_some() {
            return Err(format!("--keep and --from exclude each other; {USAGE}"));
        }
        Ok(options)
    }
}

//! The command line of `parity-hf`.

/// What to compare.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) seed: u32,
    /// Of libtorch, on both sides.
    pub(crate) threads: u32,
    /// Models by name; all when empty.
    pub(crate) names: Vec<String>,
}

impl Options {
    /// Reads `[--seed N] [--threads N] [NAME...]`.
    ///
    /// # Errors
    /// What is wrong, with the usage.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { seed: 1, threads: 2, names: Vec::new() };
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next().and_then(|value| value.parse().ok());
                value.ok_or_else(|| {
                    format!("{argument} wants a number; usage: parity-hf [--seed N] [--threads N] [NAME...]")
                })
            };
            match argument.as_str() {
                "--seed" => options.seed = number()?,
                "--threads" => options.threads = number()?.max(1),
                option if option.starts_with('-') => {
                    return Err(format!(
                        "unknown option {option}; usage: parity-hf [--seed N] [--threads N] [NAME...]"
                    ));
                }
                _ => options.names.push(argument),
            }
        }
        Ok(options)
    }
}

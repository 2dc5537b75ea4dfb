//! The command line of the benchmarks that run a model.

/// Subject of a measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// A small model and questions of one's own: seconds, and no reference data.
    pub small: bool,
    /// Long room for answers that end early, against short room: `bench-generate`'s alone.
    pub thinking: bool,
    /// Seed of the model's weights.
    pub seed: u64,
    /// Threads of libtorch, on every side. An engine has one, and more cores run more engines.
    pub threads: u32,
    /// Questions, of each data set; 0 keeps the benchmark's own number.
    pub questions: usize,
    /// Interval of the questions that go through the baseline, whose time is then multiplied; 0 keeps the benchmark's own
    /// number.
    pub every: usize,
    /// Data sets of the preset, by the ends of their names; none keeps the benchmark's own.
    pub subjects: Vec<String>,
}

const USAGE: &str = "[--small] [--thinking] [--seed N] [--threads N] [--questions N] [--every N] [--subjects A,B,C]";

impl Options {
    /// Reads the arguments after the program's name; `name` is the program's.
    ///
    /// # Errors
    /// What is wrong, with the usage.
    pub fn parse(name: &str, arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options =
            Self { small: false, thinking: false, seed: 1, threads: 1, questions: 0, every: 0, subjects: Vec::new() };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let flag = match argument.as_str() {
                "--small" => Some(&mut options.small),
                "--thinking" => Some(&mut options.thinking),
                _ => None,
            };
            if let Some(flag) = flag {
                *flag = true;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("usage: {name} {USAGE}"))?;
            let number = || value.parse::<u32>().map_err(|_| format!("{argument} wants a number, not `{value}`"));
            match argument.as_str() {
                "--seed" => options.seed = u64::from(number()?),
                "--threads" => options.threads = number()?.max(1),
                "--questions" => options.questions = number()? as usize,
                "--every" => options.every = number()? as usize,
                "--subjects" => options.subjects = value.split(',').map(str::to_owned).collect(),
                _ => return Err(format!("unknown option {argument}; usage: {name} {USAGE}")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse("bench", line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read_and_wrong_ones_said() -> Result<(), String> {
        let options = parse("--small --threads 2 --subjects a,b")?;
        assert!(options.small && options.threads == 2 && options.subjects == ["a", "b"]);
        assert_eq!(parse("--seed x").err().as_deref(), Some("--seed wants a number, not `x`"));
        assert!(parse("--what 1").is_err_and(|what| what.contains("usage: bench")));
        Ok(())
    }
}

//! `parity-hf`: logits of every model family beside those that transformers computes, here and now, on the same libtorch.
//!
//! Wants a Python with torch and transformers (COMPASS_PYTHON, else `python3`); without one it says `skipped:` and ends
//! with 0. Prints one line for each model; ends with 1 when an fp32 logit is further off than [`LARGEST`], or when a
//! number is not finite. The tests of the engine compare with goldens that were made once; this compares with other
//! weights, longer prompts and odder shapes, and with what transformers decodes over its own cache.
//!
//! In bf16 and f16 bits are equal, but for models that transformers computes eagerly. In fp32 the last bits differ where the
//! engine goes another way so that its own never vary: products of fewer than 16 rows are filled up, and narrow ones are
//! given to one thread.

mod comparison;
mod options;
mod python;

use comparison::{Comparison, compare};
use compass_engine::{DeviceChoice, load_cuda_library};
use options::Options;
use std::path::Path;
use std::process::ExitCode;

/// The largest difference of an fp32 logit that passes, relative to the largest logit of its sequence: on a CPU, where both
/// sides use one library, and on a GPU, whose sums go in another order.
const LARGEST: f64 = 1e-6;
const LARGEST_ON_GPU: f64 = 1e-5;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(what) => {
            eprintln!("parity-hf: {what}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let options = Options::parse(std::env::args().skip(1))?;
    if options.device != DeviceChoice::Cpu {
        load_cuda_library();
    }
    let mut report = Report::new(&options);
    if let Some(folder) = &options.from {
        for name in kept_in(folder)? {
            if options.names.is_empty() || options.names.contains(&name) {
                report.compare(&folder.join(&name), &name)?;
            }
        }
        return report.end();
    }
    let python = match python::find() {
        Ok(python) => python,
        Err(why) => {
            eprintln!("skipped: {why}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let temporary = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    eprintln!("{} ({}), {} threads, seed {}", python.program, python.versions, options.threads, options.seed);
    python.compute(folder, &options, |name| report.compare(&folder.join(name), name))?;
    report.end()
}

/// Names of the models that an earlier call kept, in order.
fn kept_in(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_kept = |path: &Path| path.join("golden.safetensors").is_file();
    let names = entries.flatten().filter(|entry| is_kept(&entry.path()));
    let mut names: Vec<String> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Report of a comparison.
struct Report<'a> {
    options: &'a Options,
    largest: f64,
    cases: usize,
    equal: usize,
    failed: Vec<String>,
}

impl<'a> Report<'a> {
    fn new(options: &'a Options) -> Self {
        let largest = if options.device == DeviceChoice::Cpu { LARGEST } else { LARGEST_ON_GPU };
        Self { options, largest, cases: 0, equal: 0, failed: Vec::new() }
    }

    fn compare(&mut self, folder: &Path, name: &str) -> Result<(), String> {
        let compared = compare(folder, &self.options.device, self.options.threads)?;
        self.cases += 1;
        println!("{name:<26}{}", Comparison::line(&compared));
        if compared.iter().any(|comparison| !comparison.passes(self.largest)) {
            self.failed.push(name.to_owned());
        }
        self.equal += usize::from(compared.iter().all(Comparison::is_equal));
        Ok(())
    }

    fn end(self) -> Result<ExitCode, String> {
        let Self { cases, equal, failed, largest, .. } = self;
        if cases == 0 {
            return Err("no model has such a name".into());
        }
        println!(
            "{cases} models, of which {equal} are equal to the bit throughout; fp32 beyond {largest:.0e}: {failed:?}"
        );
        Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

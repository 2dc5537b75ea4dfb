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
use options::Options;
use std::process::ExitCode;

/// The largest difference of an fp32 logit that passes, relative to the largest logit of its sequence.
const LARGEST: f64 = 1e-6;

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
    let python = match python::find() {
        Ok(python) => python,
        Err(why) => {
            eprintln!("skipped: {why}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    eprintln!("{} ({}), {} threads, seed {}", python.program, python.versions, options.threads, options.seed);
    let (mut cases, mut failed, mut equal) = (0, Vec::new(), 0);
    python.compute(folder.path(), &options, |name| {
        let compared = compare(&folder.path().join(name), options.threads)?;
        cases += 1;
        println!("{name:<26}{}", Comparison::line(&compared));
        if compared.iter().any(|comparison| !comparison.passes(LARGEST)) {
            failed.push(name.to_owned());
        }
        equal += usize::from(compared.iter().all(Comparison::is_equal));
        Ok(())
    })?;
    if cases == 0 {
        return Err("no model has such a name".into());
    }
    println!("{cases} models, of which {equal} are equal to the bit throughout; fp32 beyond {LARGEST:.0e}: {failed:?}");
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

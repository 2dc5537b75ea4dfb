//! `bench-score`: 5-shot MMLU by perplexity, the engine beside the usual way.
//!
//! A random Llama of about 17 million parameters with gpt_neox_20b's tokenizer, in fp32 on the CPU; OpenCompass's `mmlu_ppl`
//! through our own preset. The usual way is `PaddedLlama`: every option's whole text in padded batches of 8, sorted by
//! length as lm-eval does, log-softmax over the whole vocabulary at every position. Where a Python with transformers is
//! present (COMPASS_PYTHON, else python3), the baseline runs some batches in turn with it, so that one sees it is no straw
//! man. Both sides tokenise within their time; neither loads the model within it.
//!
//! The baseline runs every fifth question (`--every`), and its time is multiplied by the tokens of all over the tokens of
//! those. Their scores must be the same: the program ends with 1 where a per-token loss is further off than [`LARGEST`] or
//! another option wins. The last line is `ratio: X`, the usual way's time over the engine's. With `--small` model and
//! questions are made by the program and take seconds.

mod usual;

use compass_engine::DeviceChoice;
use compass_plan::engine::Request;
use compass_plan::{ModelKind, ModelPlan};
use compass_tests::bench::{BenchFolder, Options, Questions, Seconds, Watch, print_ratio};
use compass_types::result::{Outcome, SampleResult};
use std::process::ExitCode;

/// The largest difference of a per-token loss that passes.
const LARGEST: f64 = 1e-4;

const SUBJECTS: [&str; 4] = ["clinical_knowledge", "college_chemistry", "high_school_geography", "moral_disputes"];

fn main() -> ExitCode {
    match Options::parse("bench-score", std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(code) => code,
        Err(what) => {
            eprintln!("bench-score: {what}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, String> {
    let subjects = match options.subjects.as_slice() {
        [] => SUBJECTS.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let default = if options.small { 12 } else { 100 };
    let questions = if options.questions == 0 { default } else { options.questions };
    let Some(place) = BenchFolder::make(options, &subjects, questions, (0, 0))? else {
        return Ok(ExitCode::SUCCESS);
    };
    let names: Vec<String> = subjects.iter().map(|subject| format!("mmlu_ppl/lukaemon_mmlu_{subject}")).collect();
    let sets = Questions::read(&place, &names, questions)?;

    let (seconds, results) = engine(&place, options, &sets)?;
    let every = if options.every == 0 { 5 } else { options.every };
    let usual = usual::run(&place, options, &sets, every)?;
    let same = compare(&results, &usual.losses)?;
    print_ratio(usual.seconds, seconds);
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs every question through the engine; seconds, and results by data set in the order of the questions.
fn engine(
    place: &BenchFolder,
    options: &Options,
    sets: &[Questions],
) -> Result<(Seconds, Vec<Vec<SampleResult>>), String> {
    let mut plan = ModelPlan::new("random", ModelKind::Hf, place.model().display().to_string());
    plan.tokenizer_path = place.tokenizer.display().to_string();
    let engine = compass_engine::load(&plan, &DeviceChoice::Cpu, options.threads);
    let mut engine = engine.map_err(|fault| fault.to_string())?;
    let mut tokens = compass_plan::engine::TokenCounters::default();
    let mut all = Vec::with_capacity(sets.len());
    let watch = Watch::start();
    for set in sets {
        let requests: Vec<Request<'_>> = set.requests();
        let mut results = Vec::with_capacity(requests.len());
        let counted = engine.run(&set.pack, &requests, &mut |result| results.push(result));
        tokens.add(&counted.map_err(|fault| fault.to_string())?);
        results.sort_by_key(|result| result.index);
        all.push(results);
    }
    let seconds = watch.seconds();
    println!(
        "engine: {} questions, {} tokens submitted, {} computed, {} distinct, {} rows of padding, {seconds}: {:.0} \
         submitted tokens/s, {:.0} computed",
        sets.iter().map(|set| set.requests().len()).sum::<usize>(),
        tokens.submitted,
        tokens.computed,
        tokens.distinct,
        tokens.padded,
        tokens.submitted as f64 / seconds.wall,
        tokens.computed as f64 / seconds.wall
    );
    Ok((seconds, all))
}

/// Returns whether the engine's losses are the baseline's, which are known for some questions: by data set, (question, per-token
/// losses of its options).
fn compare(results: &[Vec<SampleResult>], losses: &[Vec<(usize, Vec<f64>)>]) -> Result<bool, String> {
    let (mut largest, mut same, mut all) = (0f64, 0, 0);
    for (results, losses) in results.iter().zip(losses) {
        for (at, theirs) in losses {
            let ours = match results.get(*at).map(|result| &result.outcome) {
                Some(Outcome::Ppl(scores)) => scores.iter().map(|score| score.nll_sum / f64::from(score.tokens)),
                other => return Err(format!("question {at} has no score: {other:?}")),
            };
            let ours: Vec<f64> = ours.collect();
            let off = ours.iter().zip(theirs).map(|(ours, theirs)| (ours - theirs).abs());
            largest = off.fold(largest, |largest, off| if off.is_nan() { f64::NAN } else { largest.max(off) });
            same += usize::from(least(&ours) == least(theirs));
            all += 1;
        }
    }
    println!(
        "scores: per-token losses differ by {largest:.1e} at most; the best option is the same for {same} of {all}"
    );
    Ok(largest <= LARGEST && same == all)
}

/// The place of the least number, the first of equals.
fn least(numbers: &[f64]) -> Option<usize> {
    let least = numbers.iter().enumerate().reduce(|least, next| if next.1 < least.1 { next } else { least });
    least.map(|(at, _)| at)
}

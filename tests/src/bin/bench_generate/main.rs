//! `bench-generate`: 64 prompts of GSM8K, continued together by the engine and in static batches by the usual way.
//!
//! A random Llama of about 17 million parameters with gpt_neox_20b's tokenizer, in fp32 on the CPU, greedily; OpenCompass's
//! `gsm8k_gen` through our own preset, at most 128 tokens each. So that answers are of mixed length every 60th token of the
//! vocabulary ends a text, on both sides. The usual way is `PaddedLlama`: batches of 8 padded on the left, sorted by
//! length, each of which continues until its last answer has ended. Where a Python with transformers is present
//! (COMPASS_PYTHON, else python3), the baseline runs some batches in turn with it, so that one sees it is no straw man.
//! Both sides tokenise within their time; neither loads the model within it.
//!
//! The answers must be the baseline's. Batches round otherwise, so that at a near tie of two logits the greedy choice may
//! part, and all after it: the program names those questions, and ends with 1 when they are more than one in ten. The last
//! line is `ratio: X`, the usual way's time over the engine's. With `--small` model and questions are made by the program
//! and take seconds. With `--thinking` the engine is compared with itself: [`thinking`].

mod thinking;
mod usual;

use compass_engine::DeviceChoice;
use compass_plan::engine::TokenCounters;
use compass_plan::{ModelKind, ModelPlan};
use compass_tests::bench::{BenchFolder, Options, Questions, Seconds, Watch, print_ratio};
use compass_types::result::{Outcome, SampleResult};
use std::process::ExitCode;

/// Most tokens of an answer.
const MOST: u32 = 128;

fn main() -> ExitCode {
    match Options::parse("bench-generate", std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(code) => code,
        Err(what) => {
            eprintln!("bench-generate: {what}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, String> {
    let default = if options.small { 24 } else { 64 };
    let questions = if options.questions == 0 { default } else { options.questions };
    let Some(place) = BenchFolder::make(options, &[], questions, (60, 12))? else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut sets = Questions::read(&place, &["gsm8k_gen/gsm8k".to_owned()], questions)?;
    let set = sets.first_mut().ok_or("the preset has no data set")?;
    if options.thinking {
        let mut row = |most: u32| {
            set.pack.infer = thinking::generation(most, options.seed);
            print!("max_out_len = {most}: ");
            engine(&place, options, set)
        };
        let [one, two, three, four] = thinking::ROWS.map(&mut row);
        let same = thinking::compare(&[one?, two?, three?, four?]);
        return Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    set.cap(MOST);
    let Row { seconds, results } = engine(&place, options, set)?;
    let usual = usual::run(&place, options, set, MOST as usize)?;
    let same = compare(&results, &usual);
    print_ratio(usual.seconds, seconds);
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Findings of the engine.
struct Row {
    seconds: Seconds,
    /// In the order of the questions.
    results: Vec<SampleResult>,
}

/// Runs every question through the engine.
fn engine(place: &BenchFolder, options: &Options, set: &Questions) -> Result<Row, String> {
    let mut plan = ModelPlan::new("random", ModelKind::Hf, place.model().display().to_string());
    plan.tokenizer_path = place.tokenizer.display().to_string();
    let engine = compass_engine::load(&plan, &DeviceChoice::Cpu, options.threads);
    let mut engine = engine.map_err(|fault| fault.to_string())?;
    let watch = Watch::start();
    let requests = set.requests();
    let mut results = Vec::with_capacity(requests.len());
    let counted = engine.run(&set.pack, &requests, &mut |result| results.push(result));
    let seconds = watch.seconds();
    let tokens: TokenCounters = counted.map_err(|fault| fault.to_string())?;
    results.sort_by_key(|result| result.index);
    println!(
        "engine: {} prompts, {} tokens submitted, {} computed, {} distinct, {} rows of padding, {} generated, {seconds}: \
         {:.0} generated tokens/s",
        requests.len(),
        tokens.submitted,
        tokens.computed,
        tokens.distinct,
        tokens.padded,
        tokens.generated,
        tokens.generated as f64 / seconds.wall
    );
    Ok(Row { seconds, results })
}

/// Returns whether the answers are the baseline's.
fn compare(results: &[SampleResult], usual: &usual::Usual) -> bool {
    let (mut same, mut shortest, mut longest) = (0, u32::MAX, 0);
    for (at, (result, theirs)) in results.iter().zip(&usual.answers).enumerate() {
        let Outcome::Generated(answers) = &result.outcome else {
            println!("question {at} has no answer: {:?}", result.outcome);
            continue;
        };
        let Some(ours) = answers.first() else { continue };
        (shortest, longest) = (shortest.min(ours.tokens), longest.max(ours.tokens));
        if ours.tokens as usize == theirs.tokens && ours.text == theirs.text {
            same += 1;
        } else {
            println!("question {at}: {} tokens here, {} there", ours.tokens, theirs.tokens);
        }
    }
    println!(
        "answers: {shortest} to {longest} tokens long; the same for {same} of {} (rounding may part a few)",
        results.len()
    );
    same * 10 >= results.len() * 9
}

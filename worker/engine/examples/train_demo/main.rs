//! Makes the demo from nothing: text, vocabulary, model and data sets, all written by this program.
//!
//! `cargo run -p compass-engine --example train_demo -- [--out DIR] [--steps N] [--seed N]` trains and writes
//! `DIR/model` and `DIR/data` (default `deploy/demo`); `--print-text DIR` only writes the training text and the data.
//! The same seed on the same machine writes the same bytes.

mod model;
mod output;
mod scores;
mod text;
mod vocabulary;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tch::nn::{AdamW, OptimizerConfig, VarStore};
use tch::{Device, Tensor};

/// One thread: matrices of this size are too small to share, and two threads wait for each other on a busy machine.
const THREADS: u32 = 1;
/// Rows of a batch, and tokens of a row.
const BATCH: usize = 16;
const ROW: usize = 128;
/// Documents that the vocabulary is learnt from.
const VOCABULARY_DOCUMENTS: usize = 20_000;
const PEAK_RATE: f64 = 3e-3;
const WARM_UP: f64 = 100.0;

struct Arguments {
    out: PathBuf,
    steps: usize,
    seed: u64,
    print_text: Option<PathBuf>,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut parsed = Arguments { out: "deploy/demo".into(), steps: 2000, seed: 20_261_121, print_text: None };
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        let value = given.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--out" => parsed.out = value.into(),
            "--steps" => parsed.steps = value.parse()?,
            "--seed" => parsed.seed = value.parse()?,
            "--print-text" => parsed.print_text = Some(value.into()),
            other => return Err(format!("unknown flag {other}: known are --out, --steps, --seed, --print-text").into()),
        }
    }
    Ok(parsed)
}

/// Rows of `ROW + 1` tokens; each begins with a document, and what does not fit into a row is cut off.
struct Rows<'a, Documents> {
    documents: Documents,
    tokenizer: &'a tokenizers::Tokenizer,
}

impl<Documents: Iterator<Item = String>> Rows<'_, Documents> {
    fn row(&mut self) -> Result<Vec<i64>, Box<dyn Error + Send + Sync>> {
        let mut row = Vec::with_capacity(ROW + 1);
        for document in &mut self.documents {
            let encoding = self.tokenizer.encode_fast(document, true)?;
            row.extend(encoding.get_ids().iter().map(|&id| i64::from(id)));
            row.push(i64::from(vocabulary::EOS));
            if row.len() > ROW {
                break;
            }
        }
        row.truncate(ROW + 1);
        Ok(row)
    }

    fn batch(&mut self) -> Result<Tensor, Box<dyn Error + Send + Sync>> {
        let mut ids = Vec::with_capacity(BATCH * (ROW + 1));
        for _ in 0..BATCH {
            ids.extend(self.row()?);
        }
        Ok(Tensor::f_from_slice(&ids)?.f_view([BATCH as i64, ROW as i64 + 1])?)
    }
}

/// Linear warm-up, then half a cosine down to a twentieth.
fn rate(step: usize, steps: usize) -> f64 {
    let done = step as f64 / steps as f64;
    let cosine = 0.05 + 0.95 * 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
    PEAK_RATE * cosine * ((step + 1) as f64 / WARM_UP).min(1.0)
}

fn train(arguments: &Arguments, model_directory: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let documents: Vec<String> = text::documents(arguments.seed).take(VOCABULARY_DOCUMENTS).collect();
    let tokenizer = vocabulary::train(&documents, &model_directory.join("tokenizer.json"))?;
    tch::manual_seed(arguments.seed as i64);
    let store = VarStore::new(Device::Cpu);
    let model = model::TrainableLlama::new(&store, vocabulary::SIZE as i64, ROW as i64)?;
    let parameters: usize = store.trainable_variables().iter().map(Tensor::numel).sum();
    eprintln!("{parameters} parameters, {} steps of {} tokens", arguments.steps, BATCH * ROW);
    let mut optimizer = AdamW { beta2: 0.99, wd: 0.05, ..AdamW::default() }.build(&store, PEAK_RATE)?;
    let mut rows = Rows { documents: text::documents(arguments.seed), tokenizer: &tokenizer };
    let (begun, mut sum, mut count) = (Instant::now(), 0.0, 0);
    for step in 0..arguments.steps {
        optimizer.set_lr(rate(step, arguments.steps));
        let batch = rows.batch()?;
        let loss = model.loss(&batch.f_narrow(1, 0, ROW as i64)?, &batch.f_narrow(1, 1, ROW as i64)?)?;
        optimizer.backward_step_clip_norm(&loss, 1.0);
        sum += f64::try_from(&loss)?;
        count += 1;
        if (step + 1) % 100 == 0 || step + 1 == arguments.steps {
            eprintln!(
                "step {:5}  loss {:.4}  {:4.0} s",
                step + 1,
                sum / f64::from(count),
                begun.elapsed().as_secs_f64()
            );
            (sum, count) = (0.0, 0);
        }
    }
    output::write_weights(&store, &model_directory.join("model.safetensors")).map_err(|error| error.to_string())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let files = text::data_files(arguments.seed);
    if let Some(directory) = &arguments.print_text {
        std::fs::create_dir_all(directory)?;
        // No document is shorter than eight tokens: this is at least what a training run reads.
        let documents: Vec<String> = text::documents(arguments.seed).take(arguments.steps * BATCH * ROW / 8).collect();
        std::fs::write(directory.join("training.txt"), documents.join("\n\n"))?;
        return output::write_data(directory, &files);
    }
    let (model, data) = (arguments.out.join("model"), arguments.out.join("data"));
    std::fs::create_dir_all(&model)?;
    std::fs::create_dir_all(&data)?;
    tch::set_num_threads(THREADS as i32);
    output::write_data(&data, &files)?;
    output::write_configuration(&model)?;
    train(&arguments, &model).map_err(|error| error.to_string())?;
    for score in scores::score(&model, &files, THREADS)? {
        println!("{:12} {:6.2} of {} rows", score.dataset, score.percent, score.rows);
    }
    Ok(())
}

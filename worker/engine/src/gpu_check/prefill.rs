//! Speed at which texts are scored, through the engine's own interface: tokenizing, trie and epilogue included.

use super::finding::Finding;
use super::setup::{CheckSetup, run_timed};
use super::workload::{to_score, words};
use crate::config::read_json;
use compass_plan::InferSpec;
use compass_plan::engine::EngineFault;
use serde_json::Value;
use std::path::Path;

const SECTION: &str = "prefill";

/// Dense bfloat16 of an H100's data sheet, in TFLOP/s.
const H100_TFLOPS: f64 = 989.0;

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let mut engine = setup.load()?;
    let longest = engine.facts().max_seq_len as usize - 1;
    let rows = setup.amount(8000, 96).min(longest);
    let header = words(1, rows / 10);
    let shapes = [
        (format!("1 text of {rows} tokens"), "", 1, rows),
        (format!("4 texts of {} tokens", rows / 4), "", 4, rows / 4),
        (
            format!("100 texts of {} tokens after a header of {}", rows / 100 + 2, rows / 10),
            header.as_str(),
            100,
            rows / 100 + 2,
        ),
    ];
    let flops = Flops::of(Path::new(&setup.plan.path))?;
    let has_goal = setup.has_speed_goals(&engine.facts().device);
    for (name, header, count, own) in shapes {
        // The first run warms up, on other texts.
        run_timed(engine.as_mut(), &InferSpec::Ppl, &to_score(header, count, own, 1, 0, 1000))?;
        let samples = to_score(header, count, own, 1, 0, 2000);
        let (_, counters, seconds) = run_timed(engine.as_mut(), &InferSpec::Ppl, &samples)?;
        let speed = counters.computed as f64 / seconds.max(1e-9);
        report(Finding::measured(SECTION, format!("{name}: tokens computed"), speed, "tokens/s"));
        // A share of an H100 says nothing about a CPU.
        if let Some(flops) = flops.filter(|_| !setup.is_cpu()) {
            let header = header.split_whitespace().count();
            let all = flops.of_texts(header, count, own);
            let used = 100.0 * all / seconds.max(1e-9) / 1e12 / H100_TFLOPS;
            let row = Finding::measured(SECTION, format!("{name}: MFU of {H100_TFLOPS} TFLOP/s"), used, "%");
            report(row.judged("at least 55 % for llama-8b on an H100", has_goal.then_some(used >= 55.0)));
        }
    }
    Ok(())
}

/// Floating-point operations of a Llama.
#[derive(Clone, Copy)]
struct Flops {
    /// Per token: two for every weight but the embeddings'.
    token: f64,
    /// Per token and key that it sees: two for the score and two for the mixture, of every head in every layer.
    key: f64,
}

impl Flops {
    fn of(folder: &Path) -> Result<Option<Self>, EngineFault> {
        let config: Value = read_json(&folder.join("config.json"))?.unwrap_or_default();
        let size = |key: &str| config.get(key).and_then(Value::as_f64);
        let count = || {
            let (hidden, inner, layers) =
                (size("hidden_size")?, size("intermediate_size")?, size("num_hidden_layers")?);
            let heads = size("num_attention_heads")?;
            let kv_width = hidden / heads * size("num_key_value_heads").unwrap_or(heads);
            let layer = 2.0 * hidden * hidden + 2.0 * hidden * kv_width + 3.0 * hidden * inner;
            Some(Self { token: 2.0 * (layers * layer + hidden * size("vocab_size")?), key: 4.0 * layers * hidden })
        };
        Ok(count())
    }

    /// Returns the operations of `count` texts of `own` tokens after a header that is computed once: keys that no token sees cost
    /// nothing.
    fn of_texts(self, header: usize, count: usize, own: usize) -> f64 {
        let (header, count, own) = (header as f64, count as f64, own as f64);
        let keys = header * header / 2.0 + count * own * (header + own / 2.0);
        self.token * (header + count * own) + self.key * keys
    }
}

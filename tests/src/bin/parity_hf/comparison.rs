//! One model: its logits here beside those in its golden.

use compass_engine::{BareModel, DeviceChoice};
use compass_plan::{Dtype, ModelKind};
use safetensors::SafeTensors;
use std::path::Path;

/// Dtypes by the words of the golden.
const DTYPES: [(&str, Dtype); 3] =
    [("float32", Dtype::Float32), ("bfloat16", Dtype::Bfloat16), ("float16", Dtype::Float16)];

/// Distance of all sequences of a model, in one dtype and one way of computing.
#[derive(Debug)]
pub(crate) struct Comparison {
    dtype: Dtype,
    word: &'static str,
    way: &'static str,
    /// The largest difference, relative to the largest logit of the sequence; NaN when a logit is NaN.
    off: f64,
    /// Logits that are not equal to the bit, and all of them.
    differing: usize,
    logits: usize,
}

impl Comparison {
    pub(crate) fn is_equal(&self) -> bool {
        self.differing == 0
    }

    /// Returns whether it is near enough: fp32 within `largest`; the other dtypes have no bound, but must be finite.
    pub(crate) fn passes(&self, largest: f64) -> bool {
        self.off.is_finite() && (self.dtype != Dtype::Float32 || self.off <= largest)
    }

    /// All of a model's in one line.
    pub(crate) fn line(compared: &[Self]) -> String {
        let one = |comparison: &Self| {
            let Self { word, way, off, differing, logits, .. } = comparison;
            match differing {
                0 => format!("{word} {way}: bits equal"),
                _ => format!(
                    "{word} {way}: {off:.1e} ({:.0} % of bits equal)",
                    100.0 * (1.0 - *differing as f64 / *logits as f64)
                ),
            }
        };
        compared.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    fn observe(&mut self, got: &[f32], wanted: &[f32]) -> Result<(), String> {
        if got.len() != wanted.len() {
            return Err(format!("{} logits here, {} there", got.len(), wanted.len()));
        }
        let pairs = || got.iter().zip(wanted);
        let largest = wanted.iter().map(|logit| f64::from(logit.abs())).fold(0.0, f64::max);
        let off = pairs().map(|(got, wanted)| f64::from(got - wanted).abs()).fold(0.0, f64::max);
        let finite = pairs().all(|(got, wanted)| got.is_finite() && wanted.is_finite());
        self.off = if finite { self.off.max(off / largest) } else { f64::NAN };
        self.differing += pairs().filter(|(got, wanted)| got.to_bits() != wanted.to_bits()).count();
        self.logits += got.len();
        Ok(())
    }
}

/// Compares the model in `folder` with the golden there, in every dtype, computed at once and step by step.
///
/// # Errors
/// What keeps them from being compared.
pub(crate) fn compare(folder: &Path, device: &DeviceChoice, threads: u32) -> Result<Vec<Comparison>, String> {
    let bytes = std::fs::read(folder.join("golden.safetensors")).map_err(|error| error.to_string())?;
    let golden = SafeTensors::deserialize(&bytes).map_err(|error| error.to_string())?;
    let layout = match (folder.join("params.json").exists(), folder.join("model_config.pt").exists()) {
        (true, _) => ModelKind::Llama,
        (_, true) => ModelKind::InternLm,
        _ => ModelKind::Hf,
    };
    let mut compared = Vec::new();
    for (word, dtype) in DTYPES {
        let model = BareModel::load_layout(folder, layout, dtype, device, threads);
        let mut model = model.map_err(|fault| fault.to_string())?;
        let new = |way| Comparison { dtype, word, way, off: 0.0, differing: 0, logits: 0 };
        let (mut prefill, mut decode) = (new("prefill"), new("decode"));
        for place in 0.. {
            let Some(tokens) = integers(&golden, &format!("tokens.{place}")) else { break };
            let prompt = integers(&golden, &format!("prompt.{place}")).unwrap_or_default();
            let wanted = |way: &str| floats(&golden, &format!("{way}.{place}.{word}"));
            let got = model.prefill(&tokens).map_err(|fault| fault.to_string())?;
            prefill.observe(&got, &wanted("prefill")?)?;
            let prompt = prompt.first().map_or(1, |&prompt| prompt as usize);
            let got = model.decode(&tokens, prompt).map_err(|fault| fault.to_string())?;
            decode.observe(&got, &wanted("decode")?)?;
        }
        compared.extend([prefill, decode]);
    }
    Ok(compared)
}

/// A tensor of 64-bit integers, all of which are small and not negative.
fn integers(golden: &SafeTensors<'_>, name: &str) -> Option<Vec<u32>> {
    let (numbers, _) = golden.tensor(name).ok()?.data().as_chunks::<8>();
    Some(numbers.iter().map(|&bytes| i64::from_le_bytes(bytes) as u32).collect())
}

fn floats(golden: &SafeTensors<'_>, name: &str) -> Result<Vec<f32>, String> {
    let tensor = golden.tensor(name).map_err(|error| format!("{name}: {error}"))?;
    let (numbers, _) = tensor.data().as_chunks::<4>();
    Ok(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

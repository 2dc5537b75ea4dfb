//! Configuration of the rotary embedding: base and scaling for long contexts, with transformers' names.

use serde::Deserialize;
use serde_json::Value;

/// Frequencies of a model's rotation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RopeConfig {
    pub(crate) theta: f64,
    /// Number of entries of a head that are rotated, from the first on; even.
    pub(crate) dim: i64,
    pub(crate) scaling: RopeScaling,
}

/// Supported kinds of `rope_type`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RopeScaling {
    Default,
    Linear {
        factor: f64,
    },
    /// NTK-aware scaling whose base grows with the length of the sequence beyond `max_positions`.
    Dynamic {
        factor: f64,
        max_positions: i64,
    },
    Llama3 {
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        original_max_position_embeddings: f64,
    },
    Yarn(Yarn),
    /// One list of divisors up to `original_positions` tokens and another beyond; `dim / 2` each.
    LongRope {
        short: Vec<f32>,
        long: Vec<f32>,
        original_positions: i64,
        attention_factor: f64,
    },
}

/// YaRN (Peng et al. 2023).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Yarn {
    pub(crate) factor: f64,
    pub(crate) original_max_position_embeddings: f64,
    /// Factor of cosines and sines.
    pub(crate) attention_factor: f64,
    pub(crate) beta_fast: f64,
    pub(crate) beta_slow: f64,
    /// Set if the range of blended frequencies is widened to whole indices.
    pub(crate) truncate: bool,
}

#[derive(Default, Deserialize)]
struct Raw {
    rope_theta: Option<f64>,
    rope_type: Option<String>,
    /// Old name of `rope_type`.
    r#type: Option<String>,
    partial_rotary_factor: Option<f64>,
    factor: Option<f64>,
    low_freq_factor: Option<f64>,
    high_freq_factor: Option<f64>,
    original_max_position_embeddings: Option<f64>,
    attention_factor: Option<f64>,
    beta_fast: Option<f64>,
    beta_slow: Option<f64>,
    mscale: Option<f64>,
    mscale_all_dim: Option<f64>,
    truncate: Option<bool>,
    short_factor: Option<Vec<f32>>,
    long_factor: Option<Vec<f32>>,
}

impl RopeConfig {
    /// Reads `rope_parameters` or `rope_scaling`; `theta` and `partial` are separate keys in older files. `positions`
    /// are the model's `max_position_embeddings` and `original_max_position_embeddings`.
    pub(crate) fn read(
        raw: Option<Value>,
        theta: f64,
        head_dim: i64,
        partial: Option<f64>,
        positions: (Option<f64>, Option<f64>),
    ) -> Result<Self, String> {
        let raw = match raw {
            None | Some(Value::Null) => Raw::default(),
            Some(raw) => Raw::deserialize(raw).map_err(|error| format!("rope parameters: {error}"))?,
        };
        let theta = raw.rope_theta.unwrap_or(theta);
        let partial = raw.partial_rotary_factor.or(partial).unwrap_or(1.0);
        let dim = (head_dim as f64 * partial) as i64;
        if dim < 2 || dim % 2 != 0 || dim > head_dim {
            return Err(format!(
                "cannot rotate {partial} of head_dim {head_dim}: {dim} is not an even number within it"
            ));
        }
        let sound = |number: f64| number.is_finite() && number > 0.0;
        let factors = [raw.factor, raw.low_freq_factor, raw.high_freq_factor, raw.original_max_position_embeddings];
        if !sound(theta) || factors.into_iter().flatten().any(|number| !sound(number)) {
            return Err("a rope parameter is not positive".into());
        }
        Ok(Self { theta, dim, scaling: scaling(raw, dim, positions)? })
    }
}

fn required<T>(value: Option<T>, key: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("the rope parameter `{key}` is missing"))
}

fn scaling(raw: Raw, dim: i64, (max, original): (Option<f64>, Option<f64>)) -> Result<RopeScaling, String> {
    let max = || max.ok_or("this rope_type needs `max_position_embeddings`, which is missing");
    Ok(match raw.rope_type.as_deref().or(raw.r#type.as_deref()).unwrap_or("default") {
        "default" => RopeScaling::Default,
        "linear" => RopeScaling::Linear { factor: required(raw.factor, "factor")? },
        "dynamic" => RopeScaling::Dynamic { factor: required(raw.factor, "factor")?, max_positions: max()? as i64 },
        "llama3" => RopeScaling::Llama3 {
            factor: required(raw.factor, "factor")?,
            low_freq_factor: required(raw.low_freq_factor, "low_freq_factor")?,
            high_freq_factor: required(raw.high_freq_factor, "high_freq_factor")?,
            original_max_position_embeddings: required(
                raw.original_max_position_embeddings,
                "original_max_position_embeddings",
            )?,
        },
        "yarn" => {
            let factor = required(raw.factor, "factor")?;
            let original = match raw.original_max_position_embeddings.filter(|&original| original > 0.0) {
                Some(original) => original,
                None => max()?,
            };
            RopeScaling::Yarn(Yarn {
                factor,
                original_max_position_embeddings: original,
                attention_factor: raw.attention_factor.unwrap_or(yarn_attention(
                    factor,
                    raw.mscale,
                    raw.mscale_all_dim,
                )),
                beta_fast: raw.beta_fast.filter(|&beta| beta != 0.0).unwrap_or(32.0),
                beta_slow: raw.beta_slow.filter(|&beta| beta != 0.0).unwrap_or(1.0),
                truncate: raw.truncate.unwrap_or(true),
            })
        }
        // The first Phi-3 files name it `su`.
        "longrope" | "su" => {
            let short = required(raw.short_factor, "short_factor")?;
            let long = required(raw.long_factor, "long_factor")?;
            if [short.len(), long.len()] != [dim as usize / 2; 2] {
                let (short, long) = (short.len(), long.len());
                return Err(format!(
                    "short_factor and long_factor have {short} and {long} numbers, not {} each",
                    dim / 2
                ));
            }
            let (factor, original) = match original.or(raw.original_max_position_embeddings) {
                Some(original) => (max()? / original, original),
                None => (required(raw.factor, "factor")?, max()?),
            };
            let paper = if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / original.ln()).sqrt() };
            let attention_factor = raw.attention_factor.unwrap_or(paper);
            RopeScaling::LongRope { short, long, original_positions: original as i64, attention_factor }
        }
        other => {
            let known = "default, linear, dynamic, llama3, yarn, longrope";
            return Err(format!("rope_type `{other}` is not supported; supported are: {known}"));
        }
    })
}

/// transformers' default of `attention_factor`.
fn yarn_attention(factor: f64, mscale: Option<f64>, all_dim: Option<f64>) -> f64 {
    let scale = |mscale: f64| if factor <= 1.0 { 1.0 } else { 0.1 * mscale * factor.ln() + 1.0 };
    match (mscale.filter(|&scale| scale != 0.0), all_dim.filter(|&scale| scale != 0.0)) {
        (Some(mscale), Some(all_dim)) => scale(mscale) / scale(all_dim),
        _ => scale(1.0),
    }
}

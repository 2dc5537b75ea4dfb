//! Gemma (Gemma team 2024): Llama with scaled embeddings, a GELU, and norms whose weights are stored as differences from one.

use super::decoder::{Decoder, Placement};
use super::pre_norm;
use crate::blocks::Activation;
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::{RmsForm, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
    hidden_act: Option<String>,
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let defaults = LlamaDefaults {
        head_dim: Some(256),
        tie_word_embeddings: true,
        activation: "gelu_pytorch_tanh",
        norm: RmsForm::FromOne,
        ..LlamaDefaults::default()
    };
    let shape = LlamaShape::read(config, &defaults)?;
    let keys: Keys = config.keys()?;
    // Some files have `hidden_activation` too, which transformers 4.57 does not read.
    let activation = Activation::named(keys.hidden_act.as_deref().unwrap_or(defaults.activation));
    let shape = LlamaShape { activation: activation.map_err(|what| config.fault(what))?, ..shape };
    if shape.activation == Activation::Gelu {
        let note = "hidden_act is \"gelu\": computed as such, as transformers 4.57 does; the published Gemma was trained with \
                    \"gelu_pytorch_tanh\"";
        weights.notes.push(note.to_owned());
    }
    let biases = [keys.attention_bias.unwrap_or(false); 2].into();
    let decoder = pre_norm::load(&shape, weights, to, |_, at, weights| {
        let self_attn = pre_norm::attention(&shape, weights, at, biases, ScoreRule::default())?;
        let mlp = pre_norm::dense_mlp(&shape, weights, at)?;
        pre_norm::layer(&shape, weights, at, self_attn, mlp)
    })?;
    Ok(Decoder { embed_scale: Some((shape.hidden_size as f64).sqrt()), ..decoder })
}

//! Test on the device itself that the bits of a sequence do not depend on what is computed beside it.
//!
//! On a CPU tests hold this for every family. On a GPU it depends on which kernels its libraries choose for a number of
//! rows, so that every engine looks before it claims it.

use crate::kv::{Arena, ExtentId, Segment};
use crate::models::CausalLm;
use tch::{TchError, Tensor};

/// Tokens of the sequence that is looked at, and of its neighbours.
const OWN: usize = 21;
const NEIGHBOURS: [usize; 7] = [3, 60, 1, 33, 17, 45, 9];

/// Returns whether hidden states and logits of a sequence, computed at once and then decoded, are the same bits alone and
/// among others.
///
/// # Errors
/// Errors of libtorch.
pub(crate) fn is_batch_invariant(model: &mut dyn CausalLm) -> Result<bool, TchError> {
    // Positions may be few; one is for the decoded token.
    let most = model.most_positions().map_or(usize::MAX, |most| most.saturating_sub(1)).max(1);
    let own = OWN.min(most);
    let neighbours = NEIGHBOURS.map(|length| length.min(most));
    let mut arena = model.arena(own + neighbours.iter().sum::<usize>() + neighbours.len() + 1)?;
    let alone = states(model, &mut arena, &[own], 0)?;
    for first in [0, 3, neighbours.len()] {
        let mut lengths = neighbours.to_vec();
        lengths.insert(first, own);
        let among = states(model, &mut arena, &lengths, first)?;
        for (one, other) in alone.iter().zip(&among) {
            if !one.f_equal(other)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns hidden states and logits of one of some sequences, computed at once, and the same after one token more.
fn states(model: &mut dyn CausalLm, arena: &mut Arena, lengths: &[usize], of: usize) -> Result<[Tensor; 4], TchError> {
    arena.clear();
    let vocabulary = model.vocabulary().max(1);
    let own = |length: &usize| -> Result<ExtentId, TchError> {
        arena.allocate(length + 1).ok_or_else(|| TchError::Torch("the arena has no room".into()))
    };
    let extents = lengths.iter().map(own).collect::<Result<Vec<_>, _>>()?;
    let text = |length: usize| (0..length).map(move |at| ((at * 37 + length * 11 + 3) % vocabulary) as u32);
    let tokens: Vec<u32> = lengths.iter().flat_map(|&length| text(length)).collect();
    let whole = extents.iter().zip(lengths).map(|(&extent, &length)| Segment::alone(extent, 0, length));
    let first = lengths[..of].iter().sum::<usize>() as i64;
    let prompt = model.hidden(&tokens, &whole.collect::<Vec<_>>(), arena)?.f_narrow(0, first, lengths[of] as i64)?;
    let tokens: Vec<u32> = lengths.iter().map(|length| (length % vocabulary) as u32).collect();
    let next = extents
        .iter()
        .zip(lengths)
        .map(|(&extent, &length)| Segment { decodes: true, ..Segment::alone(extent, length, 1) });
    let step = model.hidden(&tokens, &next.collect::<Vec<_>>(), arena)?;
    // Logits of all, as they are computed together.
    let logits = model.logits(&step)?.f_narrow(0, of as i64, 1)?;
    let of_prompt = model.logits(&prompt)?;
    Ok([prompt, of_prompt, step.f_narrow(0, of as i64, 1)?, logits])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::kernels::{Kernels, Reference};
    use crate::load::{Spread, load_model, open_random};
    use compass_plan::{Dtype, ModelKind};
    use serde_json::json;
    use tch::{Device, Kind};

    #[test]
    fn a_model_on_the_cpu_is_invariant() {
        let _no_grad = tch::no_grad_guard();
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        let folder = tempfile::tempdir().unwrap();
        let config = json!({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 90, "hidden_size": 48,
            "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "hidden_act": "silu"
        });
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let config = ModelConfig::read(folder.path(), ModelKind::Hf).unwrap();
        let kind = (ModelKind::Hf, Dtype::Float32);
        let opened = open_random(folder.path(), &config, kind, Device::Cpu, 3).unwrap();
        let on = Spread::Layers(&[Device::Cpu; 2]);
        let mut model = load_model(opened, &config, on, 128, &mut Vec::new()).unwrap().model;
        assert!(is_batch_invariant(model.as_mut()).unwrap());
    }

    /// Its states grow with the number of rows of a pass.
    struct Dependent;

    impl CausalLm for Dependent {
        fn hidden(&mut self, tokens: &[u32], segments: &[Segment], arena: &mut Arena) -> Result<Tensor, TchError> {
            let mut first = 0;
            for segment in segments {
                arena.note(segment.own, segment.before, &tokens[first..first + segment.rows], false);
                first += segment.rows;
            }
            let rows = tokens.len() as i64;
            Tensor::f_full([rows, 2], 1.0 + 1e-6 * rows as f64, (Kind::Float, Device::Cpu))
        }

        fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
            Ok(hidden.shallow_clone())
        }

        fn arena(&self, tokens: usize) -> Result<Arena, TchError> {
            Arena::new(&[Device::Cpu], tokens, (1, 1), Kind::Float)
        }

        fn token_bytes(&self) -> usize {
            8
        }

        fn kernels(&self) -> &dyn Kernels {
            &Reference
        }

        fn rows_at_once(&self) -> usize {
            16
        }

        fn shares_prefixes(&self, _: usize) -> bool {
            true
        }

        fn vocabulary(&self) -> usize {
            50
        }

        fn most_positions(&self) -> Option<usize> {
            None
        }
    }

    #[test]
    fn a_model_whose_rows_depend_on_others_is_noticed() {
        assert!(!is_batch_invariant(&mut Dependent).unwrap());
    }
}

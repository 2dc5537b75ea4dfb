//! A real model's answers in little memory: tokens, and the bits of all logits, are the same as in ample memory.

use super::{Slots, Trace, Traced, sequences_at_once, trace};
use crate::config::ModelConfig;
use crate::kernels::Kernels;
use crate::kv::{Arena, Segment};
use crate::load::{Spread, load_model, open};
use crate::models::{CausalLm, LateTokens};
use compass_plan::engine::TokenCounters;
use compass_plan::{Dtype, ModelKind};
use std::path::Path;
use tch::{Device, TchError, Tensor};

/// The demo's model with a bounded arena.
struct Bounded {
    model: Box<dyn CausalLm>,
    tokens: usize,
}

impl Bounded {
    fn load() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/demo/model");
        let config = ModelConfig::read(&folder, ModelKind::Hf).unwrap();
        let on = Spread::ByMemory { devices: &[Device::Cpu], colocated_engines: 1 };
        let opened = open(&folder, ModelKind::Hf, &config, Dtype::Float32, Device::Cpu).unwrap();
        Self { model: load_model(opened, &config, on, 256, &mut Vec::new()).unwrap().model, tokens: 0 }
    }
}

impl CausalLm for Bounded {
    fn hidden(&mut self, tokens: &[u32], segments: &[Segment], arena: &mut Arena) -> Result<Tensor, TchError> {
        self.model.hidden(tokens, segments, arena)
    }

    fn takes_late_tokens(&self) -> bool {
        self.model.takes_late_tokens()
    }

    fn hidden_after(
        &mut self,
        tokens: &[u32],
        late: &LateTokens,
        segments: &[Segment],
        arena: &mut Arena,
    ) -> Result<Tensor, TchError> {
        self.model.hidden_after(tokens, late, segments, arena)
    }

    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
        self.model.logits(hidden)
    }

    fn arena(&self, tokens: usize) -> Result<Arena, TchError> {
        self.model.arena(tokens)
    }

    fn token_bytes(&self) -> usize {
        self.model.token_bytes()
    }

    fn kernels(&self) -> &dyn Kernels {
        self.model.kernels()
    }

    fn rows_at_once(&self) -> usize {
        self.model.rows_at_once()
    }

    fn arena_tokens(&self, _: usize) -> usize {
        self.tokens
    }

    fn shares_prefixes(&self, length: usize) -> bool {
        self.model.shares_prefixes(length)
    }

    fn vocabulary(&self) -> usize {
        self.model.vocabulary()
    }

    fn most_positions(&self) -> Option<usize> {
        self.model.most_positions()
    }
}

/// Prompts of which all but one in three begin with one of two headers, with answers of up to 50 tokens.
fn asked() -> Vec<Traced> {
    let prompt = |sample: u32| {
        let header = (0..if sample.is_multiple_of(3) { 0 } else { 80 }).map(|at| (at * 7 + sample % 3 * 11) % 300);
        header.chain((0..4 + sample % 9).map(|at| (sample * 37 + at * at) % 300)).collect()
    };
    let one =
        |sample| Traced { sample, prompt: prompt(sample), borders: vec![80], tokens: 1 + sample as usize * 29 % 50 };
    (0..12).map(one).collect()
}

fn traces(model: &mut Bounded, tokens: usize, slots: Slots, seed: Option<u64>) -> (Vec<Trace>, TokenCounters) {
    let _no_grad = tch::no_grad_guard();
    let mut counters = TokenCounters::default();
    model.tokens = tokens;
    (trace(model, &asked(), slots, seed, &mut counters).unwrap(), counters)
}

#[test]
fn bits_are_those_of_ample_memory() {
    let mut model = Bounded::load();
    for (is_ahead, seed) in [(false, Some(7)), (true, None)] {
        let slots = |most: usize, first_room| Slots::new(most, is_ahead).with_first_room(first_room);
        let (wanted, ample) = traces(&mut model, 1 << 14, slots(sequences_at_once(Device::Cpu), 1024), seed);
        for (most, tokens, is_little) in [(2, 200, true), (12, 300, true), (12, 1 << 14, false)] {
            let what = format!("{most} slots, {tokens} tokens, ahead {is_ahead}, seed {seed:?}");
            let (got, counters) = traces(&mut model, tokens, slots(most, 5), seed);
            assert!(got == wanted, "{what}");
            assert_eq!(counters.distinct, ample.distinct, "{what}");
            let again = counters.computed > ample.computed;
            assert_eq!(again, is_little, "some begin again: {what}: {counters:?}, {ample:?}");
        }
    }
}

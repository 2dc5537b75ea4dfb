//! A model whose layers are on several devices computes the same as on one. Here every device is the CPU: the test is
//! that every layer finds its weights, cache, rotation and mask, and that micro-batches find the keys of those before them.

use crate::families::support::golden_cases;
use compass_engine::{BareModel, DeviceChoice};
use compass_plan::Dtype;
use std::path::PathBuf;

#[test]
fn layers_on_several_devices_give_the_same_bits() {
    let foreign = |case: &PathBuf| case.join("params.json").exists() || case.join("model_config.pt").exists();
    for case in golden_cases().into_iter().map(|(_, case)| case).filter(|case| !foreign(case)) {
        let mut whole = BareModel::load(&case, Dtype::Float32, &DeviceChoice::Cpu, 1).unwrap();
        let mut spread = BareModel::load_spread(&case, Dtype::Float32, &[DeviceChoice::Cpu; 64]).unwrap();
        let tokens: Vec<u32> = (0..24).map(|token| token * 7 % whole.vocabulary() as u32).collect();
        let bits = |model: &mut BareModel, prompt| {
            let logits = model.decode(&tokens, prompt).unwrap();
            logits.iter().map(|logit| logit.to_bits()).collect::<Vec<_>>()
        };
        for prompt in [1, 9, tokens.len()] {
            assert!(bits(&mut spread, prompt) == bits(&mut whole, prompt), "{}", case.display());
        }
        // Micro-batches have four rows at least: a header, two that follow it, and another text.
        let pass = [(0, &tokens[..8]), (8, &tokens[8..13]), (8, &tokens[9..16]), (0, &tokens[3..12])];
        let packed = |model: &mut BareModel| {
            let logits = model.packed(&[&pass]).unwrap();
            logits.iter().map(|logit| logit.to_bits()).collect::<Vec<_>>()
        };
        assert!(packed(&mut spread) == packed(&mut whole), "{}, in one pass", case.display());
    }
}

//! Strict and loose results, per prompt and per instruction.

use super::kind::Instruction;
use crate::text::strip;
use serde::{Deserialize, Serialize};

/// The results of one response, one per instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IfevalSample {
    /// The response as it is.
    pub strict: Vec<bool>,
    /// The response, or it without its first line, its last, both, and any of these without asterisks.
    pub loose: Vec<bool>,
}

/// lm-eval's `process_results` of one response; a blank response follows nothing.
pub fn follow(instructions: &[Instruction], response: &str) -> IfevalSample {
    let lines: Vec<&str> = response.split('\n').collect();
    let join = |lines: &[&str]| strip(&lines.join("\n")).to_string();
    let last = lines.len() - 1;
    let whole =
        [response.to_string(), join(&lines[1..]), join(&lines[..last]), join(lines.get(1..last).unwrap_or(&[]))];
    let plain = whole.iter().map(|variant| variant.replace('*', ""));
    let variants: Vec<String> =
        whole.iter().cloned().chain(plain).filter(|variant| !strip(variant).is_empty()).collect();
    let follows = |instruction: &Instruction, text: &str| !strip(text).is_empty() && instruction.check(text);
    IfevalSample {
        strict: instructions.iter().map(|instruction| follows(instruction, response)).collect(),
        loose: instructions.iter().map(|rule| variants.iter().any(|variant| rule.check(variant))).collect(),
    }
}

/// Counts over samples; every accuracy of the peers is a quotient of two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IfevalStats {
    /// Prompts seen.
    pub prompts: u64,
    /// Prompts whose instructions were all followed, strictly.
    pub strict_prompts: u64,
    /// The same, loosely.
    pub loose_prompts: u64,
    /// Instructions seen.
    pub instructions: u64,
    /// Instructions followed, strictly.
    pub strict_instructions: u64,
    /// The same, loosely.
    pub loose_instructions: u64,
}

impl IfevalStats {
    /// One sample.
    pub fn observe(&mut self, sample: &IfevalSample) {
        let followed = |followed_flags: &[bool]| followed_flags.iter().filter(|flag| **flag).count() as u64;
        let all = |followed_flags: &[bool]| u64::from(followed_flags.iter().all(|flag| *flag));
        self.merge(&Self {
            prompts: 1,
            strict_prompts: all(&sample.strict),
            loose_prompts: all(&sample.loose),
            instructions: sample.strict.len() as u64,
            strict_instructions: followed(&sample.strict),
            loose_instructions: followed(&sample.loose),
        });
    }

    /// Adds the counts of other samples.
    pub fn merge(&mut self, other: &Self) {
        self.prompts += other.prompts;
        self.strict_prompts += other.strict_prompts;
        self.loose_prompts += other.loose_prompts;
        self.instructions += other.instructions;
        self.strict_instructions += other.strict_instructions;
        self.loose_instructions += other.loose_instructions;
    }
}

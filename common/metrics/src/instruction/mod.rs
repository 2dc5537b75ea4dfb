//! IFEval (Zhou et al. 2023): whether a response follows instructions that a rule can check, as lm-eval checks them.

mod check;
mod follow;
mod format;
mod kind;
mod language;
mod parse;
mod punkt;
mod punkt_facts;
mod punkt_token;
mod text_rules;
mod word_tokenizer;

pub use follow::{IfevalSample, IfevalStats, follow};
pub use kind::{Instruction, Relation};
pub use language::detect_language;
pub use parse::InstructionError;
pub use punkt::sentences;
pub use word_tokenizer::word_tokenize;

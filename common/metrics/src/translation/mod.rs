//! Machine translation: BLEU, chrF and TER as sacrebleu 2 computes them, from statistics that add up over a corpus.

mod bleu;
mod chrf;
mod ter;
mod ter_beam;
mod ter_edits;
mod tokenizer;

pub use bleu::{Bleu, BleuStats};
pub use chrf::{Chrf, ChrfStats};
pub use ter::TerStats;
pub use tokenizer::BleuTokenizer;

//! Machine translation: BLEU and chrF as sacrebleu 2 computes them, from statistics that add up over a corpus.

mod bleu;
mod chrf;
mod tokenizer;

pub use bleu::{Bleu, BleuStats};
pub use chrf::{Chrf, ChrfStats};
pub use tokenizer::BleuTokenizer;

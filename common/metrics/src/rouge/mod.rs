//! ROUGE (Lin 2004) three ways: Google's `rouge_score`, the `rouge` package of LongBench, and `rouge_chinese`.

mod aggregate;
mod chinese;
mod lcs;
mod porter;
mod rouge_score;
mod score;
mod sentence_sets;
mod tokenize;

pub use aggregate::{RougeRow, rouge_medians};
pub use chinese::{ChineseRouge, jieba_rouge};
pub use lcs::lcs_length;
pub use porter::porter_stem;
pub use rouge_score::{best_rouge, rouge};
pub use score::RougeScore;
pub use sentence_sets::{longbench_rouge, rouge_l_of_sets};
pub use tokenize::{Stemming, tokenize};

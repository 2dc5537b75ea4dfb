//! Choices and short answers: Gaokao, BBH, LAMBADA, and the bias sets CrowS-Pairs and BBQ.

mod bbq;
mod bbq_stats;
mod big_bench;
mod crows_pairs;
mod gaokao;
mod one_answer;
mod similarity;
mod truthful_qa;

pub use bbq::{bbq_answer, bbq_choices, bbq_groups, bbq_is_biased, bbq_is_unknown, bbq_targets};
pub use bbq_stats::{BbqCounts, BbqStats};
pub use big_bench::{bbeh_choice_equal, bbeh_freeform_equal, bbh_freeform_equal};
pub use crows_pairs::{CrowsPairsSentence, CrowsPairsStats, crows_pairs_sentence};
pub use gaokao::{GaokaoQuestion, GaokaoScore, gaokao_answer, gaokao_score};
pub use one_answer::{lambada_equal, mmlu_pro_equal};
pub use similarity::option_meant;
pub use truthful_qa::{TruthfulGeneration, TruthfulSimilarity, truthful_generation, truthful_mc1, truthful_mc2};

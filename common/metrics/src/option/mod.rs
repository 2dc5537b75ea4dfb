//! Choices and short answers: Gaokao, BBH, LAMBADA, and the bias sets CrowS-Pairs and BBQ.

mod bbeh;
mod bbh;
mod bbq;
mod bbq_groups;
mod bbq_stats;
mod crows_pairs;
mod gaokao;
mod lambada;
mod mmlu_pro;
mod similarity;
mod truthful_generation;
mod truthful_qa;

pub use bbeh::{bbeh_choice_equal, bbeh_freeform_equal};
pub use bbh::bbh_freeform_equal;
pub use bbq::{bbq_answer, bbq_choices, bbq_is_unknown, bbq_targets};
pub use bbq_groups::{bbq_groups, bbq_is_biased};
pub use bbq_stats::{BbqCounts, BbqStats};
pub use crows_pairs::{CrowsPairsSentence, CrowsPairsStats, crows_pairs_sentence};
pub use gaokao::{GaokaoQuestion, GaokaoScore, gaokao_answer, gaokao_score};
pub use lambada::lambada_equal;
pub use mmlu_pro::mmlu_pro_equal;
pub use similarity::option_meant;
pub use truthful_generation::{TruthfulGeneration, TruthfulSimilarity, truthful_generation};
pub use truthful_qa::{truthful_mc1, truthful_mc2};

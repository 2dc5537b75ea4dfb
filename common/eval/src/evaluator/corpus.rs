//! Outputs that count only together: ROUGE, BLEU and chrF of a corpus.

use super::finish::bleu_counts;
use super::metric_contribution::{Aggregation, SampleValue};
use super::scored_answer::{AnswerScore, ScoredAnswer};
use super::{Unscored, converted};
use compass_metrics::rouge::{RougeRow, Stemming, best_rouge};
use compass_metrics::translation::{Bleu, Chrf, TerStats};
use compass_plan::evaluation::BleuTokenizer;

/// The F-measures of rouge1, rouge2, rougeL and rougeLsum; of several golds the best.
///
/// # Errors
/// There is no gold.
pub(super) fn rouge(question: &ScoredAnswer<'_>, stemming: Stemming) -> Result<AnswerScore, Unscored> {
    let golds = question.gold_texts();
    let texts: Vec<&str> = golds.iter().map(String::as_str).collect();
    let none = || Unscored("the data set gives no gold answer".into());
    let RougeRow { rouge1, rouge2, rouge_l, rouge_lsum } =
        best_rouge(&texts, &question.text(), stemming).ok_or_else(none)?;
    let scores = [rouge1, rouge2, rouge_l, rouge_lsum].map(|score| score.fmeasure).to_vec();
    Ok(AnswerScore { answers: golds, ..AnswerScore::default() }.series(
        "rouge1",
        Aggregation::Rouge,
        SampleValue::Scores(scores),
    ))
}

/// The statistics of BLEU.
pub(super) fn bleu(question: &ScoredAnswer<'_>, tokenizer: BleuTokenizer) -> AnswerScore {
    let golds = question.gold_texts();
    let texts: Vec<&str> = golds.iter().map(String::as_str).collect();
    let stats = Bleu { tokenizer: converted::tokenizer(tokenizer), ..Bleu::default() }.stats(&question.text(), &texts);
    let item = SampleValue::Counts(bleu_counts(&stats));
    AnswerScore { answers: golds, ..AnswerScore::default() }.series("score", Aggregation::Bleu { tokenizer }, item)
}

/// The statistics of chrF.
pub(super) fn chrf(question: &ScoredAnswer<'_>, word_order: usize) -> AnswerScore {
    let golds = question.gold_texts();
    let texts: Vec<&str> = golds.iter().map(String::as_str).collect();
    let stats = Chrf { word_order, ..Chrf::default() }.stats(&question.text(), &texts);
    let item = SampleValue::Counts(stats.orders.into_iter().flatten().collect());
    let name = if word_order == 0 { "chrf" } else { "chrf++" };
    AnswerScore { answers: golds, ..AnswerScore::default() }.series(name, Aggregation::Chrf { word_order }, item)
}

/// The statistics of TER: edits and reference words.
pub(super) fn ter(question: &ScoredAnswer<'_>) -> AnswerScore {
    let golds = question.gold_texts();
    let texts: Vec<&str> = golds.iter().map(String::as_str).collect();
    let TerStats { edits, ref_length } = TerStats::of(&question.text(), &texts);
    let item = SampleValue::Scores(vec![edits as f64, ref_length]);
    AnswerScore { answers: golds, ..AnswerScore::default() }.series("ter", Aggregation::Ter, item)
}

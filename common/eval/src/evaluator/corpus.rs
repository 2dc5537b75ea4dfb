//! Outputs that count only together: ROUGE, BLEU and chrF of a corpus.

use super::finish::bleu_counts;
use super::question::{Judgement, Question};
use super::share::{Item, Rule};
use super::{Unscored, converted};
use compass_metrics::rouge::{RougeRow, Stemming, best_rouge};
use compass_metrics::translation::{Bleu, Chrf, TerStats};
use compass_plan::evaluation::BleuTokenizer;

/// The F-measures of rouge1, rouge2, rougeL and rougeLsum; of several golds the best.
///
/// # Errors
/// There is no gold.
pub(super) fn rouge(question: &Question<'_>, stemming: Stemming) -> Result<Judgement, Unscored> {
    let golds = question.gold_texts();
    let texts: Vec<&str> = golds.iter().map(String::as_str).collect();
    let none = || Unscored("the data set gives no gold answer".into());
    let RougeRow { rouge1, rouge2, rouge_l, rouge_lsum } =
        best_rouge(&texts, &question.text(), stemming).ok_or_else(none)?;
    let scores = [rouge1, rouge2, rouge_l, rouge_lsum].map(|score| score.fmeasure).to_vec();
    Ok(Judgement { answers: golds, ..Judgement::default() }.line("rouge1", Rule::Rouge, Item::Scores(scores)))
}

/// The statistics of BLEU.
pub(super) fn bleu(question: &Question<'_>, tokenizer: BleuTokenizer) -> Judgement {
    let golds = question.gold_texts();
    let texts: Vec<&str> = golds.iter().map(String::as_str).collect();
    let stats = Bleu { tokenizer: converted::tokenizer(tokenizer), ..Bleu::default() }.stats(&question.text(), &texts);
    let item = Item::Counts(bleu_counts(&stats));
    Judgement { answers: golds, ..Judgement::default() }.line("score", Rule::Bleu { tokenizer }, item)
}

/// The statistics of chrF.
pub(super) fn chrf(question: &Question<'_>, word_order: usize) -> Judgement {
    let golds = question.gold_texts();
    let texts: Vec<&str> = golds.iter().map(String::as_str).collect();
    let stats = Chrf { word_order, ..Chrf::default() }.stats(&question.text(), &texts);
    let item = Item::Counts(stats.orders.into_iter().flatten().collect());
    let name = if word_order == 0 { "chrf" } else { "chrf++" };
    Judgement { answers: golds, ..Judgement::default() }.line(name, Rule::Chrf { word_order }, item)
}

/// The statistics of TER: edits and reference words.
pub(super) fn ter(question: &Question<'_>) -> Judgement {
    let golds = question.gold_texts();
    let texts: Vec<&str> = golds.iter().map(String::as_str).collect();
    let TerStats { edits, ref_length } = TerStats::of(&question.text(), &texts);
    let item = Item::Scores(vec![edits as f64, ref_length]);
    Judgement { answers: golds, ..Judgement::default() }.line("ter", Rule::Ter, item)
}

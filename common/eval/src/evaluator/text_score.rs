//! Answers in text that are given a score each, averaged over the samples.

use super::metric_contribution::{Aggregation, Bounds, SampleValue, Scale};
use super::scored_answer::{AnswerScore, ScoredAnswer, texts_of};
use super::{Unscored, converted};
use compass_metrics::overlap::{
    DropScore, drop_bags, longbench_classification, longbench_code_similarity, longbench_count, longbench_f1,
    longbench_retrieval, ruler_any, ruler_share, squad_exact_match, squad_f1, tydi_qa,
};
use compass_metrics::rouge::{ChineseRouge, jieba_rouge, longbench_rouge};
use compass_plan::evaluation::TextScore;
use serde_json::Value;

/// Scores one answer.
///
/// # Errors
/// The gold answer is not of the form that the evaluator takes.
pub(super) fn judge(score: TextScore, question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let output = question.text();
    let answers = question.gold_texts();
    let texts: Vec<&str> = answers.iter().map(String::as_str).collect();
    let score = match score {
        TextScore::Squad => {
            let line = output.split('\n').next().unwrap_or_default();
            let scores = [("f1", squad_f1(line, &texts)), ("exact_match", squad_exact_match(line, &texts))];
            return Ok(scored(answers.clone(), Scale::PercentFirst, scores));
        }
        TextScore::DropBags => {
            let DropScore { em, f1 } = drop_bags(&output, &spans(question.golds()));
            return Ok(scored(answers, Scale::Percent, [("em", em), ("f1", f1)]));
        }
        TextScore::JiebaRouge => {
            let ChineseRouge { rouge1, rouge2, rouge_l } = jieba_rouge(&output, &texts.join(""));
            let scores = [("rouge1", rouge1), ("rouge2", rouge2), ("rougeL", rouge_l)];
            return Ok(scored(answers, Scale::Percent, scores.map(|(name, score)| (name, score.fmeasure))));
        }
        TextScore::LongbenchF1(language) => longbench_f1(&output, &texts, converted::language(language)),
        TextScore::LongbenchRouge(language) => longbench_rouge(&output, &texts, converted::language(language)),
        TextScore::LongbenchRetrieval(language) => longbench_retrieval(&output, &texts, converted::language(language)),
        TextScore::LongbenchCount => longbench_count(&output, &texts),
        TextScore::LongbenchCodeSim => longbench_code_similarity(&output, &texts),
        TextScore::Ruler => ruler_share(&output, &texts).ok_or_else(no_answers)?,
        TextScore::RulerQa => ruler_any(&output, &texts).ok_or_else(no_answers)?,
        TextScore::TydiQa => {
            let (exact, f1) = tydi_qa(&output, &texts);
            return Ok(scored(answers.clone(), Scale::PercentFirst, [("exact_match", exact), ("f1", f1)]));
        }
        TextScore::LongbenchClassification => {
            let (answers, classes) = (texts_of(question.gold, "answers")?, texts_of(question.gold, "all_classes")?);
            let score = longbench_classification(&output, &answers, &classes);
            let answers = answers.into_iter().map(str::to_owned).collect();
            return Ok(scored(answers, Scale::Percent, [("score", score)]));
        }
    };
    Ok(scored(answers, Scale::Percent, [("score", score)]))
}

fn no_answers() -> Unscored {
    Unscored("the gold answer is an empty list".into())
}

fn scored<const N: usize>(answers: Vec<String>, scale: Scale, scores: [(&str, f64); N]) -> AnswerScore {
    let score = AnswerScore { answers, ..AnswerScore::default() };
    scores.into_iter().fold(score, |all, (name, score)| {
        all.series(name, Aggregation::Mean { scale, bounds: Bounds::Percent }, SampleValue::Score(score))
    })
}

/// Each answer as its spans; an answer that is one text has one.
fn spans(golds: &[Value]) -> Vec<Vec<&str>> {
    golds
        .iter()
        .map(|gold| match gold {
            Value::Array(spans) => spans.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        })
        .collect()
}

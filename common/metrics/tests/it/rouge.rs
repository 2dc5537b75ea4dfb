//! The three ROUGEs, Porter's stemmer and jieba's words.

use crate::golden::{closely, exactly, text};
use compass_metrics::rouge::*;
use compass_postprocess::words;

fn numbers(row: RougeRow) -> Vec<f64> {
    let scores = [row.rouge1, row.rouge2, row.rouge_l, row.rouge_lsum];
    scores.into_iter().flat_map(|score| [score.precision, score.recall, score.fmeasure]).collect()
}

#[test]
fn google_rouge() {
    for (name, stemming) in [("rouge", Stemming::Off), ("rouge_stemmed", Stemming::Porter)] {
        closely(name, 130, |args| numbers(rouge(text(&args[1]), text(&args[0]), stemming)));
    }
}

#[test]
fn medians_of_the_bootstrap() {
    closely("rouge_medians", 6, |args| {
        let pairs = args[0].as_array().unwrap();
        let rows: Vec<RougeRow> =
            pairs.iter().map(|pair| rouge(text(&pair[1]), text(&pair[0]), Stemming::Off)).collect();
        numbers(rouge_medians(&rows, 0).unwrap())
    });
}

#[test]
fn stems() {
    exactly("porter", 1, |args| text(&args[0]).split(' ').map(porter_stem).collect::<Vec<_>>().join(" "));
}

#[test]
fn chinese() {
    closely("jieba_rouge", 150, |args| {
        let score = jieba_rouge(text(&args[0]), text(&args[1]));
        [score.rouge1, score.rouge2, score.rouge_l].map(|score| 100.0 * score.fmeasure).to_vec()
    });
}

#[test]
fn cuts() {
    exactly("jieba_cut", 300, |args| words(text(&args[0])).into_iter().map(String::from).collect::<Vec<_>>());
}

//! BLEU and chrF against sacrebleu.

use crate::golden::{closely, exactly, text, texts};
use compass_metrics::translation::*;
use serde_json::Value;

const TOKENIZERS: [(&str, BleuTokenizer); 5] = [
    ("13a", BleuTokenizer::V13a),
    ("intl", BleuTokenizer::Intl),
    ("zh", BleuTokenizer::Zh),
    ("char", BleuTokenizer::Char),
    ("none", BleuTokenizer::None),
];

fn rows(corpus: &Value) -> impl Iterator<Item = (&str, Vec<&str>)> {
    corpus.as_array().unwrap().iter().map(|row| (text(&row[0]), texts(&row[1])))
}

#[test]
fn tokens() {
    for (name, tokenizer) in TOKENIZERS {
        exactly(&format!("bleu_tokens_{name}"), 70, |args| tokenizer.tokenize(text(&args[0])));
    }
}

#[test]
fn bleu_of_sentences_and_corpora() {
    for (name, tokenizer) in TOKENIZERS {
        let sentence = Bleu { tokenizer, lowercase: false, effective_order: true };
        closely(&format!("bleu_{name}"), 110, |args| {
            vec![sentence.score(&sentence.stats(text(&args[0]), &texts(&args[1])))]
        });
        let corpus = Bleu { effective_order: false, ..sentence };
        closely(&format!("bleu_corpus_{name}"), 3, |args| {
            let mut sum = BleuStats::default();
            rows(&args[0]).for_each(|(prediction, references)| sum.merge(&corpus.stats(prediction, &references)));
            vec![corpus.score(&sum)]
        });
    }
    let lower = Bleu { lowercase: true, ..Bleu::default() };
    closely("bleu_lower", 110, |args| vec![lower.score(&lower.stats(text(&args[0]), &texts(&args[1])))]);
}

#[test]
fn chrf_of_sentences_and_corpora() {
    for (name, word_order) in [("chrf", 0), ("chrfpp", 2)] {
        let metric = Chrf { word_order, lowercase: false };
        closely(name, 110, |args| vec![metric.stats(text(&args[0]), &texts(&args[1])).score()]);
        closely(&format!("{name}_corpus"), 3, |args| {
            let mut sum = ChrfStats::default();
            rows(&args[0]).for_each(|(prediction, references)| sum.merge(&metric.stats(prediction, &references)));
            vec![sum.score()]
        });
    }
}

#[test]
fn ter_of_sentences_and_corpora() {
    closely("ter", 200, |args| vec![TerStats::of(text(&args[0]), &texts(&args[1])).score()]);
    closely("ter_corpus", 3, |args| {
        let mut sum = TerStats::default();
        rows(&args[0]).for_each(|(prediction, references)| sum.merge(&TerStats::of(prediction, &references)));
        vec![sum.score()]
    });
}

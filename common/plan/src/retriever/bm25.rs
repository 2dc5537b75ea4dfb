//! Okapi BM25 as `rank_bm25.BM25Okapi` computes it (k1 = 1.5, b = 0.75, epsilon = 0.25).
//!
//! Sums run in the order of that package, so that scores are the same to the last bit. Ties go to the later document; NumPy
//! leaves the order of ties in long lists to its sorting network.

use std::collections::HashMap;

const K1: f64 = 1.5;
const B: f64 = 0.75;
const EPSILON: f64 = 0.25;

/// An index of documents.
#[derive(Debug)]
pub(super) struct Bm25 {
    /// Per document, how often each word occurs.
    frequencies: Vec<HashMap<String, u32>>,
    lengths: Vec<usize>,
    mean_length: f64,
    idf: HashMap<String, f64>,
}

impl Bm25 {
    pub(super) fn new(documents: impl IntoIterator<Item = Vec<String>>) -> Self {
        let (mut frequencies, mut lengths) = (Vec::new(), Vec::new());
        // Words in order of first appearance: the mean of their idf is summed in that order.
        let mut words: Vec<String> = Vec::new();
        let mut holders: HashMap<String, u32> = HashMap::new();
        for document in documents {
            lengths.push(document.len());
            let mut counts: HashMap<String, u32> = HashMap::new();
            for word in document {
                if !counts.contains_key(&word) {
                    if !holders.contains_key(&word) {
                        words.push(word.clone());
                    }
                    *holders.entry(word.clone()).or_default() += 1;
                }
                *counts.entry(word).or_default() += 1;
            }
            frequencies.push(counts);
        }
        let count = lengths.len() as f64;
        let mean_length = lengths.iter().sum::<usize>() as f64 / count;
        let mut idf = HashMap::with_capacity(words.len());
        let mut sum = 0.0;
        for word in &words {
            let holders = f64::from(holders.get(word).copied().unwrap_or(0));
            let value = (count - holders + 0.5).ln() - (holders + 0.5).ln();
            sum += value;
            idf.insert(word.clone(), value);
        }
        let floor = EPSILON * (sum / words.len() as f64);
        for value in idf.values_mut().filter(|value| **value < 0.0) {
            *value = floor;
        }
        Self { frequencies, lengths, mean_length, idf }
    }

    /// The `k` documents with the highest scores, best first.
    pub(super) fn best(&self, query: &[String]) -> Vec<u32> {
        let scores = self.scores(query);
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        let score = |at: &u32| scores.get(*at as usize).copied().unwrap_or(0.0);
        order.sort_by(|a, b| score(a).total_cmp(&score(b)));
        order.reverse();
        order
    }

    fn scores(&self, query: &[String]) -> Vec<f64> {
        let mut scores = vec![0.0; self.lengths.len()];
        for word in query {
            let idf = self.idf.get(word).copied().unwrap_or(0.0);
            for ((score, counts), length) in scores.iter_mut().zip(&self.frequencies).zip(&self.lengths) {
                let frequency = f64::from(counts.get(word).copied().unwrap_or(0));
                let norm = K1 * (1.0 - B + B * *length as f64 / self.mean_length);
                *score += idf * (frequency * (K1 + 1.0) / (frequency + norm));
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::word_tokenize;
    use super::*;
    use serde_json::{Value, json};

    /// `tests/goldens/retrievers.py`: `BM25Okapi` over the words of a few sentences.
    #[test]
    fn scores_and_ranks_are_rank_bm25s() {
        let goldens: Value = serde_json::from_str(include_str!("../../tests/goldens/retrievers.json")).unwrap();
        for golden in goldens["bm25"].as_array().unwrap() {
            let corpus = golden["corpus"].as_array().unwrap().iter().map(|text| word_tokenize(text.as_str().unwrap()));
            let index = Bm25::new(corpus);
            for query in golden["queries"].as_array().unwrap() {
                let words = word_tokenize(query["query"].as_str().unwrap());
                assert_eq!(json!(index.scores(&words)), query["scores"], "{words:?}");
                // NumPy's order of ties is its sorting network's, so ranks compare by their scores.
                let score = |at: u64| query["scores"][at as usize].as_f64().unwrap();
                let ours: Vec<f64> = index.best(&words).into_iter().map(|at| score(at.into())).collect();
                let theirs = query["ranks"].as_array().unwrap().iter().map(|at| score(at.as_u64().unwrap()));
                assert_eq!(ours, theirs.collect::<Vec<_>>(), "{words:?}");
            }
        }
    }

    #[test]
    fn nothing_to_index_or_to_ask_is_no_matter() {
        assert!(Bm25::new([]).best(&[]).is_empty());
        assert_eq!(Bm25::new([Vec::new(), Vec::new()]).best(&["a".to_owned()]), [1, 0]);
    }
}

//! The unigram language model as in SentencePiece's unigram_model.cc, `EncodeOptimized`: the most probable split.
//!
//! Sums are kept in f32 and compared as by the library, so that ties are broken the same way.

use super::normalize::char_length;
use super::trie::PieceTrie;
use super::vocabulary::{PieceKind, Vocabulary};

/// Penalty of an unknown character below the least probable piece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// The trie of the pieces and the range of their scores.
#[derive(Debug)]
pub(super) struct Unigram {
    trie: PieceTrie,
    lowest: f32,
    highest: f32,
}

/// The best way to reach a position of the text.
#[derive(Clone, Copy, Default)]
struct Best {
    id: u32,
    score: f32,
    from: Option<usize>,
}

impl Unigram {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let scores = || vocabulary.iter().filter(|(_, p)| p.kind == PieceKind::Normal).map(|(_, piece)| piece.score);
        // The library starts its maximum at FLT_MIN, the least *positive* float: scores are below zero, so that it
        // stays.
        let highest = scores().fold(f32::MIN_POSITIVE, f32::max);
        Self { trie: vocabulary.matched_trie(), lowest: scores().fold(f32::MAX, f32::min), highest }
    }

    /// Splits a normalised text; returns every piece with its id.
    pub(super) fn encode<'a>(&self, text: &'a str, vocabulary: &Vocabulary) -> Vec<(&'a str, u32)> {
        let bytes = text.as_bytes();
        let unknown_score = self.lowest - UNKNOWN_PENALTY;
        let mut ends = vec![Best::default(); bytes.len() + 1];
        let mut start = 0;
        while let Some(&first) = bytes.get(start) {
            let so_far = ends[start].score;
            let length = char_length(first).min(bytes.len() - start);
            let mut has_single = false;
            self.trie.prefixes(&bytes[start..], |piece_length, id| {
                let score = match vocabulary.kind(id) {
                    Some(PieceKind::Unused) | None => return,
                    // A bonus, so that user-defined symbols are always chosen.
                    Some(PieceKind::UserDefined) => {
                        f64::from(piece_length as f32 * self.highest) - 0.1 + f64::from(so_far)
                    }
                    Some(_) => f64::from(vocabulary.score(id)) + f64::from(so_far),
                };
                improve(&mut ends[start + piece_length], score, Best { id, score: score as f32, from: Some(start) });
                has_single |= piece_length == length;
            });
            if !has_single {
                let score = unknown_score + so_far;
                let best = Best { id: vocabulary.unknown(), score, from: Some(start) };
                improve(&mut ends[start + length], f64::from(score), best);
            }
            start += length;
        }
        let (mut out, mut end) = (Vec::new(), bytes.len());
        while let Best { id, from: Some(from), .. } = ends[end] {
            out.push((&text[from..end], id));
            end = from;
        }
        out.reverse();
        out
    }
}

fn improve(place: &mut Best, score: f64, candidate: Best) {
    if place.from.is_none() || score > f64::from(place.score) {
        *place = candidate;
    }
}

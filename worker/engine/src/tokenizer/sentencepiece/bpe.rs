//! Byte-pair encoding as in SentencePiece's bpe_model.cc: the best-scored pair first, the leftmost among equals.

use super::normalize::char_length;
use super::trie::PieceTrie;
use super::vocabulary::{PieceKind, Vocabulary};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// A partial piece: a span of the text between its neighbours.
struct Symbol {
    start: usize,
    /// 0 once the symbol was merged into the one on its left.
    length: usize,
    previous: Option<usize>,
    next: Option<usize>,
    /// Set if it is a user-defined symbol, which is never merged.
    frozen: bool,
}

/// A possible merge, valid as long as both sides together keep their length.
struct Candidate {
    score: f32,
    left: usize,
    right: usize,
    length: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        // Zero and minus zero are equal, as in the library.
        let scores = self.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        scores.then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// The state of one text.
struct Merger<'a> {
    text: &'a str,
    vocabulary: &'a Vocabulary,
    symbols: Vec<Symbol>,
    agenda: BinaryHeap<Candidate>,
    /// Parts of unused pieces: these are split again at the end.
    unused: HashMap<&'a str, (&'a str, &'a str)>,
}

/// Splits a normalised text; returns every piece with its id, the unknown id for those in no vocabulary.
pub(super) fn encode<'a>(
    text: &'a str,
    vocabulary: &'a Vocabulary,
    symbols: Option<&PieceTrie>,
) -> Vec<(&'a str, u32)> {
    let symbols = split(text, symbols);
    let (count, unused) = (symbols.len(), HashMap::new());
    let mut merger = Merger { text, vocabulary, symbols, agenda: BinaryHeap::new(), unused };
    for right in 1..count {
        merger.consider(Some(right - 1), Some(right));
    }
    while let Some(candidate) = merger.agenda.pop() {
        merger.merge(&candidate);
    }
    let mut out = Vec::new();
    let mut at = (count > 0).then_some(0);
    while let Some(symbol) = at.and_then(|index| merger.symbols.get(index)) {
        merger.resegment(&text[symbol.start..symbol.start + symbol.length], &mut out);
        at = symbol.next;
    }
    out
}

/// Splits a text into characters and user-defined symbols.
fn split(text: &str, user_defined: Option<&PieceTrie>) -> Vec<Symbol> {
    let bytes = text.as_bytes();
    let (mut symbols, mut start) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&first) = bytes.get(start) {
        let found = user_defined.and_then(|trie| trie.longest(&bytes[start..]));
        let length = found.unwrap_or_else(|| char_length(first)).min(bytes.len() - start);
        let index = symbols.len();
        let next = (start + length < bytes.len()).then_some(index + 1);
        symbols.push(Symbol { start, length, previous: index.checked_sub(1), next, frozen: found.is_some() });
        start += length;
    }
    symbols
}

impl<'a> Merger<'a> {
    fn piece(&self, symbol: &Symbol) -> &'a str {
        &self.text[symbol.start..symbol.start + symbol.length]
    }

    /// `MaybeAddNewSymbolPair`.
    fn consider(&mut self, left: Option<usize>, right: Option<usize>) {
        let (Some(left), Some(right)) = (left, right) else { return };
        let (a, b) = (&self.symbols[left], &self.symbols[right]);
        if a.frozen || b.frozen {
            return;
        }
        let length = a.length + b.length;
        let piece = &self.text[a.start..a.start + length];
        let Some(id) = self.vocabulary.matched(piece) else { return };
        if self.vocabulary.kind(id) == Some(PieceKind::Unused) {
            let parts = (self.piece(a), self.piece(b));
            self.unused.insert(piece, parts);
        }
        self.agenda.push(Candidate { score: self.vocabulary.score(id), left, right, length });
    }

    fn merge(&mut self, candidate: &Candidate) {
        let &Candidate { left, right, length, .. } = candidate;
        let (a, b) = (self.symbols[left].length, self.symbols[right].length);
        if a == 0 || b == 0 || a + b != length {
            return;
        }
        let next = self.symbols[right].next;
        self.symbols[right].length = 0;
        self.symbols[left].length = length;
        self.symbols[left].next = next;
        if let Some(next) = next {
            self.symbols[next].previous = Some(left);
        }
        self.consider(self.symbols[left].previous, Some(left));
        self.consider(Some(left), next);
    }

    /// Splits unused pieces again. Recursion is at most as deep as a piece is long.
    fn resegment(&self, piece: &'a str, out: &mut Vec<(&'a str, u32)>) {
        let id = self.vocabulary.id_of(piece).unwrap_or(self.vocabulary.unknown());
        match self.unused.get(piece) {
            Some((left, right)) if self.vocabulary.kind(id) == Some(PieceKind::Unused) => {
                self.resegment(left, out);
                self.resegment(right, out);
            }
            _ => out.push((piece, id)),
        }
    }
}

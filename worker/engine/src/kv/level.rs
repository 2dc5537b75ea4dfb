//! Segments of a pass, and the levels at which their rows attend.
//!
//! Pure. A row sees the extents of its path, whole and in order, and its own extent up to itself. One level is the extents
//! at one depth of all paths: rows in depth-first order with the same extent are neighbours, so that a level is one call of
//! variable lengths. The last level is the own extents. The result of a row depends on the borders of its own path alone.

use super::varlen_calls::VarlenCalls;
use super::{Arena, ExtentId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tch::{TchError, Tensor};

/// Consecutive tokens of one sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Extents of the tokens before the segment's own extent, complete by the end of the pass.
    pub(crate) path: Rc<[ExtentId]>,
    /// The extent to which the segment's keys and values are added.
    pub(crate) own: ExtentId,
    /// Number of tokens before the segment in its own extent.
    pub(crate) before: usize,
    /// Position of the first token in the sequence.
    pub(crate) position: usize,
    /// Number of tokens.
    pub(crate) rows: usize,
    /// Set if it is the last token of a sequence that is being generated.
    pub(crate) decodes: bool,
}

impl Segment {
    /// Returns a segment of a sequence that has one extent.
    pub(crate) fn alone(own: ExtentId, position: usize, rows: usize) -> Self {
        Self { path: Rc::new([]), own, before: position, position, rows, decodes: false }
    }

    /// Length of the sequence up to the segment's end.
    pub(crate) fn end(&self) -> usize {
        self.position + self.rows
    }
}

/// Neighbouring rows of a pass that attend over the same keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first row, and the number of rows.
    pub(crate) first: i64,
    pub(crate) rows: i64,
    /// The first key in the arena, and the number of keys.
    pub(crate) start: i64,
    pub(crate) used: i64,
    /// Set if these rows see nothing else.
    pub(crate) alone: bool,
    /// Set if it is one row that is being decoded, over its own keys.
    pub(crate) decodes: bool,
}

/// One call of attention.
#[derive(Debug, Default)]
pub(crate) struct Level {
    /// In the order of their rows; rows without a span see nothing at this level.
    pub(crate) spans: Vec<Span>,
    /// Set if the rows of a span are the last of its keys, each of which sees the keys up to itself; otherwise every row
    /// sees all keys.
    pub(crate) causal: bool,
    pub(crate) masks: Masks,
    pub(crate) calls: VarlenCalls,
}

/// Runs of keys that a segment sees, in order; its rows are the last of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) first: i64,
    pub(crate) rows: i64,
    /// The first key of each run in the arena, and the number of keys.
    pub(crate) runs: Vec<(i64, i64)>,
}

/// Masks by rows and keys, which the layers of a pass share.
#[derive(Debug, Default)]
pub(crate) struct Masks(RefCell<HashMap<(i64, i64), Tensor>>);

impl Masks {
    /// Returns the mask of `rows` rows over `keys` keys, made by `make` if it is the first.
    pub(crate) fn get(
        &self,
        (rows, keys): (i64, i64),
        make: impl FnOnce() -> Result<Tensor, TchError>,
    ) -> Result<Tensor, TchError> {
        if let Some(mask) = self.0.borrow().get(&(rows, keys)) {
            return Ok(mask.shallow_clone());
        }
        let mask = make()?;
        self.0.borrow_mut().insert((rows, keys), mask.shallow_clone());
        Ok(mask)
    }

    /// Drops all masks: the next layers are on another device.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

/// Returns the levels of a pass from the first tokens of sequences to their ends. The arena must know the segments'
/// tokens already.
pub(crate) fn levels(segments: &[Segment], arena: &Arena) -> Vec<Level> {
    let depth = segments.iter().map(|segment| segment.path.len()).max().unwrap_or(0);
    let mut levels: Vec<Level> =
        (0..=depth).map(|level| Level { causal: level == depth, ..Level::default() }).collect();
    let mut first = 0;
    for segment in segments {
        let rows = segment.rows as i64;
        for (level, &extent) in levels.iter_mut().zip(segment.path.iter()) {
            let (start, used) = (arena.start(extent) as i64, arena.tokens(extent).len() as i64);
            match level.spans.last_mut() {
                Some(last) if last.start == start && last.first + last.rows == first => last.rows += rows,
                _ => level.spans.push(Span { first, rows, start, used, alone: false, decodes: false }),
            }
        }
        if let Some(own) = levels.last_mut() {
            let (start, used) = (arena.start(segment.own) as i64, (segment.before + segment.rows) as i64);
            let (alone, decodes) = (segment.path.is_empty(), segment.decodes);
            own.spans.push(Span { first, rows, start, used, alone, decodes });
        }
        first += rows;
    }
    levels
}

/// Returns what each segment of a pass sees, for rules that need all keys of a row at once.
pub(crate) fn chains(segments: &[Segment], arena: &Arena) -> Vec<Chain> {
    let mut first = 0;
    let chain = |segment: &Segment| {
        let rows = segment.rows as i64;
        first += rows;
        let run = |&extent: &ExtentId| (arena.start(extent) as i64, arena.tokens(extent).len() as i64);
        let own = (arena.start(segment.own) as i64, (segment.before + segment.rows) as i64);
        Chain { first: first - rows, rows, runs: segment.path.iter().map(run).chain([own]).collect() }
    };
    segments.iter().map(chain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn rows_on_one_extent_are_one_span() {
        let mut arena = Arena::new(&[Device::Cpu], 40, (1, 1), Kind::Float).unwrap();
        let [header, shot, left, right, other]: [ExtentId; 5] =
            [4, 3, 8, 2, 9].map(|tokens| arena.allocate(tokens).unwrap());
        for (extent, tokens) in [(header, 4), (shot, 3), (left, 6), (right, 2), (other, 5)] {
            arena.note(extent, 0, &vec![0; tokens], false);
        }
        let segment = |path: &[ExtentId], own, before, position, rows| Segment {
            path: path.into(),
            own,
            before,
            position,
            rows,
            decodes: false,
        };
        let segments = [
            segment(&[header], shot, 0, 4, 3),
            segment(&[header, shot], left, 5, 12, 1),
            segment(&[header, shot], right, 0, 7, 2),
            Segment::alone(other, 0, 5),
            segment(&[header], shot, 2, 6, 1),
        ];
        let levels = levels(&segments, &arena);
        let spans = |level: &Level| {
            let one = |span: &Span| (span.first, span.rows, span.start, span.used);
            (level.causal, level.spans.iter().map(one).collect::<Vec<_>>())
        };
        assert_eq!(levels.len(), 3);
        assert_eq!(spans(&levels[0]), (false, vec![(0, 6, 0, 4), (11, 1, 0, 4)]));
        assert_eq!(spans(&levels[1]), (false, vec![(3, 3, 4, 3)]));
        let own = vec![(0, 3, 4, 3), (3, 1, 7, 6), (4, 2, 15, 2), (6, 5, 17, 5), (11, 1, 4, 3)];
        assert_eq!(spans(&levels[2]), (true, own));
        let alone = levels[2].spans.iter().map(|span| span.alone).collect::<Vec<_>>();
        assert_eq!(alone, [false, false, false, true, false]);
        assert_eq!(chains(&segments, &arena)[1], Chain { first: 3, rows: 1, runs: vec![(0, 4), (4, 3), (7, 6)] });
    }
}

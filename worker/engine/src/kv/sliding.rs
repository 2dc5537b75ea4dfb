//! Places to which extents slide when one of them grows and no free run is long enough: pure.
//!
//! Neighbours of the one that grows move apart, as few of them as must: those before it, and itself, to the front of the
//! window that they stand in, those behind it to its end. So what moves never jumps over another, and a run can be copied
//! without overwriting one that has not moved yet.

/// Tokens of an extent in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) capacity: usize,
}

/// An extent's new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slide {
    /// Index of its run.
    pub(super) run: usize,
    /// Its first token then.
    pub(super) to: usize,
}

/// Returns what moves, in the order in which it must, so that run number `grows` has room for `wanted` tokens; `None` where
/// fewer than that are free. `runs` are in the order of their starts and do not overlap; `end` is that of the arena.
pub(super) fn slides(runs: &[Run], grows: usize, wanted: usize, end: usize) -> Option<Vec<Slide>> {
    let border_before =
        |first: usize| first.checked_sub(1).map_or(0, |before| runs[before].start + runs[before].capacity);
    let (mut first, mut last) = (grows, grows);
    let mut taken = wanted;
    loop {
        let border_behind = runs.get(last + 1).map_or(end, |behind| behind.start);
        if border_before(first) + taken <= border_behind {
            return Some(apart(runs, [first, grows, last], [border_before(first), border_behind]));
        }
        if last + 1 < runs.len() {
            last += 1;
            taken += runs[last].capacity;
        } else if first > 0 {
            first -= 1;
            taken += runs[first].capacity;
        } else {
            return None;
        }
    }
}

/// Moves the runs from `first` to `last` apart between two borders: up to `grows` to the front, those behind it to the end.
fn apart(runs: &[Run], [first, grows, last]: [usize; 3], [mut front, mut back]: [usize; 2]) -> Vec<Slide> {
    let mut slides = Vec::new();
    for (run, &Run { capacity, .. }) in runs.iter().enumerate().take(grows + 1).skip(first) {
        slides.push(Slide { run, to: front });
        front += capacity;
    }
    for (run, &Run { capacity, .. }) in runs.iter().enumerate().take(last + 1).skip(grows + 1).rev() {
        back -= capacity;
        slides.push(Slide { run, to: back });
    }
    slides.retain(|slide| slide.to != runs[slide.run].start);
    slides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(places: &[[usize; 2]]) -> Vec<Run> {
        places.iter().map(|&[start, capacity]| Run { start, capacity }).collect()
    }

    fn slide(run: usize, to: usize) -> Slide {
        Slide { run, to }
    }

    #[test]
    fn as_few_neighbours_move_as_must() {
        let runs = runs(&[[5, 10], [20, 10], [32, 10], [50, 10], [65, 10]]);
        let slides = |wanted| slides(&runs, 1, wanted, 80);
        assert_eq!(slides(12), Some(vec![slide(1, 15)]), "itself, although the run behind it would do");
        assert_eq!(slides(17), Some(vec![slide(1, 15)]));
        assert_eq!(slides(18), Some(vec![slide(1, 15), slide(2, 40)]));
        assert_eq!(slides(35), Some(vec![slide(1, 15), slide(4, 70), slide(3, 60), slide(2, 50)]));
        assert_eq!(slides(40), Some(vec![slide(0, 0), slide(1, 10), slide(4, 70), slide(3, 60), slide(2, 50)]));
        assert_eq!(slides(41), None);
    }
}

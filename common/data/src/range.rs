//! Rows that a range takes: OpenCompass's `load_partial_dataset`, slices without Python's `eval`.

use compass_pyfmt::PythonRandom;
use compass_types::range::RangeSpec;
use std::ops::Range;

/// The positions that `range` takes from `len` rows, in the order in which they are used.
///
/// A count, or a share `f` with 0 < f < 1 as `int(f * len)`, shuffles all positions with `random.Random(count)` and takes
/// the first; nothing positive, or the length and more, takes all in order. Slices are Python's, one after the other.
///
/// # Errors
/// In words: a slice that cannot be read, a share that takes nothing or is neither a share nor above the length.
pub fn apply_range(range: &RangeSpec, len: usize) -> Result<Vec<usize>, String> {
    let all = || (0..len).collect::<Vec<usize>>();
    match range {
        RangeSpec::All => Ok(all()),
        RangeSpec::Count(count) => match usize::try_from(*count) {
            Ok(count) if count > 0 && count < len => Ok(drawn(count, len)),
            _ => Ok(all()),
        },
        RangeSpec::Fraction(share) if *share <= 0.0 || *share >= len as f64 => Ok(all()),
        RangeSpec::Fraction(share) if *share < 1.0 => match (share * len as f64) as usize {
            0 => Err(format!("a share of {share} takes none of {len} rows: write a larger one, or a count")),
            count => Ok(drawn(count, len)),
        },
        RangeSpec::Fraction(share) => {
            Err(format!("{share} is no share of the rows: write a number below 1, or a whole number for a count"))
        }
        RangeSpec::Slices(text) => {
            let mut rows = all();
            for slice in parse(text)? {
                rows = slice.apply(&rows);
            }
            Ok(rows)
        }
    }
}

/// The rows that a range may take whatever the number of rows is, so that a reader need not hold others; `None` when
/// that number decides (a count, a share, a slice from the end).
///
/// # Errors
/// As [`apply_range`].
pub(crate) fn window(range: &RangeSpec) -> Result<Option<Range<usize>>, String> {
    match range {
        RangeSpec::All => Ok(Some(0..usize::MAX)),
        RangeSpec::Count(count) => Ok((*count <= 0).then_some(0..usize::MAX)),
        RangeSpec::Fraction(_) => Ok(None),
        RangeSpec::Slices(text) => Ok(match parse(text)?.first() {
            None => Some(0..usize::MAX),
            Some(Slice { start, stop, step }) if *step > 0 => {
                let start = usize::try_from(start.unwrap_or(0)).ok();
                let stop = stop.map_or(Some(usize::MAX), |stop| usize::try_from(stop).ok());
                start.zip(stop).map(|(start, stop)| start..stop)
            }
            Some(_) => None,
        }),
    }
}

fn drawn(count: usize, len: usize) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..len).collect();
    PythonRandom::new(count as u64).shuffle(&mut rows);
    rows.truncate(count);
    rows
}

/// `[start:stop:step]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
}

impl Slice {
    /// CPython's `PySlice_AdjustIndices`.
    fn apply(self, rows: &[usize]) -> Vec<usize> {
        let len = rows.len() as i64;
        let (lower, upper) = if self.step > 0 { (0, len) } else { (-1, len - 1) };
        let adjust = |index: i64| if index < 0 { index.saturating_add(len).max(lower) } else { index.min(upper) };
        let (first, last) = if self.step > 0 { (lower, upper) } else { (upper, lower) };
        let mut at = self.start.map_or(first, adjust);
        let stop = self.stop.map_or(last, adjust);
        let mut taken = Vec::new();
        while (self.step > 0 && at < stop) || (self.step < 0 && at > stop) {
            if let Some(row) = usize::try_from(at).ok().and_then(|at| rows.get(at)) {
                taken.push(*row);
            }
            at = at.saturating_add(self.step);
        }
        taken
    }
}

fn parse(text: &str) -> Result<Vec<Slice>, String> {
    let wrong = |why: &str| {
        format!(
            "the range `{text}` cannot be read ({why}): write Python slices such as `[:100]`, `[100:200]` or `[:50][0:8]`"
        )
    };
    let mut rest = text.trim();
    let mut slices = Vec::new();
    while !rest.is_empty() {
        let inner = rest.strip_prefix('[').ok_or_else(|| wrong("a slice begins with `[`"))?;
        let (inner, after) = inner.split_once(']').ok_or_else(|| wrong("`]` is missing"))?;
        slices.push(parse_one(inner).map_err(|why| wrong(&why))?);
        rest = after.trim_start();
    }
    Ok(slices)
}

fn parse_one(inner: &str) -> Result<Slice, String> {
    let fields: Vec<&str> = inner.split(':').map(str::trim).collect();
    if !(2..=3).contains(&fields.len()) {
        return Err("a slice has one or two `:`".into());
    }
    let number = |at: usize| match fields.get(at) {
        None | Some(&"") => Ok(None),
        Some(field) => field.parse::<i64>().map(Some).map_err(|_| format!("`{field}` is not an integer")),
    };
    match number(2)? {
        Some(0) => Err("a step of 0".into()),
        step => Ok(Slice { start: number(0)?, stop: number(1)?, step: step.unwrap_or(1) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(text: &str, len: usize) -> Result<Vec<usize>, String> {
        apply_range(&RangeSpec::Slices(text.into()), len)
    }

    #[test]
    fn counts_and_shares_are_drawn_as_opencompass_draws_them() {
        assert_eq!(apply_range(&RangeSpec::Count(5), 10).unwrap(), [2, 3, 1, 0, 8]);
        assert_eq!(apply_range(&RangeSpec::Fraction(0.5), 10).unwrap(), [2, 3, 1, 0, 8], "int(0.5 * 10) is the seed");
        for range in [RangeSpec::All, RangeSpec::Count(0), RangeSpec::Count(-3), RangeSpec::Count(3)] {
            assert_eq!(apply_range(&range, 3).unwrap(), [0, 1, 2], "{range:?}");
        }
        assert_eq!(apply_range(&RangeSpec::Fraction(7.0), 3).unwrap().len(), 3);
        assert!(apply_range(&RangeSpec::Fraction(0.1), 3).unwrap_err().contains("takes none of 3 rows"));
        assert!(apply_range(&RangeSpec::Fraction(2.5), 10).unwrap_err().contains("no share"));
    }

    #[test]
    fn slices_are_pythons() {
        // Each expectation was printed by CPython: list(range(10))<slice>.
        for (text, expected) in [
            ("[:3]", vec![0, 1, 2]),
            ("[-3:]", vec![7, 8, 9]),
            ("[:-8]", vec![0, 1]),
            ("[100:200]", vec![]),
            ("[:50][0:8]", vec![0, 1, 2, 3, 4, 5, 6, 7]),
            ("[2:8][1: 3]", vec![3, 4]),
            ("[::4]", vec![0, 4, 8]),
            ("[::-4]", vec![9, 5, 1]),
            ("[-20:2]", vec![0, 1]),
            ("[8:-20:-3]", vec![8, 5, 2]),
            ("[20:4:-2]", vec![9, 7, 5]),
            ("[5:2]", vec![]),
            ("[:]", (0..10).collect()),
            ("", (0..10).collect()),
            (" [ 1 : 2 ] ", vec![1]),
        ] {
            assert_eq!(slices(text, 10).unwrap(), expected, "{text}");
        }
        assert_eq!(slices("[::-1]", 0).unwrap(), [0usize; 0]);
    }

    #[test]
    fn windows_hold_all_that_a_range_can_take() {
        let ranges = ["[:3]", "[3:5]", "[2:]", "[:8][-2:]", "[::2][1:3]", "[5:2]", ""]
            .map(|text| RangeSpec::Slices(text.into()));
        for range in ranges.into_iter().chain([RangeSpec::All, RangeSpec::Count(0)]) {
            let window = window(&range).unwrap().unwrap();
            for len in [0, 1, 4, 10] {
                let taken = apply_range(&range, len).unwrap();
                assert!(taken.iter().all(|at| window.contains(at)), "{range:?} {len}");
            }
        }
        assert_eq!(window(&RangeSpec::Slices("[2:5][0:1]".into())).unwrap(), Some(2..5));
        for range in ["[-3:]", "[::-1]", "[:-1]"].map(|text| RangeSpec::Slices(text.into())) {
            assert_eq!(window(&range).unwrap(), None, "{range:?}");
        }
        assert_eq!(window(&RangeSpec::Count(5)).unwrap(), None);
        assert_eq!(window(&RangeSpec::Fraction(0.5)).unwrap(), None);
    }

    #[test]
    fn bad_slices_are_refused_with_an_example() {
        for text in [":100", "[5]", "[1:2", "[a:]", "[::0]", "[1:2:3:4]", "[:100]x", "[0:1.5]"] {
            let error = slices(text, 10).unwrap_err();
            assert!(error.contains(text) && error.contains("`[:100]`"), "{error}");
        }
    }
}

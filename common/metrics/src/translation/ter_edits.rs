//! The translation edit rate's search: shifts of words by Tercom's heuristics, as sacrebleu follows them.

use super::ter_beam::{Edit, edit_distance};

const MAX_SHIFT_SIZE: usize = 10;
const MAX_SHIFT_DISTANCE: usize = 50;
const MAX_CANDIDATES: usize = 1000;

/// The fewest edits that the search finds from `predicted` to `target`.
pub(super) fn edits(predicted: &[&str], target: &[&str]) -> u64 {
    if target.is_empty() {
        return predicted.len() as u64;
    }
    let mut words = predicted.to_vec();
    let (mut shifts, mut checked) = (0, 0);
    while let Some(shifted) = best_shift(&words, target, &mut checked) {
        words = shifted;
        shifts += 1;
    }
    shifts + edit_distance(&words, target).0
}

/// The shift that saves most; `None` when none saves anything or enough have been tried.
fn best_shift<'a>(words: &[&'a str], target: &[&str], checked: &mut usize) -> Option<Vec<&'a str>> {
    let (before, trace) = edit_distance(words, target);
    let alignment = Alignment::of(&trace);
    let mut best: Option<(i64, usize, i64, i64, Vec<&str>)> = None;
    'pairs: for (from, to, length) in matches(words, target) {
        let place = alignment.place[to];
        if !alignment.word_errors[from..from + length].contains(&true)
            || !alignment.target_errors[to..to + length].contains(&true)
            || (from as i64 <= place && place < (from + length) as i64)
        {
            continue;
        }
        let mut previous = None;
        for at in (to..=to + length).map(|next| next.checked_sub(1)) {
            let goal = match at {
                None => 0,
                Some(at) => match alignment.place.get(at) {
                    Some(place) => (place + 1) as usize,
                    None => break,
                },
            };
            if previous == Some(goal) {
                continue;
            }
            previous = Some(goal);
            let shifted = shift(words, from, length, goal);
            let saved = before as i64 - edit_distance(&shifted, target).0 as i64;
            let candidate = (saved, length, -(from as i64), -(goal as i64), shifted);
            *checked += 1;
            if best.as_ref().is_none_or(|best| candidate > *best) {
                best = Some(candidate);
            }
        }
        if *checked >= MAX_CANDIDATES {
            break 'pairs;
        }
    }
    best.filter(|best| best.0 > 0 && *checked < MAX_CANDIDATES).map(|best| best.4)
}

/// Equal runs (place in `words`, place in `target`, length), of every length up to the longest.
fn matches<'a>(words: &'a [&str], target: &'a [&str]) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
    (0..words.len()).flat_map(move |from| {
        let near = move |to: &usize| to.abs_diff(from) <= MAX_SHIFT_DISTANCE;
        (0..target.len()).filter(near).flat_map(move |to| {
            let same = words[from..].iter().zip(&target[to..]).take_while(|(word, target)| word == target);
            (1..=same.count().min(MAX_SHIFT_SIZE)).map(move |length| (from, to, length))
        })
    })
}

/// `words` with the run at `from` moved before `goal`.
fn shift<'a>(words: &[&'a str], from: usize, length: usize, goal: usize) -> Vec<&'a str> {
    let run = &words[from..from + length];
    let (front, middle, back) = if goal < from {
        return [&words[..goal], run, &words[goal..from], &words[from + length..]].concat();
    } else if goal > from + length {
        (&words[..from], &words[from + length..goal], &words[goal..])
    } else {
        let end = (length + goal).min(words.len());
        (&words[..from], &words[from + length..end], &words[end..])
    };
    [front, middle, run, back].concat()
}

/// Place of each word, and the words on either side that an edit touches.
struct Alignment {
    /// For each word of the target the place of its word, -1 before the first.
    place: Vec<i64>,
    target_errors: Vec<bool>,
    word_errors: Vec<bool>,
}

impl Alignment {
    fn of(trace: &[Edit]) -> Self {
        let mut alignment = Self { place: Vec::new(), target_errors: Vec::new(), word_errors: Vec::new() };
        for edit in trace {
            if *edit != Edit::Insert {
                alignment.word_errors.push(*edit != Edit::Keep);
            }
            if *edit != Edit::Delete {
                alignment.place.push(alignment.word_errors.len() as i64 - 1);
                alignment.target_errors.push(*edit != Edit::Keep);
            }
        }
        alignment
    }
}

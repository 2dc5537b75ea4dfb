//! `difflib.SequenceMatcher(None, a, b).ratio()`.

use std::collections::HashMap;

/// 2 m / (len a + len b), where m is the length of the blocks that Ratcliff and Obershelp's recursion matches.
///
/// Characters of `b` that make up more than 1 % of it, when it has 200 or more, are not looked up ("popular"). 1 for two
/// empty texts. The result is not symmetric.
pub fn sequence_ratio(a: &str, b: &str) -> f64 {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let mut places: HashMap<char, Vec<usize>> = HashMap::new();
    for (at, &c) in b.iter().enumerate() {
        places.entry(c).or_default().push(at);
    }
    if b.len() >= 200 {
        let most = b.len() / 100 + 1;
        places.retain(|_, at| at.len() <= most);
    }
    let mut matched = 0;
    let mut open = vec![(0, a.len(), 0, b.len())];
    while let Some((a_low, a_high, b_low, b_high)) = open.pop() {
        let (i, j, size) = longest(&a, &b, &places, (a_low, a_high, b_low, b_high));
        if size > 0 {
            matched += size;
            open.push((a_low, i, b_low, j));
            open.push((i + size, a_high, j + size, b_high));
        }
    }
    2.0 * matched as f64 / (a.len() + b.len()) as f64
}

/// The longest block within the bounds: first in `a`, then first in `b`; grown over popular characters at both ends.
fn longest(
    a: &[char],
    b: &[char],
    places: &HashMap<char, Vec<usize>>,
    (a_low, a_high, b_low, b_high): (usize, usize, usize, usize),
) -> (usize, usize, usize) {
    let (mut i, mut j, mut size) = (a_low, b_low, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (at, c) in a.iter().enumerate().take(a_high).skip(a_low) {
        let mut next = HashMap::new();
        for &place in places.get(c).into_iter().flatten() {
            if place < b_low {
                continue;
            }
            if place >= b_high {
                break;
            }
            let before = if place == 0 { 0 } else { lengths.get(&(place - 1)).copied().unwrap_or(0) };
            next.insert(place, before + 1);
            if before + 1 > size {
                (i, j, size) = (at - before, place - before, before + 1);
            }
        }
        lengths = next;
    }
    while i > a_low && j > b_low && a[i - 1] == b[j - 1] {
        (i, j, size) = (i - 1, j - 1, size + 1);
    }
    while i + size < a_high && j + size < b_high && a[i + size] == b[j + size] {
        size += 1;
    }
    (i, j, size)
}

//! Edit distances over code points: Levenshtein's, and the similarity that inserts and deletes only.

/// Levenshtein's distance: the fewest insertions, deletions and substitutions, in code points.
pub fn levenshtein(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[right.len()]
}

/// OpenCompass's `EDAccEvaluator`: the index of the candidate (each a list of spellings) of the least distance.
///
/// Ties go to the first; a candidate without spellings is never chosen; `None` when no candidate has any.
pub fn nearest_candidate(prediction: &str, candidates: &[Vec<&str>]) -> Option<usize> {
    let distance = |spellings: &Vec<&str>| spellings.iter().map(|spelling| levenshtein(prediction, spelling)).min();
    let ranked = candidates.iter().enumerate().filter_map(|(at, spellings)| Some((distance(spellings)?, at)));
    ranked.min().map(|(_, at)| at)
}

/// `fuzz.ratio` of fuzzywuzzy over python-Levenshtein: a similarity in whole percent, 0..=100.
///
/// 100 (1 - d / (m + n)), rounded half to even, where d counts insertions and deletions; equal texts 100, else 0 when one
/// is empty.
pub fn edit_ratio_percent(left: &str, right: &str) -> u32 {
    if left == right {
        return 100;
    }
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    if left.is_empty() || right.is_empty() {
        return 0;
    }
    let lengths = left.len() + right.len();
    let distance = lengths - 2 * crate::rouge::lcs_length(&left, &right);
    let ratio = 1.0 - distance as f64 / lengths as f64;
    (100.0 * ratio).round_ties_even() as u32
}

//! Near matches for a misspelt name.

/// The nearest of `known` to `name`, if it is near enough to be meant.
pub(super) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let folded = fold(name);
    let bound = (folded.len() / 3).max(1);
    let near = known.into_iter().map(|candidate| (distance(&folded, &fold(candidate)), candidate));
    near.filter(|(distance, _)| *distance <= bound).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The remedy for a name that is not among `known`: the near match, or all of them.
pub(super) fn suggest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>, what: &str) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => format!("there are no {what} to choose from."),
        None => format!("the {what} are {}.", list(&known)),
    }
}

/// `a`, `b` and `c`, in backquotes.
pub(super) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

fn fold(name: &str) -> Vec<char> {
    name.to_lowercase().chars().map(|c| if c == '-' { '_' } else { c }).collect()
}

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, &left) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &right) in b.iter().enumerate() {
            let mut least = (rows[i][j] + usize::from(left != right)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && left == b[j - 1] && a[i - 1] == right {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_nothing_far() {
        let known = ["listen", "advertise", "store", "state_dir"];
        assert_eq!(nearest("lissten", known), Some("listen"));
        assert_eq!(nearest("litsen", known), Some("listen"));
        assert_eq!(nearest("State-Dir", known), Some("state_dir"));
        assert_eq!(nearest("retry", known), None);
        assert_eq!(suggest("retry", ["a", "b", "c"], "keys"), "the keys are `a`, `b` and `c`.");
    }

    #[test]
    fn distance_counts_single_edits() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        for (a, b, expected) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1)] {
            assert_eq!(distance(&chars(a), &chars(b)), expected, "{a} {b}");
        }
    }
}

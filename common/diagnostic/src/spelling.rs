//! Near matches for a misspelt name.

use strsim::osa_distance;

/// The nearest of `known` to `name`, if it is near enough to be meant.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let folded = fold(name);
    let bound = (folded.chars().count() / 3).max(1);
    // Insertions, deletions, substitutions and swaps of neighbours.
    let near = known.into_iter().map(|candidate| (osa_distance(&folded, &fold(candidate)), candidate));
    near.filter(|(distance, _)| *distance <= bound).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The remedy for a name that is not among `known`: the near match, or all of them.
pub fn suggest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>, what: &str) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => format!("there are no {what} to choose from."),
        None => format!("the {what} are {}.", list(&known)),
    }
}

/// `a`, `b` and `c`, in backquotes.
pub fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

fn fold(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
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
}

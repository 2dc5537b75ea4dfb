//! Groups of the table that are subsets of each other: none of them has a number.

use crate::report::check::Check;
use compass_plan::summary::SummaryGroup;
use std::collections::BTreeSet;

/// Notes the first circle of groups, with the names in it. A subset that is a data set is that data set, whatever groups are
/// called.
pub(crate) fn note(check: &mut Check, groups: &[SummaryGroup], datasets: &[&str]) {
    let mut done = BTreeSet::new();
    for group in groups {
        let mut path = Vec::new();
        if let Some(circle) = circle(&group.name, groups, datasets, &mut path, &mut done) {
            let shown: Vec<String> = circle.iter().map(|name| format!("`{name}`")).collect();
            let message = format!("summary groups in a circle have no number: {}", shown.join(" > "));
            check.tell(message, "take one of them out of the subsets of another");
            return;
        }
    }
}

/// The names from a group back to itself, where its subsets lead there. `done` are groups from which nothing does.
fn circle<'g>(
    name: &'g str,
    groups: &'g [SummaryGroup],
    datasets: &[&str],
    path: &mut Vec<&'g str>,
    done: &mut BTreeSet<&'g str>,
) -> Option<Vec<&'g str>> {
    if let Some(at) = path.iter().position(|known| *known == name) {
        return Some(path.iter().skip(at).copied().chain([name]).collect());
    }
    if done.contains(name) {
        return None;
    }
    path.push(name);
    for group in groups.iter().filter(|group| group.name == name) {
        for subset in group.subsets.iter().filter(|subset| !datasets.contains(&subset.name.as_str())) {
            if let Some(found) = circle(&subset.name, groups, datasets, path, done) {
                return Some(found);
            }
        }
    }
    path.pop();
    done.insert(name);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::summary::Subset;

    fn said(groups: &[(&str, &[&str])], datasets: &[&str]) -> String {
        let subset = |name: &&str| Subset { name: (*name).to_owned(), metric: None };
        let group = |(name, subsets): &(&str, &[&str])| SummaryGroup {
            subsets: subsets.iter().map(subset).collect(),
            ..SummaryGroup::naive(*name, [])
        };
        let mut check = Check::default();
        note(&mut check, &groups.iter().map(group).collect::<Vec<_>>(), datasets);
        check.finish().unwrap().iter().map(|note| note.message.clone()).collect()
    }

    #[test]
    fn a_circle_is_named() {
        let circle = said(&[("x", &["d"]), ("a", &["x", "b"]), ("b", &["c"]), ("c", &["a"])], &["d"]);
        assert_eq!(circle, "summary groups in a circle have no number: `a` > `b` > `c` > `a`");
        assert!(said(&[("a", &["a"])], &["d"]).ends_with("`a` > `a`"));
        assert_eq!(said(&[("a", &["d", "b"]), ("b", &["d"]), ("c", &["a", "b"])], &["d"]), "");
        assert_eq!(said(&[("d", &["d", "e"])], &["d", "e"]), "", "the data set is meant");
    }
}

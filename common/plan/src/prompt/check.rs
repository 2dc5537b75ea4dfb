//! Placeholders against columns: finds misspelt ones, and knows which columns a template cannot do without.

use super::format::Row;
use super::placeholder;
use std::collections::BTreeSet;

/// The columns that some template names.
pub(super) fn used<'a>(templates: &[&'a str], columns: &[&str]) -> BTreeSet<&'a str> {
    let names = templates.iter().flat_map(|template| placeholder::names(template));
    names.map(|(_, name)| name).filter(|name| columns.contains(name)).collect()
}

/// The first of the columns that the row lacks, as a message.
pub(super) fn missing(row: &Row, used: &BTreeSet<&str>) -> Option<String> {
    let column = used.iter().find(|column| !row.contains_key(**column))?;
    Some(format!("has no column `{column}`, which the template puts in"))
}

/// Placeholders that name no column but look like one that does: what was meant, in words.
pub(super) fn misspelt(templates: &[&str], columns: &[&str]) -> Vec<String> {
    let mut said = BTreeSet::new();
    for template in templates {
        for (before, name) in placeholder::names(template) {
            // LaTeX writes braces too: \boxed{answer}, x^{2}, \frac{a}{b}.
            let latex = before.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '}' | '^' | '_' | '\\'));
            if latex || columns.contains(&name) {
                continue;
            }
            if let Some(meant) = columns.iter().find(|column| is_near(name, column)) {
                said.insert(format!("`{{{name}}}` names no column; did you mean `{{{meant}}}`?"));
            }
        }
    }
    said.into_iter().collect()
}

/// Within one edit from three characters on, within two from six on; case aside.
fn is_near(name: &str, column: &str) -> bool {
    let allowed = match column.chars().count() {
        0..=2 => return false,
        3..=5 => 1,
        _ => 2,
    };
    distance(&name.to_lowercase(), &column.to_lowercase()) <= allowed
}

/// Levenshtein's distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_named_and_latex_is_not() {
        let columns = ["question", "sol1", "A"];
        let said = misspelt(&["{qestion} {Sol1} {sol9} {a} {other} \\boxed{questions}"], &columns);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[1].contains("`{qestion}` names no column; did you mean `{question}`?"), "{said:?}");
        assert!(misspelt(&["{question} {sol1}"], &columns).is_empty());
    }

    #[test]
    fn edit_distances() {
        for (a, b, expected) in [("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!(distance(a, b), expected);
        }
    }
}

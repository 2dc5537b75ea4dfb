//! lm-eval's rule for the boundary of two texts: a delimiter only where neither side brings white space.

/// Returns whether the boundary wants a delimiter (`requires_delimiter`).
pub(super) fn wants_delimiter(before: &str, after: &str) -> bool {
    let space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    !before.is_empty() && !before.ends_with(space) && !after.starts_with(space)
}

/// Both texts, delimited where the boundary wants it (`maybe_delimit`).
pub(super) fn delimited(before: &str, after: &str, delimiter: &str) -> String {
    if after.is_empty() || !wants_delimiter(before, after) {
        return format!("{before}{after}");
    }
    format!("{before}{delimiter}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_needs_no_delimiter() {
        for (before, after, expected) in
            [("a", "b", "a b"), ("a ", "b", "a b"), ("a", "\nb", "a\nb"), ("", "b", "b"), ("a", "", "a"), ("", "", "")]
        {
            assert_eq!(delimited(before, after, " "), expected);
        }
    }
}

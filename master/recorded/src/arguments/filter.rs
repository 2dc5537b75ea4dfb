//! Filters of names: words of the command line, with `*` for anything.

/// A filter of names: a part of the name, or a pattern for all of it where it has a `*`. Case does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameFilter {
    written: String,
    folded: String,
}

impl From<&str> for NameFilter {
    fn from(text: &str) -> Self {
        Self { written: text.to_owned(), folded: text.to_lowercase() }
    }
}

/// As it was written.
impl AsRef<str> for NameFilter {
    fn as_ref(&self) -> &str {
        &self.written
    }
}

impl NameFilter {
    /// Returns whether the name matches.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let pieces: Vec<&str> = self.folded.split('*').collect();
        let [first, middle @ .., last] = pieces.as_slice() else { return name.contains(&self.folded) };
        let Some(mut rest) = name.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else { return false };
        middle.iter().all(|piece| {
            let found = rest.find(piece);
            rest = found.map_or(rest, |at| &rest[at + piece.len()..]);
            found.is_some()
        })
    }

    /// Returns whether any of `filters` matches the name; an empty list matches every one.
    pub fn any(filters: &[Self], name: &str) -> bool {
        filters.is_empty() || filters.iter().any(|filter| filter.matches(name))
    }
}

/// Never fails: every text is a filter.
pub fn filter(text: &str) -> Result<NameFilter, std::convert::Infallible> {
    Ok(NameFilter::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_patterns() {
        let matches = |filter: &str, name: &str| NameFilter::from(filter).matches(name);
        assert!(matches("mmlu", "lukaemon_MMLU_law") && matches("MMLU", "mmlu") && !matches("mmlu", "piqa"));
        assert!(matches("qwen*7b", "qwen2.5-7b") && !matches("qwen*7b", "qwen2.5-7b-hf") && !matches("7b*", "qwen-7b"));
        assert!(matches("*-step-*00", "a-step-1200") && matches("*", "") && !matches("a*a", "a"));
        assert!(NameFilter::any(&[], "x") && NameFilter::any(&["y".into(), "x".into()], "x"));
        assert!(!NameFilter::any(&["y".into()], "x"));
        assert_eq!(NameFilter::from("MMLU").as_ref(), "MMLU", "as it was written");
    }
}

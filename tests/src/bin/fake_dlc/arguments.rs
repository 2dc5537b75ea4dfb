//! Options as `dlc` takes them: `--key value` or `--key=value`, each known, each once.

/// Arguments that were given.
#[derive(Debug)]
pub(super) struct Arguments<'w>(Vec<(&'w str, &'w str)>);

impl<'w> Arguments<'w> {
    /// Parses `words`.
    ///
    /// # Errors
    /// An option is unknown, has no value, or is given twice; an argument is not an option.
    pub(super) fn parse(words: &[&'w str], known: &[&str]) -> Result<Self, String> {
        let mut given: Vec<(&str, &str)> = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let (key, value) = match word.split_once('=').filter(|_| word.starts_with("--")) {
                Some(pair) => pair,
                None => (*word, *rest.next().ok_or_else(|| format!("flag needs an argument: {word}"))?),
            };
            if !key.starts_with("--") {
                return Err(format!("unexpected argument: {key}"));
            }
            if !known.contains(&key) {
                return Err(format!("unknown flag: {key}"));
            }
            if given.iter().any(|(other, _)| *other == key) {
                return Err(format!("flag given twice: {key}"));
            }
            given.push((key, value));
        }
        Ok(Self(given))
    }

    /// The value of `key`.
    pub(super) fn get(&self, key: &str) -> Option<&'w str> {
        self.0.iter().find(|(given, _)| *given == key).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_value_and_no_other() {
        let given = Arguments::parse(&["--a", "x=y", "--b=1=2", "--c="], &["--a", "--b", "--c"]).unwrap();
        assert_eq!((given.get("--a"), given.get("--b"), given.get("--c")), (Some("x=y"), Some("1=2"), Some("")));
        for wrong in [&["--a"][..], &["--z", "1"], &["word", "1"], &["--a", "1", "--a=2"]] {
            assert!(Arguments::parse(wrong, &["--a"]).is_err(), "{wrong:?}");
        }
    }
}

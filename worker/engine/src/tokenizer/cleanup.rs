//! transformers' `clean_up_tokenization`: spaces that are removed from decoded English.

/// In transformers' order; only if tokenizer_config.json sets `clean_up_tokenization_spaces`.
const REPLACEMENTS: [(&str, &str); 10] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

/// Returns the text with those spaces removed.
pub(super) fn clean_up(text: &str) -> String {
    REPLACEMENTS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    #[test]
    fn spaces_are_removed_as_by_transformers() {
        assert_eq!(super::clean_up("It 's he , is n't it ? I 'm ' you 've"), "It's he, isn't it? I'm'you've");
    }
}

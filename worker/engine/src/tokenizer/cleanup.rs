//! transformers' `clean_up_tokenization`: the spaces that it takes out of decoded English.

/// In this order, as transformers does; only where tokenizer_config.json sets `clean_up_tokenization_spaces`.
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

/// The text with those spaces removed.
pub(super) fn clean_up(text: &str) -> String {
    REPLACEMENTS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    #[test]
    fn as_transformers_does() {
        assert_eq!(super::clean_up("It 's he , is n't it ? I 'm ' you 've"), "It's he, isn't it? I'm'you've");
    }
}

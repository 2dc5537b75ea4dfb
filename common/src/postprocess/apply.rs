//! From the name of a postprocessor to its function.

use super::{Postprocessor, general, gsm8k, gsm8k_dataset};

/// What `kind` makes of `text`, byte for byte as OpenCompass's function of that name does.
pub fn apply(kind: Postprocessor, text: &str) -> String {
    match kind {
        Postprocessor::General => general(text),
        Postprocessor::Gsm8k => gsm8k(text),
        Postprocessor::Gsm8kDataset => gsm8k_dataset(text),
    }
}

/// What the postprocessors make of `text`, each of what the one before it made.
pub fn apply_all(kinds: &[Postprocessor], text: String) -> String {
    kinds.iter().fold(text, |text, &kind| apply(kind, &text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_order_written() {
        let text = || "#### 1,200.5 the end".to_string();
        assert_eq!(apply_all(&[], text()), "#### 1,200.5 the end");
        assert_eq!(apply_all(&[Postprocessor::Gsm8kDataset, Postprocessor::Gsm8k], text()), "1200.5");
        assert_eq!(apply_all(&[Postprocessor::Gsm8k, Postprocessor::General], text()), "200");
    }
}

//! `Normalizer::Normalize` of the SentencePiece library (normalizer.cc): rules, whitespace, the dummy prefix.

use super::charsmap::Charsmap;
use super::trie::PieceTrie;

/// Replacement of a space within pieces: U+2581.
pub(super) const SPACE: &str = "\u{2581}";

/// A `NormalizerSpec` with the user-defined symbols that rules must not change.
#[derive(Debug)]
pub(super) struct Normalizer {
    pub(super) charsmap: Option<Charsmap>,
    pub(super) add_dummy_prefix: bool,
    pub(super) remove_extra_whitespaces: bool,
    pub(super) escape_whitespaces: bool,
    /// Set if the dummy prefix is put after the text instead of before it.
    pub(super) treat_whitespace_as_suffix: bool,
    pub(super) user_defined: Option<PieceTrie>,
}

impl Normalizer {
    /// Returns the normalised text.
    pub(super) fn normalize(&self, text: &str) -> String {
        let mut rest = text.as_bytes();
        if self.remove_extra_whitespaces {
            while let Some((b" ", length)) = self.step(rest) {
                rest = &rest[length..];
            }
        }
        if rest.is_empty() {
            return String::new();
        }
        let space = if self.escape_whitespaces { SPACE.as_bytes() } else { b" " };
        let mut out = Vec::with_capacity(rest.len() + rest.len() / 2 + space.len());
        if self.add_dummy_prefix && !self.treat_whitespace_as_suffix {
            out.extend_from_slice(space);
        }
        let mut after_space = self.remove_extra_whitespaces;
        while let Some((piece, length)) = self.step(rest) {
            let leading = if after_space { piece.iter().take_while(|&&byte| byte == b' ').count() } else { 0 };
            let piece = &piece[leading..];
            if let Some(&last) = piece.last() {
                for &byte in piece {
                    if byte == b' ' { out.extend_from_slice(space) } else { out.push(byte) }
                }
                after_space = self.remove_extra_whitespaces && last == b' ';
            }
            rest = &rest[length..];
        }
        if self.remove_extra_whitespaces {
            while out.ends_with(space) {
                out.truncate(out.len() - space.len());
            }
        }
        if self.add_dummy_prefix && self.treat_whitespace_as_suffix {
            out.extend_from_slice(space);
        }
        // Only damaged rules could yield anything but UTF-8.
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// `NormalizePrefix`: returns the replacement of the start of `text`, and its length in bytes; `None` at the end.
    fn step<'a>(&'a self, text: &'a [u8]) -> Option<(&'a [u8], usize)> {
        let first = *text.first()?;
        if let Some(length) = self.user_defined.as_ref().and_then(|symbols| symbols.longest(text)) {
            return Some((&text[..length], length));
        }
        if let Some(found) = self.charsmap.as_ref().and_then(|map| map.longest(text)) {
            return Some(found);
        }
        let length = char_length(first).min(text.len());
        Some((&text[..length], length))
    }
}

/// Returns the length of the character with this first byte.
pub(super) fn char_length(first: u8) -> usize {
    match first {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalizer(add_dummy_prefix: bool, remove_extra_whitespaces: bool) -> Normalizer {
        Normalizer {
            charsmap: None,
            add_dummy_prefix,
            remove_extra_whitespaces,
            escape_whitespaces: true,
            treat_whitespace_as_suffix: false,
            user_defined: Some(PieceTrie::new([("[  ]", 0)].into_iter())),
        }
    }

    #[test]
    fn whitespace() {
        assert_eq!(normalizer(true, true).normalize("  a   b  "), "▁a▁b");
        assert_eq!(normalizer(true, false).normalize("  a   b "), "▁▁▁a▁▁▁b▁");
        assert_eq!(normalizer(false, false).normalize(" a"), "▁a");
        assert_eq!(normalizer(true, true).normalize("   "), "");
        assert_eq!(normalizer(true, false).normalize(""), "");
        assert_eq!(normalizer(true, true).normalize("x[  ] y"), "▁x[▁▁]▁y", "a symbol keeps its spaces");
        let suffix = Normalizer { treat_whitespace_as_suffix: true, ..normalizer(true, true) };
        assert_eq!(suffix.normalize(" a b "), "a▁b▁");
    }
}

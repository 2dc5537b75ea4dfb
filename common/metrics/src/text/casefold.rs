//! `str.casefold()`.

/// `text.casefold()`: the full case folding of Unicode.
///
/// Lower case of upper case, character by character, with the characters where folding differs from that. The list is
/// complete for Unicode 14, which a golden over all code points checks.
pub(crate) fn casefold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ı' => out.push(c),
            'ẞ' => out.push_str("ss"),
            // Cherokee folds to upper case, for stability across versions of Unicode.
            '\u{13a0}'..='\u{13f5}' => out.push(c),
            '\u{13f8}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => out.extend(c.to_uppercase()),
            c => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
        }
    }
    out
}

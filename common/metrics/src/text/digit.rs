//! `str.isdigit()` of one character.

use super::pattern::Pattern;

/// Whether Python counts `c` as a digit: the decimal digits of all scripts, and digits in superscripts and circles.
pub(crate) fn is_digit(c: char) -> bool {
    static DECIMAL: Pattern = Pattern::new(r"\d");
    c.is_ascii_digit()
        || (!c.is_ascii()
            && (SPECIAL.iter().any(|&(from, to)| (from..=to).contains(&c))
                || DECIMAL.is_match(c.encode_utf8(&mut [0; 4]))))
}

#[rustfmt::skip]
const SPECIAL: &[(char, char)] = &[
    ('\u{b2}', '\u{b3}'), ('\u{b9}', '\u{b9}'), ('\u{1369}', '\u{1371}'), ('\u{19da}', '\u{19da}'),
    ('\u{2070}', '\u{2070}'), ('\u{2074}', '\u{2079}'), ('\u{2080}', '\u{2089}'), ('\u{2460}', '\u{2468}'),
    ('\u{2474}', '\u{247c}'), ('\u{2488}', '\u{2490}'), ('\u{24ea}', '\u{24ea}'), ('\u{24f5}', '\u{24fd}'),
    ('\u{24ff}', '\u{24ff}'), ('\u{2776}', '\u{277e}'), ('\u{2780}', '\u{2788}'), ('\u{278a}', '\u{2792}'),
    ('\u{10a40}', '\u{10a43}'), ('\u{10e60}', '\u{10e68}'), ('\u{11052}', '\u{1105a}'), ('\u{1f100}', '\u{1f10a}'),
];

//! sacrebleu's tokenizers: `13a` (the default), `intl`, `zh`, `char`, `none`.

use crate::text::{Pattern, split, strip};

/// Tokenizers that cut a segment into tokens for BLEU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BleuTokenizer {
    /// `mteval-v13a`, for Western languages.
    #[default]
    V13a,
    /// `mteval-v14 --international-tokenization`: at all Unicode punctuation and symbols.
    Intl,
    /// Chinese characters one by one, everything else as `13a`.
    Zh,
    /// Every character.
    Char,
    /// White space only.
    None,
}

impl BleuTokenizer {
    /// The tokens of one segment.
    pub fn tokenize(self, segment: &str) -> Vec<String> {
        let spaced = match self {
            Self::V13a => western(&format!(" {} ", unescape(segment))),
            Self::Intl => international(segment),
            Self::Zh => western(&set_apart(strip(segment))),
            Self::Char => segment.chars().flat_map(|c| [c, ' ']).collect(),
            Self::None => segment.to_string(),
        };
        split(&spaced).map(String::from).collect()
    }
}

fn unescape(line: &str) -> String {
    let line = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    line.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
}

fn western(line: &str) -> String {
    static PUNCTUATION: Pattern = Pattern::new(r"([{-~\[-` -&(-+:-@/])");
    static AFTER_OTHER: Pattern = Pattern::new(r"([^0-9])([.,])");
    static BEFORE_OTHER: Pattern = Pattern::new(r"([.,])([^0-9])");
    static DASH: Pattern = Pattern::new(r"([0-9])(-)");
    let line = PUNCTUATION.replace_all(line, " $1 ");
    let line = AFTER_OTHER.replace_all(&line, "$1 $2 ");
    let line = BEFORE_OTHER.replace_all(&line, " $1 $2");
    DASH.replace_all(&line, "$1 $2 ").into_owned()
}

fn international(line: &str) -> String {
    static AFTER_OTHER: Pattern = Pattern::new(r"(\P{N})(\p{P})");
    static BEFORE_OTHER: Pattern = Pattern::new(r"(\p{P})(\P{N})");
    static SYMBOL: Pattern = Pattern::new(r"(\p{S})");
    let line = AFTER_OTHER.replace_all(line, "$1 $2 ");
    let line = BEFORE_OTHER.replace_all(&line, " $1 $2");
    SYMBOL.replace_all(&line, " $1 ").into_owned()
}

fn set_apart(line: &str) -> String {
    let mut out = String::with_capacity(line.len() * 2);
    for c in line.chars() {
        if is_chinese(c) {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns whether sacrebleu takes the character for Chinese. Its escapes of two planes beyond the first lack a digit and so name
/// U+2001 to U+2A6D instead, which its numbers rest on.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{2001}'..='\u{2a6d}'
        | '\u{2e80}'..='\u{2eff}'
        | '\u{2f00}'..='\u{2fdf}'
        | '\u{2ff0}'..='\u{303f}'
        | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{31c0}'..='\u{31ef}'
        | '\u{3200}'..='\u{33ff}'
        | '\u{3400}'..='\u{4db5}'
        | '\u{4e00}'..='\u{9fbb}'
        | '\u{f900}'..='\u{fa2d}'
        | '\u{fa30}'..='\u{fa6a}'
        | '\u{fa70}'..='\u{fad9}'
        | '\u{fe10}'..='\u{fe1f}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}')
}

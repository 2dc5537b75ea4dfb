//! `general_postprocess`: the first clause of an answer without punctuation, articles and surplus space.

use compass_pyfmt::{is_space, is_word};

/// OpenCompass's `general_postprocess`: the text before the first newline, full stop or comma; without characters that are
/// neither `\w` nor `\s`; without the words a, an, the in any case; white space collapsed to single spaces.
///
/// Once only word characters and white space are left, `\b(a|an|the)\b` is a whole word, so words suffice. No character
/// outside ASCII folds to a letter of an article.
pub fn general(text: &str) -> String {
    let clause = text.split(['\n', '.', ',']).next().unwrap_or_default();
    let kept: String = clause.chars().filter(|&c| is_word(c) || is_space(c)).collect();
    let words = kept.split(is_space).filter(|word| !word.is_empty() && !is_article(word));
    words.collect::<Vec<_>>().join(" ")
}

fn is_article(word: &str) -> bool {
    ["a", "an", "the"].iter().any(|article| word.eq_ignore_ascii_case(article))
}

#[cfg(test)]
mod tests {
    //! Expected texts were printed by the original function under CPython 3.11.
    use super::*;

    #[test]
    fn as_the_original() {
        for (text, expected) in GENERAL {
            assert_eq!(general(text), *expected, "{text:?}");
        }
    }

    const GENERAL: &[(&str, &str)] = &[
        ("", ""),
        (" ", ""),
        ("The Eiffel Tower, in Paris", "Eiffel Tower"),
        ("the cat\nsat", "cat"),
        ("a the an", ""),
        ("A an tHe THE answer", "answer"),
        ("theatre and another thane", "theatre and another thane"),
        ("the-cat's a_an \"quote\"!", "thecats a_an quote"),
        ("a_b the_", "a_b the_"),
        ("x the  the\ty", "x y"),
        ("no stop here", "no stop here"),
        (".leading", ""),
        ("café the déjà-vu", "café déjàvu"),
        ("中文，答案。第二句", "中文答案第二句"),
        ("答案 the 是 A", "答案 是"),
        ("हिन\u{94d}दी का उत\u{94d}तर", "हनद क उततर"),
        ("e\u{301}tat the", "etat"),
        ("x\u{1c}y\u{1f}the\u{a0}z\u{3000}w\u{2028}v", "x y z w v"),
        ("½ of ⅷ + ² the", "½ of ⅷ ²"),
        ("a‿b \u{200d}the", "ab"),
        ("the٣ ٣ the", "the٣ ٣"),
        ("ａ the ＡＮ", "ａ ＡＮ"),
        ("\u{200b}the a", ""),
        ("A.", ""),
        ("it's", "its"),
        ("4,5", "4"),
        ("thé the\u{301}", "thé"),
        ("a\u{ad}a", "aa"),
        ("İ ſ the K", "İ ſ K"),
    ];
}

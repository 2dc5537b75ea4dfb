//! Words that announce an answer, in English and Chinese, with the place where the answer is to follow.

use super::folded::{WINDOW, beginning, constant, ending, last_ones};
use regex::Regex;
use std::sync::LazyLock;

/// Announcement of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) start: usize,
    /// Byte behind its words, its verb and its colon.
    pub(super) end: usize,
    /// True of `Answer:` and `####`, behind which a line of thought may follow instead of an answer.
    pub(super) is_label: bool,
    pub(super) is_final: bool,
    /// True behind a quote that opens.
    pub(super) is_quoted: bool,
}

/// Nouns and verbs that announce an answer.
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?i)(?-u:\b)(?:answers?|ans)(?-u:\b)",
        r"|(?-u:\b)(?:correct|right|best|appropriate|suitable|final)\s{1,3}(?:option|choice|statement|one|response|selection|result)(?-u:\b)",
        r"|####|答案|(?:^|[\n。])\s{0,3}\**答:",
        r"|(?:只有|因此|所以|综上|应选?|选择|故选?|正确(?:的)?是)\s{0,2}选项",
        r"|(?:^|[\s,。;:故应可只题我并能则以此为当该会要])选择?",
        r"|选项(?:是|为|有|:)|(?:不?正确|错误|不?符合题意)的?(?:选项|说法|叙述|描述|结论|一项)?(?:是|为|:)|(?:最终)?结果(?:是|为|:)",
    ))
});
/// Words between an English noun and its answer, with a verb or a sign at their end.
static LINK: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?i)^(?:\s+(?:choice|option|letter|key))?",
        r"(?:\s+(?:to|for|of|in|here|among|from)\b[^.\n?!;:]{0,80}?)?",
        r"(?:,?\s*(?:then|therefore|thus|hence|however),?)?",
        r#"[*_"'\s\])}>]*(?:(?<sign>:|=|→|⇒|\||[—–]|-{1,2}>?\s|】)|\s(?:is|are|was|would be|should be|must be|will be|has to be|comes (?:out )?to|equals)\b)"#,
    ))
});
/// The head of a line before its word for an answer, where no verb and no sign is needed.
static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?:^|\n)[#*_\s>\[({\d.]*(?:(?:so|thus|therefore|hence),?\s+)?(?:(?:the|my)\s+)?(?:final\s+|correct\s+|short\s+)*$",
    )
});
/// Words before an announcement that do not mean it.
static DOUBT: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?i)(?:\b(?:if|whether|suppose|supposing|assume|assuming|imagine|unless|thought|not that|that if)",
        r"|\b(?:might|may|could)\s+(?:\w+\s+)?(?:think|say|guess|assume|believe|expect)",
        r"|\btempt(?:ed|ing) to (?:think|say))",
        r"(?:\s+that)?(?:\s+(?:the|my|its|your|this))?(?:\s+(?:correct|final|right))*\s*$",
        r"|(?:如果|假如|假设|以为|误认为|有(?:人|些人|同学)(?:可能|会)?认为|可能认为|不|别|勿|非)(?:正确|最终)?$",
    ))
});
static FINAL: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)(?:\bfinal|最终|最后)\W{0,3}$"));

/// Finds the last announcements of a text, in order. Each looks at no more than a window before and behind itself.
pub(super) fn markers(text: &str) -> Vec<Marker> {
    let words = last_ones(WORDS.find_iter(text).collect());
    words.into_iter().filter_map(|word| marker(text, word.start(), word.end())).collect()
}

fn marker(text: &str, start: usize, end: usize) -> Option<Marker> {
    let (before, word) = (ending(&text[..start], 60), &text[start..end]);
    let bare = before.trim_end_matches(['(', '[', '{', '*', '_', '<', '【', ' ']);
    let is_topic = word.ends_with('选') && text[end..].starts_with('项');
    if is_topic || DOUBT.is_match(before) {
        return None;
    }
    let is_quoted = bare.ends_with(['\'', '"', '“', '‘', '「', '`']) && !bare.ends_with("{\"");
    let is_final = FINAL.is_match(before) || word.starts_with("最终") || word.to_ascii_lowercase().starts_with("final");
    let found = |end, is_label| Some(Marker { start, end, is_label, is_final, is_quoted });
    if word == "####" {
        return found(end, true);
    }
    if !word.is_ascii() {
        return found(end, beginning(&text[end..], 8).trim_start_matches(['*', '】', ' ']).starts_with(':'));
    }
    if let Some(link) = LINK.captures(beginning(&text[end..], WINDOW)) {
        return found(end + link.get(0)?.end(), link.name("sign").is_some());
    }
    HEADING.is_match(before).then(|| found(end, true)).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::folded::MOST;
    use super::*;

    fn behind(text: &str) -> Vec<&str> {
        markers(text).iter().map(|marker| &text[marker.end..]).collect()
    }

    #[test]
    fn announcements() {
        for (text, rest) in [
            ("The answer is C", " C"),
            ("**Answer:** D", "** D"),
            ("**Answer**: D", " D"),
            ("The answer to this question is: 5", ": 5"),
            ("The correct option would be B", " B"),
            ("### Final Answer\n\nC", "\n\nC"),
            ("Answer (C)", " (C)"),
            ("{\"answer\": 5}", " 5}"),
            ("#### 12", " 12"),
            ("答案是B", "是B"),
            ("【答案】C", "】C"),
            ("故选C", "C"),
            ("所以,选C", "C"),
            ("正确的是C", "C"),
            ("The answer isn't B", " isn't B"),
            ("If the answer is B", ""),
            ("Answered 5", ""),
            ("不选C", ""),
        ] {
            assert_eq!(behind(text).last().copied().unwrap_or_default(), rest, "{text}");
        }
        assert!(markers("最终答案是5")[0].is_final && markers("Final answer: 5")[0].is_final);
        assert!(markers("end with 'ANSWER: A'")[0].is_quoted);
    }

    /// Announcements whose surroundings are looked at, in texts of announcements alone.
    #[test]
    fn work_has_a_bound() {
        for unit in ["Answer: ", "the answer to ", "答案是", "####"] {
            for bytes in [1 << 16, 1 << 20] {
                assert!(markers(&unit.repeat(bytes / unit.len())).len() <= MOST, "{unit}");
            }
        }
    }
}

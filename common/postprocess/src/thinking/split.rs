//! The cut between thinking and answer.
//!
//! The first end mark after thinking began ends it; a start mark right behind it opens it again. (vLLM, SGLang and EvalScope
//! take the first end mark, lm-eval the last.) A start mark counts at the beginning of a text alone, so that an answer may
//! speak of marks.

use super::marks::{Marks, Opened};

/// A text in its two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split<'t> {
    /// Text of the thinking without its outer marks; `None` where the text does not think.
    pub thinking: Option<&'t str>,
    /// Text behind the thinking, without blank lines before it; its first line keeps its indentation.
    pub answer: &'t str,
    /// Set if an end mark closes the thinking. An open thinking has an empty answer.
    pub closed: bool,
}

/// Cuts a text at the marks of its model.
pub fn split<'t>(text: &'t str, marks: &Marks, opened: Opened) -> Split<'t> {
    let begin = match (begun(text, marks), opened) {
        (Some(begin), _) => begin,
        (None, Opened::Yes) => 0,
        (None, Opened::Unknown) if first_end(text, marks, 0).is_some() => 0,
        (None, _) => return Split { thinking: None, answer: text, closed: false },
    };
    let mut from = begin;
    loop {
        let Some((end, behind)) = first_end(text, marks, from) else {
            return Split { thinking: Some(&text[begin..]), answer: "", closed: false };
        };
        match begun(&text[behind..], marks) {
            Some(again) => from = behind + again,
            None => {
                let answer = answer_in(&text[behind..], marks);
                return Split { thinking: Some(&text[begin..end]), answer, closed: true };
            }
        }
    }
}

/// Returns the offset of the answer's first character in the text behind an end mark: behind blank lines, and behind the mark
/// of an answer.
pub fn begun_answer(behind: &str, marks: &Marks) -> usize {
    let opened = marks.answer.as_ref().and_then(|answer| {
        let rest = behind.trim_start().strip_prefix(answer.open.as_str())?;
        Some(behind.len() - rest.len())
    });
    let from = opened.unwrap_or(0);
    from + blank_lines(&behind[from..])
}

fn answer_in<'t>(behind: &'t str, marks: &Marks) -> &'t str {
    let answer = &behind[begun_answer(behind, marks)..];
    let closed = marks.answer.as_ref().and_then(|marks| answer.trim_end().strip_suffix(marks.close.as_str()));
    closed.map_or(answer, |answer| answer.strip_suffix('\n').unwrap_or(answer))
}

/// Returns the offset behind a start mark with which a text begins, white space before it aside.
fn begun(text: &str, marks: &Marks) -> Option<usize> {
    let trimmed = text.trim_start();
    let start = marks.starts.iter().find_map(|start| trimmed.strip_prefix(start.as_str()))?;
    Some(text.len() - start.len())
}

/// Returns where the first end mark from an offset on begins and ends.
fn first_end(text: &str, marks: &Marks, from: usize) -> Option<(usize, usize)> {
    let found = marks.ends.iter().filter_map(|end| {
        let at = from + text[from..].find(end.as_str())?;
        Some((at, at + end.len()))
    });
    found.min()
}

/// Returns the length of the blank lines with which a text begins.
fn blank_lines(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        match line.trim().is_empty() && line.ends_with('\n') {
            true => length += line.len(),
            false => break,
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::super::FAMILIES;
    use super::*;

    fn parts(text: &str, opened: Opened) -> (Option<&str>, &str, bool) {
        let Split { thinking, answer, closed } = split(text, &Marks::new("<think>", "</think>"), opened);
        (thinking, answer, closed)
    }

    #[test]
    fn the_first_end_mark_closes_what_was_opened() {
        use Opened::{No, Unknown, Yes};
        for (text, opened, expected) in [
            ("<think>a</think>4", No, (Some("a"), "4", true)),
            ("\n<think>\na\n</think>\n\n  4\n", No, (Some("\na\n"), "  4\n", true)),
            ("a</think>4", Yes, (Some("a"), "4", true)),
            ("<think>a</think>4", Yes, (Some("a"), "4", true)),
            ("a</think>4", Unknown, (Some("a"), "4", true)),
            ("a</think>4", No, (None, "a</think>4", false)),
            ("a", Unknown, (None, "a", false)),
            ("a", Yes, (Some("a"), "", false)),
            ("<think>a", No, (Some("a"), "", false)),
            ("<think></think>4", No, (Some(""), "4", true)),
            ("", Yes, (Some(""), "", false)),
            ("", No, (None, "", false)),
            ("<think>a</think>write </think> so", No, (Some("a"), "write </think> so", true)),
            ("<think>a</think>\n<think>b</think>4", No, (Some("a</think>\n<think>b"), "4", true)),
            ("<think>a</think>4 <think>b</think>", No, (Some("a"), "4 <think>b</think>", true)),
            ("<think>a</think><think>b", No, (Some("a</think><think>b"), "", false)),
        ] {
            assert_eq!(parts(text, opened), expected, "{text:?} {opened:?}");
        }
    }

    #[test]
    fn marks_of_the_answer_go_where_there_are_any() {
        let marks = super::super::Family::named("think-answer").unwrap().marks();
        let answer = |text: &str| split(text, &marks, Opened::No).answer.to_owned();
        assert_eq!(answer("<think>\na\n</think>\n<answer>\n4\n</answer>"), "4");
        assert_eq!(answer("<think>a</think>\n  4"), "  4");
        assert_eq!(answer("<think>a</think><answer>\n4"), "4");
    }

    #[test]
    fn what_is_put_together_is_split_again_in_every_family() {
        for family in &FAMILIES {
            let marks = family.marks();
            for (start, end) in marks.starts.iter().flat_map(|start| marks.ends.iter().map(move |end| (start, end))) {
                for (thinking, answer) in [("a", "4"), ("", "  if x:\n    y"), ("a\n\nb", ""), ("é", "◁ <")] {
                    let rest = format!("{thinking}{end}{answer}");
                    let expected = Split { thinking: Some(thinking), answer, closed: true };
                    assert_eq!(split(&rest, &marks, Opened::Yes), expected, "{}", family.name);
                    assert_eq!(split(&format!("{start}{rest}"), &marks, Opened::No), expected, "{}", family.name);
                }
            }
        }
    }
}

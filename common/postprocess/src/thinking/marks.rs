//! Marks around the thinking of a model.

use serde::{Deserialize, Serialize};

/// Texts around the thinking of a model, and around its answer where there are any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// Spellings of the mark that begins thinking; the first is the one that we write.
    pub starts: Vec<String>,
    /// Spellings of the mark that ends it; the first is the one that we write.
    pub ends: Vec<String>,
    /// Mark before the answer and mark behind it, where a family has them; an answer without them is taken as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerMarks>,
}

/// Marks around an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerMarks {
    pub open: String,
    pub close: String,
}

impl Marks {
    /// Marks of one spelling.
    pub fn new(start: &str, end: &str) -> Self {
        Self { starts: vec![start.to_owned()], ends: vec![end.to_owned()], answer: None }
    }

    /// Returns the text of a thinking that is over before it begins: what switches a model off that has no switch. Behind a
    /// prompt that is `opened` only its end is missing.
    pub fn empty_block(&self, opened: bool) -> String {
        let start = if opened { "" } else { self.start().trim_end_matches('\n') };
        let gap = self.gap();
        format!("{start}{gap}{}{gap}", self.end())
    }

    /// Returns `text` with the end mark: what ends a thinking that its model did not end.
    pub fn forced_end(&self, text: &str) -> String {
        format!("{text}{}{}", self.end(), self.gap())
    }

    /// Lines that a family writes behind its marks; families of special tokens write none.
    fn gap(&self) -> &'static str {
        if self.end().starts_with("</") { "\n\n" } else { "" }
    }

    /// The mark that begins thinking, as we write it.
    pub fn start(&self) -> &str {
        self.starts.first().map_or("", String::as_str)
    }

    /// The mark that ends thinking, as we write it.
    pub fn end(&self) -> &str {
        self.ends.first().map_or("", String::as_str)
    }

    /// Returns whether a text begins with a start mark, white space before it aside.
    pub fn begins(&self, text: &str) -> bool {
        self.starts.iter().any(|start| text.trim_start().starts_with(start.as_str()))
    }

    /// Returns whether `tail`, the part of a rendered prompt behind the last message, leaves thinking open.
    pub fn opened_by(&self, tail: &str) -> Opened {
        let last = |marks: &[String]| marks.iter().filter_map(|mark| Some(tail.rfind(mark.trim_end())? + 1)).max();
        match last(&self.starts) > last(&self.ends) {
            true => Opened::Yes,
            false => Opened::No,
        }
    }
}

/// State of thinking at the end of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// The prompt ends within thinking: the text begins with it.
    Yes,
    /// The text thinks if it begins with a start mark.
    No,
    /// The prompt was not seen: an end mark without a start closes what the prompt opened.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::super::FAMILIES;
    use super::*;

    #[test]
    fn a_prompt_opens_thinking_where_its_last_mark_is_a_start() {
        let marks = Marks::new("<think>", "</think>");
        for (tail, opened) in [
            ("<|im_start|>assistant\n", Opened::No),
            ("<|im_start|>assistant\n<think>\n", Opened::Yes),
            ("<|im_start|>assistant\n<think>\n\n</think>\n\n", Opened::No),
            ("</think>", Opened::No),
            ("</think><think>", Opened::Yes),
        ] {
            assert_eq!(marks.opened_by(tail), opened, "{tail:?}");
        }
    }

    #[test]
    fn an_empty_block_closes_what_it_opens() {
        for family in &FAMILIES {
            let marks = family.marks();
            assert_eq!(marks.opened_by(&marks.empty_block(false)), Opened::No, "{}", family.name);
            let opened = format!("{}{}", marks.start(), marks.empty_block(true));
            assert_eq!(marks.opened_by(&opened), Opened::No, "{}", family.name);
        }
        assert_eq!(Marks::new("<think>", "</think>").empty_block(false), "<think>\n\n</think>\n\n");
    }
}

//! Classes of an answer by what became of it, each with a reason why it may be wrong.

use super::repetition::repeats_itself;
use compass_postprocess::{FoundAnswer, FoundBy};
use compass_types::result::{Finish, Generation, ThinkingEnd};

/// Something that an answer may be. The first five exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum AnswerClass {
    /// Thinking met its budget and was closed for the model.
    Forced = 1,
    /// Tokens ran out within thinking.
    Unfinished = 1 << 1,
    /// The model ended within thinking.
    ThoughtOnly = 1 << 2,
    /// The answer met its length.
    Cut = 1 << 3,
    /// There is no text.
    Empty = 1 << 4,
    /// The model declines to answer.
    Refused = 1 << 5,
    /// The text repeats itself to its end.
    Looping = 1 << 6,
    /// `answer` finds nothing of the data set's kind.
    NotFound = 1 << 7,
    /// `answer` finds something that nothing announces.
    LastResort = 1 << 8,
    /// `answer` finds something that is no option, or of another kind.
    Outside = 1 << 9,
    /// The comparison with the gold answer is left open.
    Undecided = 1 << 10,
}

/// Characters within which a refusal stands.
const REFUSAL_CHARACTERS: usize = 300;

/// First words of sentences that decline to answer, in lower case.
const REFUSALS: [&str; 22] = [
    "i'm sorry, but i can",
    "i am sorry, but i can",
    "sorry, but i can't",
    "i can't assist",
    "i cannot assist",
    "i can't help with",
    "i cannot help with",
    "i can't provide",
    "i cannot provide",
    "i can't comply",
    "i cannot comply",
    "i'm unable to assist",
    "i am unable to assist",
    "i'm not able to help",
    "i must decline",
    "as an ai language model, i c",
    "抱歉，我无法",
    "抱歉，我不能",
    "对不起，我无法",
    "对不起，我不能",
    "我无法协助",
    "我无法提供",
];

impl AnswerClass {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Forced,
        Self::Unfinished,
        Self::ThoughtOnly,
        Self::Cut,
        Self::Empty,
        Self::Refused,
        Self::Looping,
        Self::NotFound,
        Self::LastResort,
        Self::Outside,
        Self::Undecided,
    ];

    /// Returns its name in documents, on pages and in queries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forced => "forced",
            Self::Unfinished => "unfinished",
            Self::ThoughtOnly => "thought_only",
            Self::Cut => "cut",
            Self::Empty => "empty",
            Self::Refused => "refused",
            Self::Looping => "looping",
            Self::NotFound => "not_found",
            Self::LastResort => "last_resort",
            Self::Outside => "outside",
            Self::Undecided => "undecided",
        }
    }

    /// Returns the class by the end of a generation.
    pub fn by_end(answer: &Generation) -> Option<Self> {
        let end = answer.thinking.as_ref().map(|thought| thought.end);
        match (end, answer.finish) {
            (Some(ThinkingEnd::Cut), _) => Some(Self::Unfinished),
            (Some(ThinkingEnd::Ended), _) => Some(Self::ThoughtOnly),
            _ if answer.text.trim().is_empty() => Some(Self::Empty),
            (Some(ThinkingEnd::Forced), _) => Some(Self::Forced),
            (_, Finish::Length) => Some(Self::Cut),
            _ => None,
        }
    }
}

/// The classes of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes(u16);

impl Classes {
    /// Returns the classes of an answer; `second` is the same as it is read a second time, where it is, and `is_undecided` is the
    /// evaluator's.
    pub fn new(answer: &Generation, second: Option<&Option<FoundAnswer>>, is_undecided: bool) -> Self {
        let end = AnswerClass::by_end(answer);
        let mut classes = Self(end.map_or(0, |class| class as u16));
        let is_unfinished = answer.is_unfinished();
        let last = match &answer.thinking {
            Some(thought) if is_unfinished => &thought.text,
            _ => &answer.text,
        };
        classes.add(AnswerClass::Looping, repeats_itself(last));
        if !is_unfinished && end != Some(AnswerClass::Empty) {
            classes.add(AnswerClass::Refused, is_refusal(&answer.text));
            if let Some(second) = second {
                classes.add_found(second.as_ref());
            }
            classes.add(AnswerClass::Undecided, is_undecided);
        }
        classes
    }

    fn add_found(&mut self, found: Option<&FoundAnswer>) {
        self.add(AnswerClass::NotFound, found.is_none());
        if let Some(found) = found {
            self.add(AnswerClass::LastResort, found.how == FoundBy::LastResort);
            self.add(AnswerClass::Outside, found.outside);
        }
    }

    fn add(&mut self, class: AnswerClass, is_so: bool) {
        self.0 |= if is_so { class as u16 } else { 0 };
    }

    /// Returns the classes of either.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether the answer is of a class.
    pub fn has(self, class: AnswerClass) -> bool {
        self.0 & class as u16 != 0
    }

    /// The classes one by one.
    pub fn iter(self) -> impl Iterator<Item = AnswerClass> {
        AnswerClass::ALL.into_iter().filter(move |class| self.has(*class))
    }
}

fn is_refusal(text: &str) -> bool {
    let begin: String = text.chars().take(REFUSAL_CHARACTERS).collect::<String>().to_lowercase().replace('’', "'");
    REFUSALS.iter().any(|refusal| begin.contains(refusal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_postprocess::{AnswerKind, Letters, answer};
    use compass_types::result::Thought;

    fn names(said: &Generation, kind: Option<&AnswerKind>) -> Vec<&'static str> {
        let second = kind.map(|kind| answer(&said.text, kind));
        Classes::new(said, second.as_ref(), false).iter().map(AnswerClass::name).collect()
    }

    fn said(text: &str) -> Generation {
        Generation::new(text, 2, Finish::Eos)
    }

    #[test]
    fn an_answer_is_of_the_classes_that_its_text_shows() {
        let letters = AnswerKind::Choice { options: Letters::new("ABCD").unwrap() };
        let loops = format!("So {}", "the answer is, the answer is, ".repeat(40));
        for (text, kind, expected) in [
            ("The answer is B.", Some(&letters), vec![]),
            ("No idea at all.", Some(&letters), vec!["not_found"]),
            ("No idea at all.", None, vec![]),
            ("first 12, then 7 apples", Some(&AnswerKind::Number), vec!["last_resort"]),
            ("The answer is F.", Some(&letters), vec!["outside"]),
            ("I’m sorry, but I can’t help with that.", None, vec!["refused"]),
            ("很抱歉，我无法回答这个问题。", None, vec!["refused"]),
            (&loops, None, vec!["looping"]),
            (" \n", Some(&letters), vec!["empty"]),
        ] {
            assert_eq!(names(&said(text), kind), expected, "{text}");
        }
        assert!(Classes::new(&said("x"), None, true).has(AnswerClass::Undecided));
        let cut = Generation::new("The answer is", 2, Finish::Length);
        assert_eq!(names(&cut, Some(&letters)), ["cut", "not_found"]);
    }

    #[test]
    fn of_a_thinking_that_did_not_end_its_own_text_counts() {
        let thinks = |text: &str, end| Generation {
            thinking: Some(Thought { text: text.to_owned(), tokens: 3, end }),
            ..Generation::new("", 0, Finish::Length)
        };
        let (loops, letters) = ("wait, no. ".repeat(90), AnswerKind::Number);
        assert_eq!(names(&thinks(&loops, ThinkingEnd::Cut), Some(&letters)), ["unfinished", "looping"]);
        assert_eq!(names(&thinks("so", ThinkingEnd::Ended), Some(&letters)), ["thought_only"]);
    }
}

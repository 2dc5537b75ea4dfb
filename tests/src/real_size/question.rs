//! A made-up question: its text for the echo engine, and the engine's answer.
//!
//! The engine's answers are hashes of the prompt, so a row's gold answer can be made right or wrong on purpose, and the score of
//! a data set follows without running anything.

use compass_types::ids::Digest;

/// Letters of the classes. Digests are written in lower case, so the only capital of an answer is the letter that ends the prompt.
const LETTERS: [&str; 4] = ["A", "B", "C", "D"];

/// Row `number` of the data set `abbr`.
#[derive(Clone, Debug)]
pub struct Question {
    pub number: u32,
    /// Prompt of a generation, or the text before the options.
    pub prompt: String,
    /// Column `q`: the prompt without the name of its data set.
    pub text: String,
    /// Text that the engine generates.
    pub answer: String,
    /// Last word of prompt and answer.
    pub letter: &'static str,
    /// Set if the gold answer is made to be right.
    pub is_right: bool,
}

impl Question {
    /// Two of three are to be answered rightly.
    pub fn new(abbr: &str, number: u32) -> Self {
        let letter = LETTERS[number as usize % 4];
        let text = format!("row {number} of it is {letter}");
        let prompt = format!("{abbr}: {text}");
        let answer = format!("{} {letter}", &Digest::of(prompt.as_bytes()).to_string()[..8]);
        Self { number, prompt, text, answer, letter, is_right: !number.is_multiple_of(3) }
    }

    /// The letter that the gold answer names: the answer's own, or the next one.
    pub fn gold_letter(&self) -> &'static str {
        let at = self.number as usize % 4 + usize::from(!self.is_right);
        LETTERS[at % 4]
    }

    /// The gold text: the answer itself, or a text that has nothing in common with it.
    pub fn gold_text(&self) -> String {
        if self.is_right { self.answer.clone() } else { "none".to_owned() }
    }

    /// Label of the option that is right by the gold answer.
    pub fn label(&self) -> u32 {
        self.number % 2
    }

    /// Texts of the two options, equally long, after the prompt.
    pub fn options(&self) -> [String; 2] {
        ["yes", "nay"].map(|option| format!("{} {option}", self.prompt))
    }

    /// The option that the engine finds likelier.
    pub fn chosen(&self) -> u32 {
        let [first, second] = self.options().map(|text| echo_nll(&text));
        u32::from(second < first)
    }
}

/// The echo engine's negative log-likelihood of a text.
pub(super) fn echo_nll(text: &str) -> f64 {
    let [a, b, c, d, ..] = Digest::of(text.as_bytes()).0;
    f64::from(u32::from_be_bytes([a, b, c, d])) / f64::from(1 << 24)
}

/// Returns the number of tokens that the echo engine counts in a text.
pub(super) fn echo_tokens(text: &str) -> u32 {
    text.chars().count() as u32 / 4 + 1
}

//! The 25 instructions of IFEval with their arguments.

/// Relation of a count to its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `less than`.
    LessThan,
    /// `at least`.
    AtLeast,
}

impl Relation {
    /// Returns whether `count` is in this relation to `threshold`.
    pub fn holds(self, count: usize, threshold: i64) -> bool {
        let count = count as i64;
        match self {
            Self::LessThan => count < threshold,
            Self::AtLeast => count >= threshold,
        }
    }
}

/// One instruction. The comment of each is its id.
#[derive(Clone, Debug, PartialEq)]
pub enum Instruction {
    /// `keywords:existence`: patterns that must all be found, in any case.
    KeywordExistence(Vec<String>),
    /// `keywords:frequency`: how often a pattern is found.
    KeywordFrequency { keyword: String, frequency: i64, relation: Relation },
    /// `keywords:forbidden_words`: patterns that must not be found as words.
    ForbiddenWords(Vec<String>),
    /// `keywords:letter_frequency`: how often a letter occurs, in either case.
    LetterFrequency { letter: char, frequency: i64, relation: Relation },
    /// `language:response_language`: an ISO 639-1 code.
    ResponseLanguage(String),
    /// `length_constraints:number_sentences`.
    NumberSentences { sentences: i64, relation: Relation },
    /// `length_constraints:number_paragraphs`, which `***` sets apart.
    NumberParagraphs(i64),
    /// `length_constraints:number_words`.
    NumberWords { words: i64, relation: Relation },
    /// `length_constraints:nth_paragraph_first_word`: paragraphs, which empty lines set apart, and the first word of one.
    NthParagraphFirstWord { paragraphs: i64, nth: i64, first_word: String },
    /// `detectable_content:number_placeholders`: at least so many `[...]`.
    NumberPlaceholders(i64),
    /// `detectable_content:postscript`: the marker that it begins with.
    Postscript(String),
    /// `detectable_format:number_bullet_lists`: exactly so many.
    NumberBulletLists(i64),
    /// `detectable_format:constrained_response`: yes, no or maybe.
    ConstrainedResponse,
    /// `detectable_format:number_highlighted_sections`: at least so many `*...*`.
    NumberHighlightedSections(i64),
    /// `detectable_format:multiple_sections`: at least so many, each begun by this word and a number.
    MultipleSections { splitter: String, sections: i64 },
    /// `detectable_format:json_format`.
    JsonFormat,
    /// `detectable_format:title`: some `<<...>>`.
    Title,
    /// `combination:two_responses`: two different ones, which `******` sets apart.
    TwoResponses,
    /// `combination:repeat_prompt`: the request comes first.
    RepeatPrompt(String),
    /// `startend:end_checker`: the phrase that comes last.
    EndPhrase(String),
    /// `change_case:capital_word_frequency`.
    CapitalWordFrequency { frequency: i64, relation: Relation },
    /// `change_case:english_capital`.
    EnglishCapital,
    /// `change_case:english_lowercase`.
    EnglishLowercase,
    /// `punctuation:no_comma`.
    NoComma,
    /// `startend:quotation`.
    Quotation,
}

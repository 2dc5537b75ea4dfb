//! Instructions out of the rows of the data set.

use super::kind::{Instruction, Relation};
use super::language::is_told;
use crate::text::strip;
use serde_json::{Map, Value};

/// Reason why an instruction cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstructionError {
    /// No such id.
    #[error("unknown instruction {0:?}; IFEval has 25, such as \"keywords:existence\"")]
    Unknown(String),
    /// The language is not one that the detector knows.
    #[error("no detector here tells the language {0:?} from others: whether the answer is in it stays undecided")]
    Untold(String),
    /// The row lacks an argument; lm-eval would draw one at random, and score against that.
    #[error("instruction {id:?} needs the argument {argument:?}")]
    Missing {
        /// The instruction.
        id: String,
        /// Its argument.
        argument: &'static str,
    },
}

struct Arguments<'a> {
    id: &'a str,
    values: &'a Map<String, Value>,
}

impl Arguments<'_> {
    fn missing(&self, argument: &'static str) -> InstructionError {
        InstructionError::Missing { id: self.id.into(), argument }
    }

    /// A number; nought counts as absent, as lm-eval drops what is false.
    fn number(&self, name: &'static str) -> Result<i64, InstructionError> {
        let value = self.values.get(name);
        let number = value.and_then(|value| value.as_i64().or_else(|| value.as_f64().map(|float| float.ceil() as i64)));
        number.filter(|&number| number > 0).ok_or_else(|| self.missing(name))
    }

    fn text(&self, name: &'static str) -> Result<String, InstructionError> {
        let text = self.values.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.map(String::from).ok_or_else(|| self.missing(name))
    }

    fn stripped(&self, name: &'static str) -> Result<String, InstructionError> {
        Ok(strip(&self.text(name)?).into())
    }

    fn texts(&self, name: &'static str) -> Result<Vec<String>, InstructionError> {
        let items = self.values.get(name).and_then(Value::as_array).filter(|items| !items.is_empty());
        let texts = items.map(|items| items.iter().filter_map(Value::as_str).map(String::from).collect());
        texts.ok_or_else(|| self.missing(name))
    }

    fn relation(&self, name: &'static str) -> Result<Relation, InstructionError> {
        match self.text(name)?.as_str() {
            "less than" => Ok(Relation::LessThan),
            "at least" => Ok(Relation::AtLeast),
            _ => Err(self.missing(name)),
        }
    }
}

impl Instruction {
    /// The instruction `id` with the arguments of its row (`kwargs`); null and false arguments are as if absent.
    ///
    /// # Errors
    /// An id that IFEval does not have, an argument that is absent or not of its kind, and a language that cannot be told.
    pub fn parse(id: &str, kwargs: &Map<String, Value>) -> Result<Self, InstructionError> {
        let args = Arguments { id, values: kwargs };
        Ok(match id {
            "keywords:existence" => Self::KeywordExistence(args.texts("keywords")?),
            "keywords:frequency" => Self::KeywordFrequency {
                keyword: args.stripped("keyword")?,
                frequency: args.number("frequency")?,
                relation: args.relation("relation")?,
            },
            "keywords:forbidden_words" => Self::ForbiddenWords(args.texts("forbidden_words")?),
            "keywords:letter_frequency" => Self::LetterFrequency {
                letter: args.text("letter")?.to_lowercase().chars().next().ok_or_else(|| args.missing("letter"))?,
                frequency: args.number("let_frequency")?,
                relation: args.relation("let_relation")?,
            },
            "language:response_language" => {
                let language = args.text("language")?;
                if !is_told(&language) {
                    return Err(InstructionError::Untold(language));
                }
                Self::ResponseLanguage(language)
            }
            "length_constraints:number_sentences" => {
                Self::NumberSentences { sentences: args.number("num_sentences")?, relation: args.relation("relation")? }
            }
            "length_constraints:number_paragraphs" => Self::NumberParagraphs(args.number("num_paragraphs")?),
            "length_constraints:number_words" => {
                Self::NumberWords { words: args.number("num_words")?, relation: args.relation("relation")? }
            }
            "length_constraints:nth_paragraph_first_word" => Self::NthParagraphFirstWord {
                paragraphs: args.number("num_paragraphs")?,
                nth: args.number("nth_paragraph")?,
                first_word: args.text("first_word")?.to_lowercase(),
            },
            "detectable_content:number_placeholders" => Self::NumberPlaceholders(args.number("num_placeholders")?),
            "detectable_content:postscript" => Self::Postscript(args.stripped("postscript_marker")?),
            "detectable_format:number_bullet_lists" => Self::NumberBulletLists(args.number("num_bullets")?),
            "detectable_format:constrained_response" => Self::ConstrainedResponse,
            "detectable_format:number_highlighted_sections" => {
                Self::NumberHighlightedSections(args.number("num_highlights")?)
            }
            "detectable_format:multiple_sections" => Self::MultipleSections {
                splitter: args.stripped("section_spliter")?,
                sections: args.number("num_sections")?,
            },
            "detectable_format:json_format" => Self::JsonFormat,
            "detectable_format:title" => Self::Title,
            "combination:two_responses" => Self::TwoResponses,
            "combination:repeat_prompt" => Self::RepeatPrompt(args.text("prompt_to_repeat")?),
            "startend:end_checker" => Self::EndPhrase(args.stripped("end_phrase")?),
            "change_case:capital_word_frequency" => Self::CapitalWordFrequency {
                frequency: args.number("capital_frequency")?,
                relation: args.relation("capital_relation")?,
            },
            "change_case:english_capital" => Self::EnglishCapital,
            "change_case:english_lowercase" => Self::EnglishLowercase,
            "punctuation:no_comma" => Self::NoComma,
            "startend:quotation" => Self::Quotation,
            _ => return Err(InstructionError::Unknown(id.into())),
        })
    }
}

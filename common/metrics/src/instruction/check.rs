//! From an instruction to its rule.

use super::kind::Instruction;
use super::language::speaks;
use super::text_rules::{is_lower, is_upper};
use super::{format, punkt, text_rules, word_tokenizer};
use crate::text::strip;
use compass_pyfmt::is_word;

impl Instruction {
    /// Returns whether a response that is not blank follows the instruction (lm-eval's `check_following`).
    pub fn check(&self, response: &str) -> bool {
        match self {
            Self::KeywordExistence(keywords) => keywords.iter().all(|keyword| text_rules::count(keyword, response) > 0),
            Self::KeywordFrequency { keyword, frequency, relation } => {
                relation.holds(text_rules::count(keyword, response), *frequency)
            }
            Self::ForbiddenWords(words) => !words.iter().any(|word| text_rules::has_word(word, response)),
            Self::LetterFrequency { letter, frequency, relation } => {
                relation.holds(response.to_lowercase().chars().filter(|c| c == letter).count(), *frequency)
            }
            Self::ResponseLanguage(code) => speaks(response, code),
            Self::NumberSentences { sentences, relation } => {
                relation.holds(punkt::sentences(response).len(), *sentences)
            }
            Self::NumberParagraphs(paragraphs) => format::paragraphs(response) == Some(*paragraphs),
            Self::NumberWords { words, relation } => {
                let count = response.split(|c| !is_word(c)).filter(|word| !word.is_empty()).count();
                relation.holds(count, *words)
            }
            Self::NthParagraphFirstWord { paragraphs, nth, first_word } => {
                format::nth_paragraph(response, *paragraphs, *nth, first_word)
            }
            Self::NumberPlaceholders(least) => format::placeholders(response) >= *least,
            Self::Postscript(marker) => format::postscript(response, marker),
            Self::NumberBulletLists(bullets) => format::bullets(response) == *bullets,
            Self::ConstrainedResponse => {
                let options = ["My answer is yes.", "My answer is no.", "My answer is maybe."];
                options.iter().any(|option| response.contains(option))
            }
            Self::NumberHighlightedSections(least) => format::highlights(response) >= *least,
            Self::MultipleSections { splitter, sections } => format::sections(response, splitter) >= *sections,
            Self::JsonFormat => text_rules::is_json(response),
            Self::Title => format::has_title(response),
            Self::TwoResponses => format::two_responses(response),
            Self::RepeatPrompt(prompt) => strip(response).to_lowercase().starts_with(&strip(prompt).to_lowercase()),
            Self::EndPhrase(phrase) => {
                strip(response).trim_matches('"').to_lowercase().ends_with(&phrase.to_lowercase())
            }
            Self::CapitalWordFrequency { frequency, relation } => {
                let words = word_tokenizer::word_tokenize(response);
                relation.holds(words.iter().filter(|word| is_upper(word)).count(), *frequency)
            }
            Self::EnglishCapital => is_upper(response) && speaks(response, "en"),
            Self::EnglishLowercase => is_lower(response) && speaks(response, "en"),
            Self::NoComma => !response.contains(','),
            Self::Quotation => {
                let response = strip(response);
                response.len() > 1 && response.starts_with('"') && response.ends_with('"')
            }
        }
    }
}

//! The filters and their parameters.

use crate::Pattern;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One step of a pipeline, by lm-eval's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// The match of a pattern in each response.
    Regex(Selector),
    /// The letter of the option that each response names.
    MultiChoiceRegex(MultiChoice),
    /// The tags of a response that lists pairs of token and part of speech; the fallback where it lists none.
    RegexPos {
        fallback: Vec<String>,
    },
    /// The named entities of each response as `label: value $ label: value`.
    FormatSpan,
    /// Each response without white space at its ends.
    RemoveWhitespace,
    Lowercase,
    Uppercase,
    /// The value of each response in a table, `default` for responses not listed.
    Map {
        mapping: Map<String, Value>,
        default: Value,
    },
    /// The most frequent response, the first seen of equals, as a list of one.
    MajorityVote,
    /// The first response alone.
    TakeFirst,
    /// The first `k` responses.
    TakeFirstK {
        k: usize,
    },
}

/// Selection of a match of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selector {
    pub pattern: Pattern,
    /// The place among all matches, from 0; from -1 when counted from the last.
    pub group_select: i64,
    /// Result for a response without a match.
    pub fallback: String,
}

/// Search for the letter of an option: by the pattern, else by the option's text, else by `: A`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MultiChoice {
    pub selector: Selector,
    pub ignore_case: bool,
    /// Characters of the Unicode categories P.
    pub ignore_punctuation: bool,
    /// Removed from both sides before texts of options are looked for.
    pub regexes_to_ignore: Vec<Pattern>,
}

//! Options out of an answer: `first_option_postprocess` with its whole list of patterns, and the last letter.

use super::pattern::constant;
use compass_pyfmt::strip;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

/// The letters of the options of a question, for example `ABCD`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Letters(String);

/// A text that is not a list of letters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("options are letters or digits such as \"ABCD\", not `{0}`")]
pub struct LettersError(String);

/// The first option that an answer names: OpenCompass's `first_option_postprocess`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Parameters", into = "Parameters")]
pub struct FirstOption {
    parameters: Parameters,
    patterns: Arc<[regex::Regex]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Parameters {
    options: Letters,
    cushion: bool,
}

impl Letters {
    /// As characters of the options in their order.
    pub fn new(letters: impl Into<String>) -> Result<Self, LettersError> {
        let letters = letters.into();
        if letters.is_empty() || !letters.chars().all(char::is_alphanumeric) {
            return Err(LettersError(letters));
        }
        Ok(Self(letters))
    }

    /// The letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FirstOption {
    /// For these options; with `cushion` any letter is taken in the end, at any place.
    pub fn new(options: Letters, cushion: bool) -> Self {
        Parameters { options, cushion }.into()
    }

    /// The letters of the options.
    pub fn letters(&self) -> &str {
        self.parameters.options.as_str()
    }

    /// The option that the first pattern finds in the stripped text. Where a pattern's group holds none of the options,
    /// the next pattern is tried; empty when all fail.
    pub fn apply(&self, text: &str) -> String {
        let text = strip(text);
        let options = self.parameters.options.as_str();
        let named = |pattern: &regex::Regex| {
            let found = pattern.captures(text)?;
            let group = found.get(1).map_or("", |group| group.as_str());
            let whole = found.get(0).map_or("", |whole| whole.as_str());
            let output = if group.is_empty() { whole } else { group };
            options.chars().find(|&option| output.contains(option))
        };
        self.patterns.iter().find_map(named).map(String::from).unwrap_or_default()
    }
}

impl PartialEq for FirstOption {
    fn eq(&self, other: &Self) -> bool {
        self.parameters == other.parameters
    }
}

impl Eq for FirstOption {}

impl From<Parameters> for FirstOption {
    fn from(parameters: Parameters) -> Self {
        let Ok(mut compiled) = COMPILED.lock() else { return Self { patterns: compile(&parameters), parameters } };
        if compiled.len() >= MOST_COMPILED {
            compiled.clear();
        }
        let key = (parameters.options.0.clone(), parameters.cushion);
        let patterns = compiled.entry(key).or_insert_with(|| compile(&parameters));
        Self { patterns: Arc::clone(patterns), parameters }
    }
}

type Compiled = BTreeMap<(String, bool), Arc<[regex::Regex]>>;

/// Patterns by the letters and the cushion that they are for. Compiling them takes milliseconds, and an evaluation has the same
/// ones for dozens of data sets.
static COMPILED: Mutex<Compiled> = Mutex::new(BTreeMap::new());
/// Most of them that are kept.
const MOST_COMPILED: usize = 64;

fn compile(parameters: &Parameters) -> Arc<[regex::Regex]> {
    let cushion: &[&str] = if parameters.cushion { &CUSHION } else { &[] };
    let set = format!("[{}]", parameters.options.as_str());
    let one = |pattern: &&str| constant(&format!("(?s){}", pattern.replace('@', &set)));
    PATTERNS.iter().chain(cushion).map(one).collect()
}

impl From<FirstOption> for Parameters {
    fn from(option: FirstOption) -> Self {
        option.parameters
    }
}

impl TryFrom<String> for Letters {
    type Error = LettersError;

    fn try_from(letters: String) -> Result<Self, LettersError> {
        Self::new(letters)
    }
}

impl From<Letters> for String {
    fn from(letters: Letters) -> Self {
        letters.0
    }
}

/// OpenCompass's `last_option_postprocess`: the last of the options in the text; empty without one.
pub fn last_option(text: &str, options: &Letters) -> String {
    text.chars().rev().find(|&c| options.as_str().contains(c)).map(String::from).unwrap_or_default()
}

/// OpenCompass's `GPQA_Simple_Eval_postprocess`: the letter A to D after `ANSWER:` in any case, `None` without one.
pub fn gpqa(text: &str) -> Option<String> {
    static ANSWER: LazyLock<regex::Regex> = LazyLock::new(|| constant(r"(?i)ANSWER\s*:\s*([A-D])"));
    ANSWER.captures(text).map(|found| found[1].to_owned())
}

/// The patterns of OpenCompass 0.5.4 in their order; `@` is the set of options. The second of the pair from the line of
/// `故选` on is glued to it, as in the original, where a comma is missing.
#[rustfmt::skip]
const PATTERNS: [&str; 50] = [
    r"答案是?\s*(@)", r"答案是?\s*：\s*(@)", r"答案是?\s*:\s*(@)", r"答案选项应?该?是\s*(@)", r"答案选项应?该?为\s*(@)",
    r"答案应该?是\s*(@)", r"答案应该?选\s*(@)", r"答案选项为?\s*：\s*(@)", r"答案选项为?\s+\(?\*?\*?(@)\*?\*?\)?",
    r"答案选项是?\s*:\s*(@)", r"答案为\s*(@)", r"答案选\s*(@)", r"选择?\s*(@)",
    r"故选?\s*(@)只有选?项?\s?(@)\s?是?对", r"只有选?项?\s?(@)\s?是?错",
    r"只有选?项?\s?(@)\s?不?正确", r"只有选?项?\s?(@)\s?错误", r"说法不?对选?项?的?是\s?(@)", r"说法不?正确选?项?的?是\s?(@)",
    r"说法错误选?项?的?是\s?(@)", r"(@)\s?是正确的", r"(@)\s?是正确答案", r"选项\s?(@)\s?正确", r"所以答\s?(@)",
    r"所以\s?(@[.。$]?$)", r"所有\s?(@[.。$]?$)", r"[\s，：:,](@)[。，,\.]?$", r"[\s，,：:][故即](@)[。\.]?$",
    r"[\s，,：:]因此(@)[。\.]?$", r"[是为。]\s?(@)[。\.]?$", r"因此\s?(@)[。\.]?$", r"显然\s?(@)[。\.]?$",
    r"答案是\s?(\S+)(?:。|$)", r"答案应该是\s?(\S+)(?:。|$)", r"答案为\s?(\S+)(?:。|$)", r"(?i)ANSWER\s*:\s*(@)",
    r"[Tt]he answer is:?\s+\(?(@)\)?", r"[Tt]he answer is:?\s+\(?\*?\*?(@)\*?\*?\)?",
    r"[Tt]he answer is option:?\s+\(?(@)\)?", r"[Tt]he correct answer is:?\s+\(?(@)\)?",
    r"[Tt]he correct answer is option:?\s+\(?(@)\)?", r"[Tt]he correct answer is:?.*?boxed{(@)}",
    r"[Tt]he correct option is:?.*?boxed{(@)}", r"[Tt]he correct answer option is:?.*?boxed{(@)}",
    r"[Tt]he answer to the question is:?\s+\(?(@)\)?", r"^选项\s?(@)", r"^(@)\s?选?项",
    r"(\s|^)@[\s。，,：:\.$]", r"1.\s?(.*?)$", r"1.\s?(@)[.。$]?$",
];

/// Tried after the others: a letter before a colon, any letter.
const CUSHION: [&str; 2] = [r"(@):", r"(@)"];

//! Texts of words drawn at random: among them placeholders, an ice token, line ends and blanks, which templates must not stumble
//! over.

use compass_types::seeded::Rng;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const WORDS: [&str; 34] = [
    "amber",
    "basin",
    "{question}",
    "cedar",
    "delta",
    "ember's",
    "\"fjord\"",
    "grove",
    "{idx}",
    "harbor",
    "inlet",
    "—",
    "jade",
    "ñandú",
    "河流",
    "kettle",
    "{A}",
    "lagoon",
    "meadow;",
    "north;",
    "3.14",
    "oak",
    "{answer}",
    "plum",
    "quartz",
    "river",
    "</E>",
    "stone_",
    "tidal",
    "{{umber}}",
    "vale",
    "\\n",
    "willow",
    "<|im_end|>",
];
const PLAIN: [&str; 10] = ["amber", "basin", "cedar", "delta", "grove", "harbor", "河流", "north", "quartz", "willow"];
const BOXED: [&str; 6] = ["7", "-3", "0.5", "\\frac{1}{2}", "x+1", "(2, 3]"];
const ENDS: [&str; 7] = ["", "", " ", "?", ".", "\t", "\n"];

/// Draws for one file.
pub(super) struct Draw {
    rng: Rng,
    /// Number of times that each `$each` was drawn.
    turns: BTreeMap<String, usize>,
}

impl Draw {
    pub(super) fn new(name: &str) -> Self {
        let seed = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self { rng: Rng::new(seed), turns: BTreeMap::new() }
    }

    fn of<'t>(&mut self, words: &[&'t str]) -> &'t str {
        let at = self.rng.below(words.len() as u64) as usize;
        words.get(at).copied().unwrap_or_default()
    }

    fn text(&mut self) -> String {
        let count = 1 + self.rng.below(6);
        let words: Vec<&str> = (0..count).map(|_| self.of(&WORDS)).collect();
        // Files of lines and of tables are read by line here.
        words.join(" ") + self.of(&ENDS)
    }

    fn plain(&mut self) -> String {
        let count = 1 + self.rng.below(3);
        (0..count).map(|_| self.of(&PLAIN)).collect::<Vec<_>>().join(" ")
    }

    /// A value of a shape; see [`super::shape`].
    pub(super) fn value(&mut self, shape: &Value) -> Value {
        match shape {
            // One shape of an item stands for several.
            Value::Array(items) if items.len() == 1 && items.iter().all(is_drawn) => {
                (0..4).filter_map(|_| items.first().map(|item| self.value(item))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let there = map.iter().filter(|(_, shape)| *shape != "$absent");
                let pairs = there.map(|(key, shape)| (key.clone(), self.value(shape)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            Value::String(token) => self.token(token),
            other => other.clone(),
        }
    }

    fn token(&mut self, token: &str) -> Value {
        let (name, rest) = token.split_once(':').unwrap_or((token, ""));
        match name {
            "$text" => self.text().into(),
            "$word" => self.plain().into(),
            "$letter" => self.of(&["A", "B", "C", "D"]).into(),
            "$int" => {
                let (low, high) = rest.split_once(':').unwrap_or(("0", "1"));
                let (low, high): (i64, i64) = (low.parse().unwrap_or(0), high.parse().unwrap_or(1));
                (low + self.rng.below((high - low + 1).unsigned_abs()) as i64).into()
            }
            "$any" => told(self.of(&rest.split('|').collect::<Vec<_>>())),
            "$each" => {
                let values: Vec<&str> = rest.split('|').collect();
                let turn = self.turns.entry(rest.to_owned()).or_default();
                *turn += 1;
                told(values.get((*turn - 1) % values.len()).copied().unwrap_or_default())
            }
            "$many" => (0..8).map(|_| Value::from(self.text())).collect(),
            "$texts" => (0..4).map(|_| Value::from(self.text())).collect(),
            "$list" => format!("['{}', '{}']", self.plain(), self.plain()).into(),
            "$parts" => format!("{}{rest}{}{rest}{}", self.plain(), self.plain(), self.plain()).into(),
            // A solution that ends with its answer in a box.
            "$boxed" => format!("{} $\\boxed{{{}}}$.", self.plain(), self.of(&BOXED)).into(),
            // A sentence with one blank to fill.
            "$gap" => format!("{} _ {}", self.plain(), self.plain()).into(),
            _ => token.into(),
        }
    }
}

/// A value as Python writes it: a truth value, or a text.
fn told(text: &str) -> Value {
    match text {
        "True" => true.into(),
        "False" => false.into(),
        text => text.into(),
    }
}

/// Returns whether several values of this shape differ.
fn is_drawn(shape: &Value) -> bool {
    match shape {
        Value::String(token) => token.starts_with('$'),
        Value::Object(map) => map.values().any(is_drawn),
        Value::Array(items) => items.iter().any(is_drawn),
        _ => false,
    }
}

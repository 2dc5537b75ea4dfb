//! Contents of the gold answer beside the answer itself, for an evaluator that runs programs or compares options.

use super::EvaluatorSpec;
use serde_json::{Map, Value};

/// Key of the task's name in a gold answer that is a table, as in the rows of HumanEval and MBPP.
pub const TASK_KEY: &str = "task_id";
/// Key of the answer itself in a gold answer of CircularEval.
pub const CIRCULAR_ANSWER: &str = "answer";
/// Column and key of the gold answer: the question that a row asks in one of several orders of its options.
pub const CIRCULAR_QUESTION: &str = "qid";
/// The order in which a row has the options of its question; a column and a key of the gold answer.
pub const CIRCULAR_PATTERN: &str = "circular_pattern";
/// The order of the data set's first row: what CircularEval calls the original one.
pub const CIRCULAR_FIRST: &str = "first_pattern";

impl EvaluatorSpec {
    /// Returns whether it must run what a model wrote.
    pub fn executes(&self) -> bool {
        matches!(self, Self::HumanEval { .. } | Self::Mbpp { .. } | Self::MbppPassK { .. })
    }

    /// Columns of a row that an answer is judged by beside the gold one, such as the tests of a program; they stand in the gold
    /// answer.
    pub fn beside_gold(&self) -> &'static [&'static str] {
        match self {
            Self::HumanEval { .. } => &["prompt", "test", "entry_point"],
            Self::CircularEval { .. } => &[CIRCULAR_QUESTION, CIRCULAR_PATTERN],
            _ => &[],
        }
    }

    /// The gold answer with these columns of its row, and with those of the first row that count for all.
    #[must_use]
    pub fn gold_with<'r>(
        &self,
        gold: Value,
        row: &'r Map<String, Value>,
        first: Option<&'r Map<String, Value>>,
    ) -> Value {
        let is_circular = matches!(self, Self::CircularEval { .. });
        let key = if is_circular { CIRCULAR_ANSWER } else { TASK_KEY };
        let mut whole = Map::from_iter([(key.to_owned(), gold)]);
        let columns = self.beside_gold().iter().filter_map(|column| row.get_key_value(*column));
        whole.extend(columns.map(|(name, value)| (name.clone(), value.clone())));
        if let Some(pattern) = first.filter(|_| is_circular).and_then(|first| first.get(CIRCULAR_PATTERN)) {
            whole.insert(CIRCULAR_FIRST.to_owned(), pattern.clone());
        }
        Value::Object(whole)
    }

    /// Returns the part of the gold answer that predictions show: all, but where it carries the parts of a program, only
    /// the task's name.
    pub fn reference<'a>(&self, gold: &'a Value) -> &'a Value {
        match self {
            Self::HumanEval { .. } => gold.get(TASK_KEY).unwrap_or(gold),
            Self::OptionSimAcc { .. } | Self::CircularEval { .. } => gold.get("answer").unwrap_or(gold),
            _ => gold,
        }
    }
}

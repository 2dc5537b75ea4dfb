//! What an evaluator that runs programs, or compares options, keeps in the gold answer beside the answer itself.

use super::EvaluatorSpec;
use serde_json::{Map, Value};

/// Key of the task's name in a gold answer that is a table, as in the rows of HumanEval and MBPP.
pub const TASK_KEY: &str = "task_id";

impl EvaluatorSpec {
    /// Whether it must run what a model wrote.
    pub fn executes(&self) -> bool {
        matches!(self, Self::HumanEval { .. } | Self::Mbpp { .. } | Self::MbppPassK { .. })
    }

    /// Columns of a row that a program is made of beside the answer; they stand in the gold answer.
    pub fn program_columns(&self) -> &'static [&'static str] {
        match self {
            Self::HumanEval { .. } => &["prompt", "test", "entry_point"],
            _ => &[],
        }
    }

    /// The gold answer with the columns that a program is made of, and the answer itself as `task_id`.
    #[must_use]
    pub fn gold_with(&self, gold: Value, columns: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
        let mut whole = Map::from_iter([(TASK_KEY.to_owned(), gold)]);
        whole.extend(columns.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Value::Object(whole)
    }

    /// What of the gold answer predictions show: all, but where it carries the parts of a program, only the task's name.
    pub fn reference<'a>(&self, gold: &'a Value) -> &'a Value {
        match self {
            Self::HumanEval { .. } => gold.get(TASK_KEY).unwrap_or(gold),
            Self::OptionSimAcc { .. } => gold.get("answer").unwrap_or(gold),
            _ => gold,
        }
    }
}

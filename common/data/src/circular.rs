//! A row in several orders of its options: OpenCompass's `CircularDatasetMeta.make_circular_items`.

use crate::Row;
use crate::json_lines::kind_of;
use compass_pyfmt::python_str;
use compass_settings::CircularConfig;
use serde_json::Value;

/// Orders of options ready to be given to rows.
#[derive(Debug)]
pub(crate) struct Rotation<'s> {
    config: &'s CircularConfig,
    /// One order for each row that is made of a row: the position of the option that each option becomes.
    orders: Vec<Vec<usize>>,
}

impl<'s> Rotation<'s> {
    pub(crate) fn new(config: &'s CircularConfig) -> Self {
        let positions: Vec<usize> = (0..config.options.len()).collect();
        Self { config, orders: config.patterns.of(&positions) }
    }

    /// The rows of question `number`, counted from 0 among those that the split has.
    ///
    /// # Errors
    /// In words: the row lacks an option or the answer, or the answer says none of `answers`.
    pub(crate) fn rows(&self, row: &Row, number: usize) -> Result<Vec<Row>, String> {
        let CircularConfig { options, answer, answers, .. } = self.config;
        let missing = |column: &String| format!("there is no `{column}`, which `circular` names");
        let values: Vec<&Value> =
            options.iter().map(|column| row.get(column).ok_or_else(|| missing(column))).collect::<Result<_, _>>()?;
        let gold = row.get(answer).ok_or_else(|| missing(answer))?;
        let said = if answers.is_empty() { options } else { answers };
        let at = gold.as_str().and_then(|gold| said.iter().position(|one| one == gold));
        if at.is_none() && !answers.is_empty() {
            let found = if gold.is_string() { format!("`{}`", python_str(gold)) } else { kind_of(gold).to_owned() };
            return Err(format!("`{answer}` is {found}, which is not among the `answers` of `circular`"));
        }
        let one = |order: &Vec<usize>| {
            let mut one = row.clone();
            for (to, value) in order.iter().zip(&values) {
                one.insert(options[*to].clone(), (*value).clone());
            }
            if let Some(at) = at {
                one.insert(answer.clone(), said[order[at]].as_str().into());
            }
            one.insert("qid".to_owned(), number.into());
            let pattern: Vec<Value> = order.iter().map(|to| options[*to].as_str().into()).collect();
            one.insert("circular_pattern".to_owned(), pattern.into());
            one
        };
        Ok(self.orders.iter().map(one).collect())
    }
}

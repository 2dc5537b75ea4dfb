//! Writes shots and keeps each distinct one once.

use super::answers;
use super::check;
use super::error::{RowErrors, Split};
use super::form::{Form, Forms};
use super::format::{Row, fill, safe_format};
use super::labels::{GoldKind, find};
use super::recipe::ShotRecipe;
use super::shot::Shot;
use super::template::PromptConfig;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// The shots of a data set while they are being collected.
pub(super) struct ShotBook<'a> {
    pub(super) shot: &'a ShotRecipe<'a>,
    pub(super) config: &'a PromptConfig,
    /// Whether the prompt says where shots go; otherwise each brings `fewshot_delimiter` along.
    pub(super) has_token: bool,
    pub(super) output_column: Option<&'a str>,
    /// Columns without which a training row cannot be shown.
    pub(super) used: BTreeSet<&'a str>,
    pub(super) train: &'a [Row],
    /// Per training row its shot; `None` when it has been reported as wrong.
    pub(super) written: HashMap<u32, Option<Shot>>,
    /// Distinct shots, and where each stands.
    pub(super) shots: Vec<Shot>,
    pub(super) positions: HashMap<Shot, u32>,
}

impl ShotBook<'_> {
    /// Positions of the shots of one test row; `None` when one of them is wrong.
    ///
    /// OpenCompass puts shots into the template before it formats it, so placeholders that a shot happens to contain are
    /// filled from the test row. Answered shots are lm-eval's: they are left alone.
    pub(super) fn place(
        &mut self,
        ids: &[u32],
        row: &Row,
        blank: Option<&str>,
        errors: &mut RowErrors,
    ) -> Option<Vec<u32>> {
        let mut places = Vec::with_capacity(ids.len());
        for &id in ids {
            if !self.written.contains_key(&id) {
                let shot = self.write(id).map_err(|message| errors.add(Split::Train, id as usize, message)).ok();
                self.written.insert(id, shot);
            }
            let shot = self.written.get(&id)?.as_ref()?;
            let shot = match self.shot {
                ShotRecipe::Template(_) => {
                    shot.map(&|text| if text.contains('{') { fill(text, row, blank) } else { text.to_owned() })
                }
                ShotRecipe::Answered { .. } => shot.clone(),
            };
            let next = self.shots.len() as u32;
            let place = *self.positions.entry(shot).or_insert_with_key(|shot| {
                self.shots.push(shot.clone());
                next
            });
            places.push(place);
        }
        Some(places)
    }

    fn write(&self, id: u32) -> Result<Shot, String> {
        let row = self.train.get(id as usize).ok_or("is not in the pool")?;
        if let Some(message) = check::missing(row, &self.used) {
            return Err(message);
        }
        match self.shot {
            ShotRecipe::Template(Forms::One(form)) => Ok(self.shown(form, row)),
            ShotRecipe::Template(Forms::Labels(map)) => Ok(self.shown(find(map, self.gold(row)?)?, row)),
            ShotRecipe::Answered { context, options } => {
                let answers = answers::read(options, row, self.gold(row)?, GoldKind::Mixed)?;
                let answer = answers.all.get(answers.gold).map_or("", |answer| &answer.text);
                let end = if self.has_token { "" } else { &self.config.fewshot_delimiter };
                // What stands before the ice token introduces the whole prompt, not every shot.
                let context = if self.has_token {
                    context.rsplit_once(&self.config.ice_token).map_or(*context, |(_, after)| after)
                } else {
                    *context
                };
                let context = safe_format(context, row);
                Ok(Shot::Text(format!("{context}{}{answer}{end}", self.config.target_delimiter)))
            }
        }
    }

    fn gold<'r>(&self, row: &'r Row) -> Result<&'r Value, String> {
        gold_of(row, self.output_column)
    }

    fn shown(&self, form: &Form<'_>, row: &Row) -> Shot {
        form.shot(row, &self.config.ice_token)
    }
}

/// The gold answer of a row.
///
/// # Errors
/// In words, when no column is named or the row lacks it.
pub(super) fn gold_of<'r>(row: &'r Row, output_column: Option<&str>) -> Result<&'r Value, String> {
    let column = output_column.ok_or("has no gold answer: name the column in `reader_cfg.output_column`")?;
    row.get(column).ok_or_else(|| format!("has no column `{column}`, where `output_column` looks for the gold answer"))
}

//! Writes shots and keeps each distinct one once.

use super::answers;
use super::boundary;
use super::check;
use super::error::{RowErrors, Split};
use super::form::{Form, Forms};
use super::format::{Row, fill};
use super::gold::Gold;
use super::labels::{GoldKind, find};
use super::recipe::ShotRecipe;
use super::row_source::RowSource;
use super::shot::{AnsweredShot, Shot};
use super::template::PromptConfig;
use std::collections::{BTreeSet, HashMap};

/// The shots of a data set while they are being collected.
pub(super) struct ShotBook<'a> {
    pub(super) shot: &'a ShotRecipe<'a>,
    pub(super) config: &'a PromptConfig,
    /// Set if the prompt says where shots go; otherwise each brings `fewshot_delimiter` along.
    pub(super) has_token: bool,
    pub(super) gold: Gold<'a>,
    /// Columns without which a training row cannot be shown.
    pub(super) used: BTreeSet<&'a str>,
    pub(super) train: &'a dyn RowSource,
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
                ShotRecipe::Template(forms) if !forms.all().iter().any(|form| form.is_raw() || form.is_jinja()) => {
                    shot.map(&|text| if text.contains('{') { fill(text, row, blank) } else { text.to_owned() })
                }
                _ => shot.clone(),
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
        let row = self.train.row(id as usize).ok_or("is not in the pool")?;
        let row = &*row;
        if let Some(message) = check::missing(row, &self.used) {
            return Err(message);
        }
        let token = &self.config.ice_token;
        match self.shot {
            ShotRecipe::Template(Forms::One(form)) => form.shot(row, token),
            ShotRecipe::Template(Forms::Labels(map)) => {
                let gold = self.gold.of(row)?;
                find(map, &gold)?.shot(row, token)
            }
            ShotRecipe::Answered { context, options } => {
                let gold = self.gold.of(row)?;
                let answers = answers::read(options, row, &gold, GoldKind::Mixed)?;
                // Of several right ones the first.
                let answer =
                    answers.golds.first().and_then(|&at| answers.all.get(at)).map_or("", |answer| &answer.text);
                self.told(context, row, answer)
            }
            ShotRecipe::Told { context, target } => self.told(context, row, &target.shown(row)?),
            ShotRecipe::ToldInputs { contexts, target } => {
                let gold = self.gold.of(row)?;
                let context = find(contexts, &gold)?;
                self.told(context, row, &target.shown(row)?)
            }
        }
    }

    /// lm-eval's turn: question, delimiter, what answers begin with, the answer.
    fn told(&self, context: &Form<'_>, row: &Row, answer: &str) -> Result<Shot, String> {
        let question = context.question(row, if self.has_token { &self.config.ice_token } else { "" })?;
        let prefix = self.config.gen_prefix.as_ref().map(|prefix| prefix.of(row, None)).transpose()?;
        let prefix = prefix.filter(|prefix| !prefix.is_empty());
        let delimiter = match &prefix {
            Some(prefix) if !boundary::wants_delimiter(&question, prefix) => "",
            _ => &self.config.target_delimiter,
        };
        let answer = boundary::delimited(prefix.as_deref().unwrap_or_default(), answer, " ");
        let end = if self.has_token { "" } else { &self.config.fewshot_delimiter };
        let shot = AnsweredShot { question, delimiter: delimiter.to_owned(), answer, end: end.to_owned() };
        // Where the prompt says where shots go, they are words within its text.
        Ok(if self.has_token { Shot::Text(shot.text()) } else { Shot::Answered(shot) })
    }
}

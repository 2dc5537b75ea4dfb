//! A job of real size: its configuration and its rows.

use super::data_sets::{DATA_SETS, DataSet};
use crate::job::Job;
use std::fmt::Write as _;

/// Size of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealSize {
    /// Models of the echo engine.
    pub models: u32,
    /// Data sets, the first ones of [`DATA_SETS`].
    pub data_sets: usize,
    /// Rows of each data set.
    pub rows: u32,
}

impl RealSize {
    /// Units of one model and one data set.
    pub fn units(&self) -> u32 {
        self.models * self.data_sets().len() as u32
    }

    /// Samples of all units.
    pub fn samples(&self) -> u64 {
        u64::from(self.units()) * u64::from(self.rows)
    }

    /// Its data sets.
    pub fn data_sets(&self) -> &'static [DataSet] {
        &DATA_SETS[..self.data_sets.min(DATA_SETS.len())]
    }

    /// Names of its models.
    pub fn model_names(&self) -> impl Iterator<Item = String> {
        (0..self.models).map(|at| format!("echo{at}"))
    }

    /// The job in a folder of its own. `master` is the body of its `[master]` table, `infer` holds the tables of `[infer]`.
    pub fn job(&self, master: &str, infer: &str) -> Job {
        let models = self.model_names().fold(String::new(), |mut text, name| {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n[[model]]\nabbr = \"{name}\"\ntype = \"echo\"\n");
            text
        });
        let tables: String = self.data_sets().iter().map(DataSet::table).collect();
        let job = Job::new(&format!("\n[master]\n{master}\n{models}{tables}\n{infer}\n"));
        for data_set in self.data_sets() {
            let mut rows = String::new();
            for number in 0..self.rows {
                let _ = writeln!(rows, "{}", data_set.row(number));
            }
            job.write(&format!("rows/{}.jsonl", data_set.abbr), &rows);
        }
        job
    }
}

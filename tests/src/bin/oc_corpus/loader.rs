//! Rows of loader classes that the table of splits does not know, over data that is made as they ask for it.

use super::making::Classes;
use compass_loader::TreeLoader;
use compass_settings::{LoadedRows, LoaderCall, LoaderWorld, NoRows, RowLoader};
use std::path::Path;
use std::sync::Mutex;

/// Number of times that data is made for one class before it counts as refused.
const ROUNDS: usize = 80;

/// The loader that the master uses without an interpreter, over made data.
#[derive(Debug)]
pub(super) struct MakingLoader {
    loader: TreeLoader,
    making: Mutex<Classes>,
}

impl MakingLoader {
    /// `rows` is where rows are kept.
    pub(super) fn new(rows: &Path, making: Classes) -> Self {
        Self { loader: TreeLoader::new(rows.to_owned()), making: Mutex::new(making) }
    }

    /// Adds a column that the plan misses; whether it could be made.
    pub(super) fn column(&self, name: &str) -> bool {
        self.making.lock().is_ok_and(|mut making| making.column(name))
    }

    /// Gives a column one of the values that its templates spell out; whether there was one.
    pub(super) fn labels(&self, name: &str, labels: &[&str]) -> bool {
        self.making.lock().is_ok_and(|mut making| making.labels(name, labels))
    }

    fn one(&self, world: &LoaderWorld, call: &LoaderCall) -> Result<LoadedRows, NoRows> {
        let mut rounds = 0;
        loop {
            let loaded = self.loader.load(world, std::slice::from_ref(call)).pop();
            let none = match loaded {
                Some(Err(none)) => none,
                Some(Ok(rows)) => return Ok(rows),
                None => NoRows::default(),
            };
            rounds += 1;
            let mended = self.making.lock().is_ok_and(|mut making| making.mend(call, &none.reason));
            if rounds > ROUNDS || !mended {
                return Err(none);
            }
        }
    }
}

impl RowLoader for MakingLoader {
    fn load(&self, world: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        calls.iter().map(|call| self.one(world, call)).collect()
    }
}

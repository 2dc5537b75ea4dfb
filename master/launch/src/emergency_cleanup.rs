//! Commands that end what was launched, for a master that is told twice to stop and does not wait for its launchers.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

static WORDS: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());

/// Notes what ends the jobs of a pool now; `None` when nothing has to.
pub(super) fn remember(pool: &str, command: Option<Vec<String>>) {
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    match command {
        Some(command) => words.insert(pool.to_owned(), command),
        None => words.remove(pool),
    };
}

/// The jobs of a pool have ended.
pub(super) fn forget(pool: &str) {
    remember(pool, None);
}

/// Starts every command that was noted and does not wait for it. Call it right before the process ends.
pub fn emergency_cleanup() {
    let words = std::mem::take(&mut *WORDS.lock().unwrap_or_else(PoisonError::into_inner));
    for command in words.into_values() {
        let Some((program, arguments)) = command.split_first() else { continue };
        let mut command = Command::new(program);
        // A group of its own: the Ctrl-C that ends this process must not end it.
        command.args(arguments).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.spawn();
    }
}

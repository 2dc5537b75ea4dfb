//! Settings that a master that stays takes from a configuration: its address, the place of its files, the pools that work for it.
//!
//! The rest of the file is for jobs, which bring their own; it is read, so that a team's base can be named, and not checked.

use crate::flags::command_line;
use crate::flags::overrides::Overrides;
use crate::passes::include;
use crate::read::fields::Fields;
use crate::read::master::addresses;
use crate::read::stages::stage::{self, INFER};
use crate::read::top::TOP;
use crate::read::{notify, pool};
use crate::report::check::Check;
use crate::syntax::tree::Table;
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_plan::partition::PartitionerKind;
use compass_settings::{Base, come_from_elsewhere};
use std::path::{Path, PathBuf};

/// Reads `[master]`, `[infer.runner]` and the pools of `path`, if there is a file, and of what it includes.
///
/// # Errors
/// All errors at once, by file and position.
pub fn load_base(path: Option<&Path>, home: Option<PathBuf>) -> Result<(Base, Vec<Diagnostic>), Diagnostics> {
    let mut check = Check::new(home);
    let base = read(&mut check, path);
    let notes = check.finish()?;
    base.map(|base| (base, notes)).ok_or_else(Diagnostics::default)
}

fn read(check: &mut Check, path: Option<&Path>) -> Option<Base> {
    let (table, span) = match path {
        Some(path) => include::read(check, path)?,
        None => (Table::default(), command_line::nowhere(check)),
    };
    let mut root = Fields::new(&table, span, &TOP);
    let master = addresses::read(check, &mut root);
    let infer = stage::read(check, &mut root, "infer", &INFER, &Overrides::default(), PartitionerKind::Balanced);
    let pools = pool::read(check, &mut root);
    let notify = notify::read(check, &mut root);
    let pools = pools?;
    let from_elsewhere = come_from_elsewhere(&infer.runner.kind, &pools);
    Some(Base {
        authority: master.authority()?,
        state_dir: master.state_dir?,
        store: master.store,
        worker_lease: master.worker_lease,
        listen: master.listen.unwrap_or_else(|| addresses::default_listen(from_elsewhere)),
        advertise: master.advertise,
        http: master.http,
        runner: infer.runner,
        pools,
        notify,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_that_stays_needs_no_models_and_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = Some(folder.path().to_owned());
        let (base, _) = load_base(None, home.clone()).unwrap();
        assert_eq!(base.state_dir, folder.path().join(".local/state/compass"));
        let file = folder.path().join("base.toml");
        std::fs::write(&file, "models = [\"x\"]\n[master]\nstate_dir = \"s\"\n[infer.runner]\nmax_num_workers = 3\n")
            .unwrap();
        let (base, _) = load_base(Some(&file), home.clone()).unwrap();
        assert_eq!((base.state_dir, base.runner.max_num_workers), (folder.path().join("s"), Some(3)));
        std::fs::write(&file, "[master]\nstat_dir = \"s\"\n").unwrap();
        let wrong = load_base(Some(&file), home).unwrap_err().to_string();
        assert!(wrong.contains("base.toml:2:1") && wrong.contains("state_dir"), "{wrong}");
    }
}

//! Finds the isolation and the interpreter that work on this machine, or says why none does.

use crate::groups::{Groups, NoGroups};
use crate::launch::Ground;
use crate::policy::{Isolation, Policy};
use crate::python::interpreters;
use crate::selftest::prove;
use std::path::PathBuf;
use std::sync::Arc;

/// Why programs are not run here.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Nothing to run them with.
    #[error("there is no Python 3.7 or newer to run programs with: install python3{}", list(tried))]
    NoPython { tried: Vec<String> },
    /// Nothing to contain them with.
    #[error(
        "programs that a model wrote are not run here, for nothing contains them: install bubblewrap 0.8 or newer and \
         allow unprivileged user namespaces, or run Linux 6.12 or newer with Landlock, or accept the risk with \
         --unsafe-local-exec{}",
        list(tried)
    )]
    NoIsolation { tried: Vec<String> },
}

fn list(tried: &[String]) -> String {
    tried.iter().map(|reason| format!("\n  {reason}")).collect()
}

/// The first isolation of the policy under which some interpreter runs and gets nowhere.
pub(crate) async fn detect(policy: &Policy) -> Result<Ground, Refusal> {
    let (pythons, unusable) = interpreters(policy).await;
    if pythons.is_empty() {
        return Err(Refusal::NoPython { tried: unusable });
    }
    let mut tried = Vec::new();
    let groups = Groups::find().map(Arc::new).map_err(Arc::new);
    for &isolation in &policy.isolations {
        let Some(bwrap) = launcher(isolation) else {
            tried.push(format!("{isolation}: bwrap is not on the PATH"));
            continue;
        };
        for python in &pythons {
            let readable = policy.readable.clone();
            let groups = groups.clone();
            let mut ground = Ground { isolation, python: python.clone(), readable, bwrap: bwrap.clone(), groups };
            let mut proof = prove(&ground).await;
            if let (Err(reason), Ok(_)) = (&proof, &ground.groups) {
                // Before Linux 5.16 a worker of root's cannot put an unprivileged process into a group of its own.
                ground.groups = Err(Arc::new(NoGroups::Useless(reason.clone())));
                proof = prove(&ground).await;
            }
            match proof {
                Ok(()) => return Ok(ground),
                Err(reason) => tried.push(format!("{isolation}: {}: {reason}", python.executable.display())),
            }
        }
    }
    match pythons.into_iter().next() {
        Some(python) if policy.unsafe_local_exec => {
            tracing::warn!("programs that a model wrote run without isolation: --unsafe-local-exec");
            let readable = policy.readable.clone();
            Ok(Ground { isolation: Isolation::Unsafe, python, readable, bwrap: PathBuf::new(), groups })
        }
        _ => Err(Refusal::NoIsolation { tried }),
    }
}

/// `bwrap` where it is needed; an empty path where it is not.
fn launcher(isolation: Isolation) -> Option<PathBuf> {
    if isolation != Isolation::Bubblewrap {
        return Some(PathBuf::new());
    }
    let search = std::env::var_os("PATH")?;
    std::env::split_paths(&search).map(|directory| directory.join("bwrap")).find(|path| path.is_file())
}

//! Detection of the isolation and the interpreter that work on this machine.

use crate::groups::{Groups, NoGroups};
use crate::launch::Setup;
use crate::policy::{Isolation, Policy};
use crate::python::interpreters;
use crate::selftest::prove;
use std::path::PathBuf;
use std::sync::Arc;

/// Reason why programs are not run on this machine.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No usable interpreter.
    #[error("cannot run programs: no Python 3.7 or newer found; install python3{}", list(tried))]
    NoPython { tried: Vec<String> },
    /// No working isolation.
    #[error(
        "cannot run model-written programs: no isolation works on this machine; install bubblewrap 0.8 or newer and \
         allow unprivileged user namespaces, or run Linux 6.12 or newer with Landlock, or accept the risk with \
         --unsafe-local-exec{}",
        list(tried)
    )]
    NoIsolation { tried: Vec<String> },
}

fn list(tried: &[String]) -> String {
    tried.iter().map(|reason| format!("\n  {reason}")).collect()
}

/// Returns the first isolation of the policy that contains programs with some interpreter.
pub(crate) async fn detect(policy: &Policy) -> Result<Setup, Refusal> {
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
            let mut setup = Setup { isolation, python: python.clone(), readable, bwrap: bwrap.clone(), groups };
            let mut proof = prove(&setup).await;
            if let (Err(reason), Ok(_)) = (&proof, &setup.groups) {
                // Before Linux 5.16 a worker run by root cannot put an unprivileged process into its own control group.
                setup.groups = Err(Arc::new(NoGroups::Unusable(reason.clone())));
                proof = prove(&setup).await;
            }
            match proof {
                Ok(()) => return Ok(setup),
                Err(reason) => tried.push(format!("{isolation}: {}: {reason}", python.executable.display())),
            }
        }
    }
    match pythons.into_iter().next() {
        Some(python) if policy.unsafe_local_exec => {
            tracing::warn!("model-written programs run without isolation: --unsafe-local-exec");
            let readable = policy.readable.clone();
            Ok(Setup { isolation: Isolation::Unsafe, python, readable, bwrap: PathBuf::new(), groups })
        }
        _ => Err(Refusal::NoIsolation { tried }),
    }
}

/// Returns the path of `bwrap` if the isolation needs it, otherwise an empty path.
fn launcher(isolation: Isolation) -> Option<PathBuf> {
    if isolation != Isolation::Bubblewrap {
        return Some(PathBuf::new());
    }
    let search = std::env::var_os("PATH")?;
    std::env::split_paths(&search).map(|directory| directory.join("bwrap")).find(|path| path.is_file())
}

//! Starts the harness in its isolation.

use crate::bubblewrap::{self, UNPRIVILEGED_UID};
use crate::confine::Confinement;
use crate::groups::{Group, Groups, NoGroups};
use crate::limits::Limits;
use crate::policy::Isolation;
use crate::python::Python;
use crate::{landlocked, seccomp};
use rustix::process::Resource;
use std::io::{self, PipeReader, Write, pipe};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::process::{Child, Command};

const HARNESS: &str = include_str!("harness.py");

/// Settings that all programs of a sandbox share.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub isolation: Isolation,
    pub python: Python,
    pub readable: Vec<PathBuf>,
    /// Path of `bwrap`; empty if the isolation does not use it.
    pub bwrap: PathBuf,
    /// Control groups for hard limits, or the reason why there are none.
    pub groups: Result<Arc<Groups>, Arc<NoGroups>>,
}

pub(crate) struct Launched {
    pub child: Child,
    pub channel: UnixStream,
    /// Standard output and standard error.
    pub output: PipeReader,
    /// Pipe in which `bwrap` names the first process of the namespaces.
    pub info: Option<PipeReader>,
    pub group: Option<Group>,
}

/// Starts the harness.
///
/// # Errors
/// A process, a pipe or a rule cannot be made: the machine's fault, never the program's.
pub(crate) fn launch(setup: &Setup, limits: &Limits) -> io::Result<Launched> {
    let (channel, theirs) = UnixStream::pair()?;
    let (output, writer) = pipe()?;
    let readable: Vec<PathBuf> = setup.python.directories.iter().chain(&setup.readable).cloned().collect();
    let group = setup.groups.as_ref().ok().map(|groups| groups.make(limits)).transpose()?;
    let procs_file = group.as_ref().map(Group::procs_file).transpose()?;
    let mut confinement =
        Confinement { limits: bounds(limits), group: procs_file, passed: Vec::new(), ruleset: None, filter: None };
    let mut info = None;
    let mut command = match setup.isolation {
        Isolation::Bubblewrap => {
            let (reader, teller) = pipe()?;
            let filter = seccomp_pipe()?;
            let mut command = Command::new(&setup.bwrap);
            command.args(bubblewrap::arguments(limits, &readable, filter.as_raw_fd(), teller.as_raw_fd()));
            command.arg(&setup.python.executable);
            confinement.passed = vec![filter, teller.into()];
            info = Some(reader);
            command
        }
        Isolation::Landlock => {
            confinement.ruleset = Some(landlocked::ruleset(&readable).map_err(io::Error::other)?);
            confinement.filter = Some(seccomp::without_namespaces().map_err(io::Error::other)?);
            Command::new(&setup.python.executable)
        }
        Isolation::Unsafe => Command::new(&setup.python.executable),
    };
    if rustix::process::geteuid().is_root() {
        command.uid(UNPRIVILEGED_UID).gid(UNPRIVILEGED_UID);
    }
    command.args(["-s", "-B", "-c", HARNESS]);
    command.env_clear().envs(environment(setup.isolation)).current_dir("/");
    command.stdin(OwnedFd::from(theirs)).stdout(writer.try_clone()?).stderr(writer).kill_on_drop(true);
    confinement.apply(&mut command);
    Ok(Launched { child: command.spawn()?, channel, output, info, group })
}

/// Environment of the interpreter. The hash seed is fixed, so that a program that depends on the order of a set always
/// has the same outcome.
fn environment(isolation: Isolation) -> [(&'static str, &'static str); 6] {
    let home = if isolation == Isolation::Landlock { "/" } else { "/tmp" };
    [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", home),
        ("LANG", "C.UTF-8"),
        ("OMP_NUM_THREADS", "1"),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("PYTHONHASHSEED", "0"),
    ]
}

/// Limits of the process. The interpreter's start takes processor time too; the soft limit's signal identifies a
/// timeout.
fn bounds(limits: &Limits) -> Vec<(Resource, u64, u64)> {
    let seconds = limits.wall.as_secs() + 3;
    let both = |resource, bound| (resource, bound, bound);
    vec![
        both(Resource::As, limits.memory),
        (Resource::Cpu, seconds, seconds + 1),
        both(Resource::Fsize, limits.file_size),
        both(Resource::Nofile, limits.descriptors),
        both(Resource::Stack, 8 << 20),
        both(Resource::Core, 0),
        both(Resource::Msgqueue, 0),
    ]
}

/// Writes the filter into a pipe, whose buffer is large enough for it.
fn seccomp_pipe() -> io::Result<OwnedFd> {
    let program = seccomp::within_namespaces().map_err(io::Error::other)?;
    let (reader, mut writer) = pipe()?;
    writer.write_all(&seccomp::bytes(&program))?;
    Ok(reader.into())
}

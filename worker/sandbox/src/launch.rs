//! Starts the harness in its isolation.

use crate::bubblewrap::{self, NOBODY};
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

/// What all runs of a sandbox have in common.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub isolation: Isolation,
    pub python: Python,
    pub readable: Vec<PathBuf>,
    /// The path of `bwrap`, where it isolates.
    pub bwrap: PathBuf,
    /// Hard bounds, or why there are none.
    pub groups: Result<Arc<Groups>, Arc<NoGroups>>,
}

pub(crate) struct Launched {
    pub child: Child,
    pub channel: UnixStream,
    /// Standard output and standard error.
    pub output: PipeReader,
    /// Where `bwrap` names the room's first process.
    pub info: Option<PipeReader>,
    pub group: Option<Group>,
}

/// # Errors
/// When a process, a pipe or a rule cannot be made: the machine's fault, never the program's.
pub(crate) fn launch(ground: &Ground, limits: &Limits) -> io::Result<Launched> {
    let (channel, theirs) = UnixStream::pair()?;
    let (output, writer) = pipe()?;
    let readable: Vec<PathBuf> = ground.python.directories.iter().chain(&ground.readable).cloned().collect();
    let group = ground.groups.as_ref().ok().map(|groups| groups.make(limits)).transpose()?;
    let entrance = group.as_ref().map(Group::entrance).transpose()?;
    let mut confinement =
        Confinement { limits: bounds(limits), group: entrance, passed: Vec::new(), ruleset: None, filter: None };
    let mut info = None;
    let mut command = match ground.isolation {
        Isolation::Bubblewrap => {
            let (reader, teller) = pipe()?;
            let filter = seccomp_pipe()?;
            let mut command = Command::new(&ground.bwrap);
            command.args(bubblewrap::arguments(limits, &readable, filter.as_raw_fd(), teller.as_raw_fd()));
            command.arg(&ground.python.executable);
            confinement.passed = vec![filter, teller.into()];
            info = Some(reader);
            command
        }
        Isolation::Landlock => {
            confinement.ruleset = Some(landlocked::ruleset(&readable).map_err(io::Error::other)?);
            confinement.filter = Some(seccomp::without_namespaces().map_err(io::Error::other)?);
            Command::new(&ground.python.executable)
        }
        Isolation::Unsafe => Command::new(&ground.python.executable),
    };
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.args(["-s", "-B", "-c", HARNESS]);
    command.env_clear().envs(environment(ground.isolation)).current_dir("/");
    command.stdin(OwnedFd::from(theirs)).stdout(writer.try_clone()?).stderr(writer).kill_on_drop(true);
    confinement.apply(&mut command);
    Ok(Launched { child: command.spawn()?, channel, output, info, group })
}

/// The same everywhere; a fixed hash seed, so that a program that depends on the order of a set always gets the same outcome.
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

/// The interpreter needs some processor time to start; the soft limit's signal tells this end from others.
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

/// The filter fits into a pipe, so that writing it blocks nobody.
fn seccomp_pipe() -> io::Result<OwnedFd> {
    let program = seccomp::within_namespaces().map_err(io::Error::other)?;
    let (reader, mut writer) = pipe()?;
    writer.write_all(&seccomp::bytes(&program))?;
    Ok(reader.into())
}

//! The command line of `bwrap` (bubblewrap 0.5 or newer) for an interpreter: it sees this machine read-only.
//!
//! The sandbox of programs that a model wrote (`worker/sandbox`) hides all files and allows one second of work; a loader is the
//! user's own and reads what the user has. It is kept from writing anywhere but in its own folder, from the network, and from
//! the state folder with the keys of the masters.

use crate::program::is_program;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// View of the machine that a contained interpreter has.
#[derive(Debug)]
pub(crate) struct View<'v> {
    /// The only folder that it may write to.
    pub(crate) own: &'v Path,
    /// Hidden, but for `own`.
    pub(crate) hidden: &'v Path,
    /// Its working directory.
    pub(crate) directory: &'v Path,
    /// Set if it has the host's network; then with the folders that it may download into.
    pub(crate) network: Option<Vec<PathBuf>>,
}

/// Way in which an interpreter is kept from the rest of the machine.
#[derive(Debug)]
pub(crate) enum Containment {
    /// The arguments before the interpreter's own.
    Bubblewrap(Vec<OsString>),
    /// Nothing works here; why.
    Nothing(String),
}

/// The first containment that starts `program` here.
pub(crate) fn detect(
    view: &View<'_>,
    program: &Path,
    variables: &[(OsString, OsString)],
    search: Option<&str>,
) -> Containment {
    let folders = search.map(std::env::split_paths).into_iter().flatten();
    let Some(bwrap) = folders.map(|folder| folder.join("bwrap")).find(|path| is_program(path)) else {
        return Containment::Nothing("bubblewrap (`bwrap`) is not installed".to_owned());
    };
    let mut reason = String::new();
    // Containers often forbid to mount /proc.
    for proc in ["--proc", "--tmpfs"] {
        let words = words(&bwrap, view, proc);
        match proves(&words, program, variables) {
            Ok(()) => return Containment::Bubblewrap(words),
            Err(said) => reason = said,
        }
    }
    Containment::Nothing(reason)
}

fn proves(words: &[OsString], program: &Path, variables: &[(OsString, OsString)]) -> Result<(), String> {
    let Some((bwrap, arguments)) = words.split_first() else { return Err(String::new()) };
    let mut command = Command::new(bwrap);
    command.args(arguments).arg(program).args(["-I", "-S", "-c", ""]).stdin(Stdio::null());
    command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(said.lines().last().unwrap_or("bwrap failed").to_owned()),
    }
}

fn words(bwrap: &Path, view: &View<'_>, proc: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![bwrap.into()];
    let mut add = |more: &[&OsStr]| words.extend(more.iter().map(|word| (*word).to_owned()));
    let text = OsStr::new;
    add(&["--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts"].map(text));
    add(&["--cap-drop", "ALL"].map(text));
    if rustix::process::geteuid().is_root() {
        // Root reads its users' files.
        add(&["--cap-add", "CAP_DAC_READ_SEARCH"].map(text));
    }
    add(&["--ro-bind", "/", "/", "--dev", "/dev", proc, "/proc"].map(text));
    match &view.network {
        Some(places) => {
            for place in places {
                add(&[text("--bind-try"), place.as_os_str(), place.as_os_str()]);
            }
        }
        None => {
            add(&[text("--unshare-net")]);
            // Sockets of services that would act for it.
            if Path::new("/run").is_dir() {
                add(&["--tmpfs", "/run", "--remount-ro", "/run"].map(text));
            }
        }
    }
    add(&[text("--tmpfs"), view.hidden.as_os_str()]);
    add(&[text("--bind"), view.own.as_os_str(), view.own.as_os_str()]);
    add(&[text("--remount-ro"), view.hidden.as_os_str()]);
    add(&[text("--chdir"), view.directory.as_os_str(), text("--")]);
    words
}

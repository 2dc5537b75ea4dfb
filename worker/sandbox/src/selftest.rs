//! Self-test of an isolation: a program that tries to escape and reports when it can.

use crate::launch::Setup;
use crate::limits::Limits;
use crate::outcome::ProgramOutcome;
use crate::program::Program;
use crate::run::run;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

const ESCAPES: &str = r#"
import os, socket

def reach(what, attempt):
    try:
        attempt()
    except (OSError, ValueError):
        return
    raise AssertionError("can " + what)

def write(path):
    with open(path, "w") as file:
        file.write("x")

def kill():
    if worker > 64:  # smaller numbers may be of the namespaces
        os.kill(worker, 0)
    else:
        raise OSError

assert os.getuid() != 0 and os.geteuid() != 0, "runs as root"
reach("read the host's files", lambda: open(canary).read())
reach("write the host's files", lambda: open(canary, "r+b").write(b"x"))
reach("create files beside the host's", lambda: write(os.path.join("/usr/lib", "compass-sandbox-probe")))
reach("connect to the host", lambda: socket.create_connection(("127.0.0.1", port), 2))
reach("see the worker's process", kill)
reach("read the worker's environment", lambda: open("/proc/%d/environ" % worker, "rb").read() if worker > 64 else kill())
"#;

/// Tests whether the isolation contains programs.
///
/// # Errors
/// The reason why it cannot be used.
pub(crate) async fn prove(setup: &Setup) -> Result<(), String> {
    let wide = Limits { wall: Duration::from_secs(20), ..Limits::default() };
    match run(setup, &Program::new("assert 1 + 1 == 2").within(wide)).await {
        ProgramOutcome::Passed => {}
        ProgramOutcome::SandboxError { detail } => return Err(detail),
        other => return Err(format!("a trivial program ended with: {other}")),
    }
    let canary = Canary::plant().map_err(|error| format!("cannot test the isolation: {error}"))?;
    let known = format!(
        "canary = {}\nport = {}\nworker = {}\n",
        serde_json::Value::from(canary.path.to_string_lossy()),
        canary.port,
        std::process::id()
    );
    match run(setup, &Program::new(known + ESCAPES).within(wide)).await {
        ProgramOutcome::Passed if !canary.alive() => {
            Err("does not contain: a program can write the host's files".into())
        }
        ProgramOutcome::Passed => Ok(()),
        ProgramOutcome::Failed { message, assertion: true, .. } => {
            Err(format!("does not contain: a program {message}"))
        }
        other => Err(format!("the self-test ended with: {other}")),
    }
}

/// A file that every user of the host may read and write, and a listening port.
struct Canary {
    path: PathBuf,
    port: u16,
    _listener: TcpListener,
}

impl Canary {
    const CONTENT: &str = "canary";

    fn alive(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|content| content == Self::CONTENT)
    }

    fn plant() -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("compass-sandbox-canary-{}", crate::report::token()?));
        fs::write(&path, Self::CONTENT)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        Ok(Self { path, port, _listener: listener })
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

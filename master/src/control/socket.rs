//! The socket that carries the control service on one host: who may open the file may ask.

use super::service::ControlService;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;

/// Below the state folder.
const FOLDER: &str = "control";
const ENDING: &str = "sock";
/// The name of a server's socket.
pub const SERVER: &str = "serve";
/// What the kernel has room for in an address.
const LONGEST: usize = 107;

/// Why a master cannot be asked anything.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("cannot open the control socket {path}")]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the control socket {path} has too long a name for the system; give master.state_dir a shorter path")]
    TooLong { path: PathBuf },
}

/// An open socket; its file goes with it.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    /// Which file it is: another server may have put its own under this name meanwhile.
    inode: u64,
    listener: Option<UnixListener>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A file that stays is found to be dead when it is tried.
        if std::fs::metadata(&self.path).is_ok_and(|data| data.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Where the sockets of a state folder are.
fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join(FOLDER)
}

/// The socket of this name.
pub(super) fn path_of(state_dir: &Path, name: &str) -> PathBuf {
    folder(state_dir).join(format!("{name}.{ENDING}"))
}

/// Opens the socket `name`; one that is there already belongs to somebody dead, or is this name's no more.
///
/// # Errors
/// See [`SocketError`].
pub fn open(state_dir: &Path, name: &str) -> Result<Socket, SocketError> {
    let path = path_of(state_dir, name);
    if path.as_os_str().len() > LONGEST {
        return Err(SocketError::TooLong { path });
    }
    let failed = |source| SocketError::Open { path: path.clone(), source };
    // Only its owner gets in, whatever the rights of the socket are for a moment.
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder(state_dir)).map_err(failed)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let listener = UnixListener::bind(&path).map_err(failed)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    let inode = std::fs::metadata(&path).map_err(failed)?.ino();
    Ok(Socket { path, inode, listener: Some(listener) })
}

impl Socket {
    /// Answers until `stop` is cancelled.
    pub async fn serve(mut self, service: ControlService, stop: CancellationToken) {
        let Some(listener) = self.listener.take() else { return };
        let serving = tonic::transport::Server::builder()
            .add_service(service.into_server())
            .serve_with_incoming(UnixListenerStream::new(listener));
        tokio::select! {
            served = serving => if let Err(error) = served { tracing::warn!(%error, "commands are answered no more") },
            () = stop.cancelled() => {}
        }
    }
}

/// A socket with somebody behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) path: PathBuf,
    pub(super) is_server: bool,
}

/// What is found in a state folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The latest first, a server before all runs.
    pub(super) live: Vec<Live>,
    /// Whether a server left its socket behind.
    pub(super) dead_server: Option<PathBuf>,
}

/// The sockets of a state folder; those that dead runs left are cleared away.
pub(super) async fn find(state_dir: &Path) -> Found {
    let mut entries: Vec<(std::time::SystemTime, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder(state_dir)).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            let made = entry.metadata().and_then(|data| data.modified()).unwrap_or(std::time::UNIX_EPOCH);
            entries.push((made, path));
        }
    }
    let mut found = Found::default();
    for (_, path) in {
        entries.sort();
        entries
    }
    .into_iter()
    .rev()
    {
        let is_server = path.file_stem().is_some_and(|name| name == SERVER);
        match UnixStream::connect(&path).await {
            Ok(_) => found.live.push(Live { path, is_server }),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if is_server {
                    found.dead_server = Some(path);
                } else {
                    // The name of a run holds its process number: no other process will open it.
                    let _ = std::fs::remove_file(path);
                }
            }
            Err(_) => {}
        }
    }
    found.live.sort_by_key(|live| !live.is_server);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sockets_are_their_owners_alone_and_dead_ones_are_told_apart() {
        let state = tempfile::tempdir().unwrap();
        let live = open(state.path(), "run-1").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&live.path), mode(&folder(state.path()))), (0o600, 0o700));
        for dead in ["run-2", SERVER] {
            let mut socket = open(state.path(), dead).unwrap();
            drop(socket.listener.take());
            std::mem::forget(socket);
        }
        let found = find(state.path()).await;
        assert_eq!(found.live, [Live { path: live.path.clone(), is_server: false }]);
        assert_eq!(found.dead_server, Some(path_of(state.path(), SERVER)));
        assert!(!path_of(state.path(), "run-2").exists(), "what a dead run left");
        let path = live.path.clone();
        drop(live);
        assert!(!path.exists());
        let server = open(state.path(), SERVER).unwrap();
        assert_eq!(find(state.path()).await.live, [Live { path: server.path.clone(), is_server: true }]);
    }

    #[tokio::test]
    async fn whoever_ends_late_leaves_the_socket_of_its_successor_alone() {
        let state = tempfile::tempdir().unwrap();
        let old = open(state.path(), SERVER).unwrap();
        let new = open(state.path(), SERVER).unwrap();
        drop(old);
        assert_eq!(find(state.path()).await.live.len(), 1);
        drop(new);
        assert_eq!(find(state.path()).await, Found::default());
    }

    #[tokio::test]
    async fn a_name_that_the_system_cannot_hold_is_said() {
        let state = tempfile::tempdir().unwrap();
        let error = open(&state.path().join("x".repeat(120)), SERVER).unwrap_err();
        assert!(error.to_string().contains("give master.state_dir a shorter path"), "{error}");
    }
}

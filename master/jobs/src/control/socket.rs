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
/// Longest address, in bytes, that the kernel has room for.
const LONGEST: usize = 107;

/// Reason why a master cannot be asked anything.
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
    /// Inode of its file: another server may have put its own under this name meanwhile.
    inode: u64,
    listener: Option<UnixListener>,
    /// Path at which its user's commands look that name no state folder.
    link: Option<PathBuf>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            let _ = std::fs::remove_file(link);
        }
        // A file that stays is found to be dead when it is tried.
        if std::fs::metadata(&self.path).is_ok_and(|data| data.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns the folder with the sockets of a state folder.
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
    Ok(Socket { path, inode, listener: Some(listener), link: None })
}

impl Socket {
    /// The same, found from the state folder where its user's commands look that name none. A master whose socket is there
    /// already needs no link; one that cannot make it is found by its own state folder alone.
    #[must_use]
    pub fn announced_in(mut self, usual: &Path) -> Self {
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let link = path_of(usual, &format!("{name}-at-{}", std::process::id()));
        let is_there =
            self.path.parent().and_then(|folder| folder.canonicalize().ok()) == folder(usual).canonicalize().ok();
        if is_there || link.as_os_str().len() > LONGEST {
            return self;
        }
        let Ok(path) = std::path::absolute(&self.path) else { return self };
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder(usual));
        let _ = std::fs::remove_file(&link);
        if made.and_then(|()| std::os::unix::fs::symlink(path, &link)).is_ok() {
            self.link = Some(link);
        }
        self
    }

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
    pub path: PathBuf,
    pub(super) is_server: bool,
    /// The process that opened it, where the system tells.
    pub process: Option<i32>,
}

/// Sockets that are found in a state folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The latest first, a server before all runs.
    pub live: Vec<Live>,
    /// Socket that a server left behind, if one did.
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
            Ok(stream) => {
                let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
                found.live.push(Live { path, is_server, process });
            }
            // So many wait to be let in that no more may: it is there, and does not answer.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                found.live.push(Live { path, is_server, process: None });
            }
            // What a master left that had its socket elsewhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
                let _ = std::fs::remove_file(path);
            }
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
        let process = i32::try_from(std::process::id()).ok();
        assert_eq!(found.live, [Live { path: live.path.clone(), is_server: false, process }]);
        assert_eq!(found.dead_server, Some(path_of(state.path(), SERVER)));
        assert!(!path_of(state.path(), "run-2").exists(), "what a dead run left");
        let path = live.path.clone();
        drop(live);
        assert!(!path.exists());
        let server = open(state.path(), SERVER).unwrap();
        assert_eq!(find(state.path()).await.live, [Live { path: server.path.clone(), is_server: true, process }]);
    }

    #[tokio::test]
    async fn a_master_of_another_state_folder_is_found_from_the_usual_one() {
        let (state, usual) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = open(usual.path(), "run-1").unwrap().announced_in(usual.path());
        assert_eq!(own.link, None);
        let other = open(state.path(), SERVER).unwrap().announced_in(usual.path());
        let live = find(usual.path()).await.live;
        assert_eq!(live.len(), 2, "{live:?}");
        assert!(live.iter().all(|live| !live.is_server), "jobs go to the server of this folder alone: {live:?}");
        let link = other.link.clone().unwrap();
        let mut other = other;
        drop(other.listener.take());
        std::fs::remove_file(&other.path).unwrap();
        assert_eq!(find(usual.path()).await.live.len(), 1, "it died");
        assert!(!link.is_symlink(), "and its link is cleared away");
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

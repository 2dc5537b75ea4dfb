//! Endpoint at which workers find a master, and what they need to be let in: the authority and a token, on loopback as
//! elsewhere, since a loopback address is open to every user of the host.

use compass_authority::{Authority, AuthorityError, JoinFile, JoinFileError};
use compass_common::host::host;
use compass_common::join_token::{DEFAULT_STATE, is_loopback, loopback_name};
use compass_rpc::Access;
use compass_settings::{Advertised, AuthorityConfig, Config};
use compass_types::ids::Digest;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Reason for which no worker could be let in.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error(transparent)]
    JoinFile(#[from] JoinFileError),
}

/// Listener and authority that workers connect to. Dropping it removes the join token that lies in the state folder.
#[derive(Debug)]
pub struct WorkerEndpoint {
    access: Access,
    advertised: String,
    near: String,
    join_token: OpenJoinToken,
}

#[derive(Debug)]
struct OpenJoinToken {
    authority: Arc<Authority>,
    token: String,
    file: JoinFile,
    attending: JoinHandle<()>,
}

impl Drop for OpenJoinToken {
    fn drop(&mut self) {
        self.attending.abort();
    }
}

/// Listens on the address, or on the first free one of so many ports from there on.
///
/// # Errors
/// That of the last one that was tried.
pub async fn listen(address: SocketAddr, ports: u16) -> std::io::Result<TcpListener> {
    let mut port = address.port();
    let last = if port == 0 { 0 } else { port.saturating_add(ports.saturating_sub(1)) };
    loop {
        match TcpListener::bind(SocketAddr::new(address.ip(), port)).await {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && port < last => port += 1,
            bound => return bound,
        }
    }
}

/// Opens the authority and closes it again: a master that stands by finds out now that it could let no worker in.
///
/// # Errors
/// The authority of the store cannot be opened from here.
pub async fn check_authority(config: &AuthorityConfig) -> Result<(), EndpointError> {
    Authority::open(config).await?;
    Ok(())
}

impl WorkerEndpoint {
    /// Prepares for workers at `address`, which is listened on.
    ///
    /// # Errors
    /// See [`EndpointError`].
    pub async fn open(config: &Config, address: SocketAddr) -> Result<Self, EndpointError> {
        let (advertised, port) = advertised(config.advertise.as_ref(), address, &host());
        let (near, shown) = told(config, address);
        let authority = Arc::new(Authority::open(&config.authority).await?);
        let token = authority.own_token(format!("the master at {shown}")).await?;
        let home = std::env::home_dir().map(|home| home.join(DEFAULT_STATE));
        let states: Vec<&Path> = [Some(config.state_dir.as_path()), home.as_deref()].into_iter().flatten().collect();
        let hosts = names(&advertised, address, &host());
        let file = JoinFile::write(&states, &hosts, port, &token)?;
        let attending = tokio::spawn(authority.clone().attend(token.id.clone()));
        let access = Access::Guarded(authority.clone());
        let join_token = OpenJoinToken { authority, token: token.id, file, attending };
        Ok(Self { access, advertised: shown, near, join_token })
    }

    /// Returns the rule by which the listener lets peers in.
    pub fn access(&self) -> Access {
        self.access.clone()
    }

    /// `host:port` as workers of other hosts are told it.
    pub fn advertised(&self) -> &str {
        &self.advertised
    }

    /// `host:port` as workers on this host are told it.
    pub fn near(&self) -> &str {
        &self.near
    }

    /// Returns the digest of the authority, which all masters of its store, and no others, have in common.
    pub fn authority(&self) -> Digest {
        self.join_token.authority.digest()
    }

    /// The file with a join token for workers that are launched.
    pub fn token_file(&self) -> Option<&Path> {
        self.join_token.file.path()
    }

    /// No worker can join any more. Those that have joined may go on: another stage of the run may follow.
    pub async fn close(self) {
        if let Err(error) = self.join_token.authority.retire(&self.join_token.token).await {
            // It runs out by itself.
            tracing::debug!(%error, "cannot retire the join token");
        }
    }
}

/// `host:port` as workers on this host are told it, and as those of other hosts are.
pub(super) fn told(config: &Config, address: SocketAddr) -> (String, String) {
    let (host, port) = advertised(config.advertise.as_ref(), address, &host());
    (near(address).to_string(), format!("{host}:{port}"))
}

/// Host and port that workers are told.
fn advertised(configured: Option<&Advertised>, address: SocketAddr, host: &str) -> (String, u16) {
    let port = configured.and_then(|advertised| advertised.port).unwrap_or(address.port());
    let name = match configured {
        Some(advertised) => advertised.host.clone(),
        None if address.ip().is_unspecified() => host.to_owned(),
        None => bracketed(address),
    };
    (name, port)
}

fn bracketed(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

/// Returns the address at which this host reaches its own listener.
fn near(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() });
    }
    address
}

/// Every name by which somebody may call this master, for the files with its token. A listener on loopback and one on an
/// address of the network may have the same port: each has names of its own.
fn names(advertised: &str, address: SocketAddr, host: &str) -> Vec<String> {
    let short = host.split('.').next().unwrap_or(host);
    let network = [advertised, host, short].map(str::to_owned).into_iter().filter(|name| !is_loopback(name));
    let (network, loopback) = (network.collect::<Vec<_>>(), loopback_name(host));
    let all = match address.ip() {
        ip if ip.is_loopback() && is_loopback(advertised) => vec![loopback],
        // Reached under a name of its own, through a tunnel or a proxy.
        ip if ip.is_loopback() => vec![loopback, advertised.to_owned()],
        ip if ip.is_unspecified() => [network, vec![loopback]].concat(),
        _ => [network, vec![bracketed(address)]].concat(),
    };
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_busy_port_is_passed_over_where_nobody_named_it() {
        let busy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = busy.local_addr().unwrap();
        assert_eq!(listen(address, 1).await.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
        let found = listen(address, u16::MAX).await.unwrap().local_addr().unwrap();
        assert!(found.ip() == address.ip() && found.port() > address.port(), "{found}");
        assert!(listen(SocketAddr::new(address.ip(), 0), 16).await.is_ok());
    }

    #[test]
    fn what_workers_are_told() {
        let told = |configured: Option<(&str, Option<u16>)>, address: &str| {
            let configured = configured.map(|(host, port)| Advertised { host: host.into(), port });
            let (host, port) = advertised(configured.as_ref(), address.parse().unwrap(), "node1");
            format!("{host}:{port}")
        };
        assert_eq!(told(None, "0.0.0.0:50051"), "node1:50051");
        assert_eq!(told(None, "10.1.2.3:7"), "10.1.2.3:7");
        assert_eq!(told(None, "[fd00::1]:7"), "[fd00::1]:7");
        assert_eq!(told(None, "127.0.0.1:7"), "127.0.0.1:7");
        assert_eq!(told(Some(("head", None)), "0.0.0.0:7"), "head:7");
        assert_eq!(told(Some(("gate.example.org", Some(443))), "0.0.0.0:7"), "gate.example.org:443");
        assert_eq!(near("0.0.0.0:7".parse().unwrap()).to_string(), "127.0.0.1:7");
        assert_eq!(near("[::]:7".parse().unwrap()).to_string(), "[::1]:7");
        let names = |advertised: &str, address: &str| names(advertised, address.parse().unwrap(), "node1.cluster");
        assert_eq!(names("gate", "0.0.0.0:7"), ["gate", "node1.cluster", "node1", "loopback-node1.cluster"]);
        assert_eq!(names("10.1.2.3", "10.1.2.3:7"), ["10.1.2.3", "node1.cluster", "node1"]);
        assert_eq!(names("127.0.0.1", "127.0.0.1:7"), ["loopback-node1.cluster"]);
        assert_eq!(names("[::1]", "[::1]:7"), ["loopback-node1.cluster"]);
        assert_eq!(names("gate", "127.0.0.1:7"), ["loopback-node1.cluster", "gate"]);
    }
}

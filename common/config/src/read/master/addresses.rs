//! `[master]`: addresses, store, state, and the authority that admits workers.

use super::{http, store};
use crate::keys::{Kind, TableKeys, hidden, key};
use crate::read::fields::{Fields, text};
use crate::read::master::http::HTTP_TLS;
use crate::read::master::store::ETCD;
use crate::read::paths;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_common::join_token::DEFAULT_STATE;
use compass_settings::{Advertised, AuthorityConfig, HttpConfig, StoreConfig};
use compass_types::duration::{DURATION_HELP, parse_duration};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

pub(crate) static MASTER: TableKeys = TableKeys {
    name: "master",
    title: "[master]",
    keys: &[
        key("listen", Kind::Text, "where workers connect").takes("`\"address:port\"`").default(
            "a free port of `127.0.0.1` when all workers are local, else `0.0.0.0:50051` or one of the next 15 ports",
        ),
        key("advertise", Kind::Text, "what workers are told")
            .takes("`\"host\"` or `\"host:port\"`")
            .default("this host's name and the port"),
        key("http", Kind::Text, "status page, `/metrics`, `/healthz`; other hosts only with a token")
            .takes("`\"address:port\"` or `\"off\"`")
            .default("`\"off\"`"),
        key(
            "http_token_file",
            Kind::Path,
            "file whose first line opens the pages, and which programs send as `Authorization: Bearer ...`; a random secret of at least 32 characters",
        )
        .default("none"),
        key("http_tls", Kind::Table(&HTTP_TLS), "encrypts the pages' connections: `{ cert = \"...\", key = \"...\" }`")
            .default("none"),
        key("store", Kind::Text, "where leadership and leases live; the prefix is `compass` unless written")
            .takes("`\"embedded\"` or `\"etcd://h1:2379,h2:2379/prefix\"`")
            .default("`\"embedded\"`"),
        key("etcd", Kind::Table(&ETCD), "access to the store, only beside a store in etcd").default("none"),
        key("state_dir", Kind::Path, "embedded store, keys, sockets: a disk on this host, never a network file system")
            .default("`~/.local/state/compass`"),
        key("key_file", Kind::Path, "key that seals the authority's secrets; masters that share a store share it")
            .default("`authority.key` in `state_dir`"),
        key("certificate_ttl", Kind::Duration, "life of a worker's certificate; renewed after two thirds")
            .takes("duration, 5s or more")
            .default("`\"24h\"`"),
        hidden("worker_lease", Kind::Duration),
        hidden("store_lease", Kind::Duration),
    ],
    types: &[],
};

/// Contents of the table; a folder that could not be told has been reported.
pub(crate) struct MasterConfig {
    /// As written; else [`default_listen`].
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) advertise: Option<Advertised>,
    pub(crate) state_dir: Option<PathBuf>,
    pub(crate) store: StoreConfig,
    pub(crate) worker_lease: Duration,
    pub(crate) http: Option<HttpConfig>,
    key_file: Option<PathBuf>,
    certificate_seconds: u64,
}

/// The file with the key of the authority's secrets, below the state folder unless it is named.
const KEY_FILE: &str = "authority.key";
/// Lifetime of a worker's certificate; it is renewed after two thirds.
const CERTIFICATE_SECONDS: u64 = 24 * 3_600;
/// Shorter ones would be renewed without end.
const LEAST_CERTIFICATE_SECONDS: u64 = 5;

/// Time for which a worker that is not heard keeps what it was granted.
const WORKER_LEASE: Duration = Duration::from_secs(30);

/// Ports that a master tries whose address the user did not name: several may be at work on one host.
const DEFAULT_PORTS: u16 = 16;

/// Returns the address of a master that is not told where to listen: on a free port of loopback when all of its workers run on
/// this host, else where workers of other hosts would look.
pub fn default_listen(workers_come_from_elsewhere: bool) -> SocketAddr {
    match workers_come_from_elsewhere {
        false => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
        true => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 50_051),
    }
}

impl MasterConfig {
    /// Ports that may be tried. What others were told of, or dial through a forwarded port, stays where it is.
    pub(crate) fn ports(&self) -> u16 {
        if self.listen.is_some() || self.advertise.is_some() { 1 } else { DEFAULT_PORTS }
    }

    /// Returns the authority that admits workers, if the place of its state is known.
    pub(crate) fn authority(&self) -> Option<AuthorityConfig> {
        let state_dir = self.state_dir.clone()?;
        Some(AuthorityConfig {
            key_file: self.key_file.clone().unwrap_or_else(|| state_dir.join(KEY_FILE)),
            state_dir,
            store: self.store.clone(),
            certificate_seconds: self.certificate_seconds,
        })
    }
}

/// Reads the table at `master` of `root`.
pub(crate) fn read(check: &mut Check, root: &mut Fields<'_>) -> MasterConfig {
    let given = root.table(check, "master", &MASTER);
    let mut fields = given.unwrap_or_else(|| Fields::none(root.span, &MASTER));

    let listen = fields.get("listen").and_then(|node| listen(check, node));
    let advertise = fields.get("advertise").filter(|node| !node.is_empty()).and_then(|node| advertise(check, node));
    let http = http::read(check, &mut fields);
    let mut store = store::read(check, &mut fields);
    if let (StoreConfig::Etcd(etcd), Some(lease)) = (&mut store, lease(check, &mut fields, "store_lease")) {
        etcd.lease = Some(lease);
    }
    let worker_lease = lease(check, &mut fields, "worker_lease").unwrap_or(WORKER_LEASE);
    let state_dir = match fields.get("state_dir") {
        Some(node) => paths::folder(check, "state_dir", node),
        None => default_state(check),
    };
    let key_file = fields.get("key_file").filter(|node| !node.is_empty());
    let key_file = key_file.and_then(|node| paths::resolve(check, "key_file", node));
    let life = fields.get("certificate_ttl").and_then(|node| certificate_ttl(check, node));
    fields.finish(check);
    let certificate_seconds = life.unwrap_or(CERTIFICATE_SECONDS);
    MasterConfig { listen, advertise, state_dir, store, worker_lease, http, key_file, certificate_seconds }
}

fn listen(check: &mut Check, node: &Node) -> Option<SocketAddr> {
    let written = text(check, "listen", node)?;
    // The one name that means loopback everywhere; resolving others is not the configuration's business.
    let numeric = written.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = numeric.as_deref().unwrap_or(written).parse::<SocketAddr>().ok();
    if address.is_none() {
        let help =
            "write an address and a port, as in `listen = \"127.0.0.1:0\"`, or \"0.0.0.0:50051\" for other hosts";
        bad(check, "listen", node, help);
    }
    address
}

/// A host's name or address, with a port where the outside sees another.
fn advertise(check: &mut Check, node: &Node) -> Option<Advertised> {
    let written = text(check, "advertise", node)?;
    let (host, port) = match written.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (written, None),
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') || bracketed && "[:]".contains(c);
    let port = port.map(|port| port.parse::<u16>().ok().filter(|port| *port != 0));
    if host.is_empty() || !host.chars().all(sound) || port == Some(None) {
        let help = "write what workers call this host, as in `advertise = \"head\"` or \"head.example.org:50051\"";
        bad(check, "advertise", node, help);
        return None;
    }
    Some(Advertised { host: host.to_owned(), port: port.flatten() })
}

/// A lease, which is counted in whole seconds.
fn lease(check: &mut Check, fields: &mut Fields<'_>, key: &'static str) -> Option<Duration> {
    let node = fields.get(key)?;
    let lease = text(check, key, node).and_then(parse_duration).filter(|time| time.as_secs() >= 1);
    if lease.is_none() {
        bad(check, key, node, &format!("{DURATION_HELP}; at least 1s"));
    }
    lease
}

fn certificate_ttl(check: &mut Check, node: &Node) -> Option<u64> {
    let written = text(check, "certificate_ttl", node)?;
    let seconds = parse_duration(written).map(|time| time.as_secs());
    match seconds.filter(|seconds| *seconds >= LEAST_CERTIFICATE_SECONDS) {
        Some(seconds) => Some(seconds),
        None => {
            bad(check, "certificate_ttl", node, &format!("{DURATION_HELP}; at least {LEAST_CERTIFICATE_SECONDS}s"));
            None
        }
    }
}

fn bad(check: &mut Check, key: &str, node: &Node, help: &str) {
    let message = format!("`{key}` cannot be `{}`", node.text().unwrap_or_default());
    check.error(node.span, message, Some(help.into()));
}

fn default_state(check: &mut Check) -> Option<PathBuf> {
    let home = check.environment.home.as_ref().map(|home| home.join(DEFAULT_STATE));
    if home.is_none() {
        let help = "set HOME, or give `state_dir` in [master] an absolute path on a disk on this host";
        check.report(None, "no home directory is known for the state of the master".into(), Some(help.into()));
    }
    home.and_then(|path| std::path::absolute(path).ok())
}

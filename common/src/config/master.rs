//! `[master]`: addresses, store, state. Only what masters on one host need is served yet.

use super::check::Check;
use super::fields::{Fields, text};
use super::http::{self, HttpConfig};
use super::resolved::StoreConfig;
use super::tree::Node;
use super::{paths, store};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const STATE: &str = ".local/state/compass";

/// Address, state folder, store, HTTP port.
pub(super) type MasterConfig = (SocketAddr, Option<PathBuf>, StoreConfig, Option<HttpConfig>);

/// Reads the table at `master` of `root`. `None` for the folder when it could not be told, which is reported.
pub(super) fn read(check: &mut Check, root: &mut Fields<'_>) -> MasterConfig {
    let given = root.table(check, "master", "[master]");
    let mut fields = given.unwrap_or_else(|| Fields::none(root.span, "[master]"));

    let address = fields.get("listen").and_then(|node| listen(check, node)).unwrap_or(ANY_PORT);
    if let Some(node) = fields.get("advertise")
        && text(check, "advertise", node).is_some_and(|name| !name.is_empty())
    {
        check.value_not_yet(
            "advertise",
            node,
            "workers are local and are told the address that is listened on: remove it",
        );
    }
    let http = http::read(check, &mut fields);
    let store = store::read(check, &mut fields);
    let state = match fields.get("state_dir") {
        Some(node) => paths::folder(check, "state_dir", node),
        None => default_state(check),
    };
    fields.finish(check);
    (address, state, store, http)
}

fn listen(check: &mut Check, node: &Node) -> Option<SocketAddr> {
    let written = text(check, "listen", node)?;
    // The one name that means loopback everywhere; resolving others is not the configuration's business.
    let numeric = written.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    match numeric.as_deref().unwrap_or(written).parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Some(address),
        Ok(_) => {
            let help = "workers of other hosts need TLS; write `listen = \"127.0.0.1:0\"` and use local workers";
            check.value_not_yet("listen", node, help);
            None
        }
        Err(_) => {
            bad(check, "listen", node, "write an address and a port, as in `listen = \"127.0.0.1:0\"`");
            None
        }
    }
}

fn bad(check: &mut Check, key: &str, node: &Node, help: &str) {
    let message = format!("`{key}` cannot be `{}`", node.text().unwrap_or_default());
    check.error(node.span, message, Some(help.into()));
}

fn default_state(check: &mut Check) -> Option<PathBuf> {
    let home = check.home.as_ref().map(|home| home.join(STATE));
    if home.is_none() {
        let help = "set HOME, or give `state_dir` in [master] an absolute path on a disk of this host";
        check.report(None, "no home directory is known for the state of the master".into(), Some(help.into()));
    }
    home.and_then(|path| std::path::absolute(path).ok())
}

//! `[master] http`, `http_token_file` and `http_tls`: the read-only port of a run.

use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{Fields, text};
use crate::read::paths;
use crate::report::check::Check;
use compass_settings::{HttpConfig, HttpTls};
use std::net::SocketAddr;

pub(crate) static HTTP_TLS: TableKeys = TableKeys {
    name: "master.http_tls",
    title: "[master.http_tls]",
    keys: &[
        key("cert", Kind::Path, "certificate of the host with those that signed it, PEM").required(),
        key("key", Kind::Path, "its private key, PEM; no other user may read it").required(),
    ],
    types: &[],
};

const HELP: &str = "write an address and a port, as in `http = \"127.0.0.1:8080\"`, or \"off\"";

/// Takes the three keys; `None` for no port, which is also the default: two runs on one host would want the same one.
pub(crate) fn read(check: &mut Check, fields: &mut Fields<'_>) -> Option<HttpConfig> {
    let token_file = fields.get("http_token_file").filter(|node| !node.is_empty());
    let token = token_file.and_then(|node| paths::resolve(check, "http_token_file", node));
    let tls = fields.table(check, "http_tls", &HTTP_TLS).and_then(|mut tls| {
        let cert = tls.require(check, "cert", "\"host.pem\"").and_then(|node| paths::resolve(check, "cert", node));
        let key = tls.require(check, "key", "\"host.key\"").and_then(|node| paths::resolve(check, "key", node));
        tls.finish(check);
        Some(HttpTls { cert: cert?, key: key? })
    });
    let node = fields.get("http")?;
    let written = text(check, "http", node).filter(|written| *written != "off")?;
    let numeric = written.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let Ok(address) = numeric.as_deref().unwrap_or(written).parse::<SocketAddr>() else {
        check.error(node.span, format!("`http` cannot be `{written}`"), Some(HELP.into()));
        return None;
    };
    if !address.ip().is_loopback() && token_file.is_none() {
        let help = "name a file with a random secret of at least 32 characters in `http_token_file`, or write a loopback address";
        check.error(node.span, format!("`http = \"{written}\"` is open to other hosts"), Some(help.into()));
        return None;
    }
    Some(HttpConfig { address, token_file: token, tls })
}

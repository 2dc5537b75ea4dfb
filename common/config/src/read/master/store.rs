//! `[master] store` and `[master.etcd]`: where leases live.

use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{Fields, text};
use crate::read::paths;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_settings::{EtcdConfig, StoreConfig};
use std::path::PathBuf;

pub(crate) static ETCD: TableKeys = TableKeys {
    name: "master.etcd",
    title: "[master.etcd]",
    keys: &[
        key("user", Kind::Text, "name of the user, beside `password_file`").default("none"),
        key("password_file", Kind::Path, "file that holds the password on one line, beside `user`").default("none"),
        key("ca", Kind::Path, "PEM file; with it the connection is encrypted").default("none"),
        key("cert", Kind::Path, "certificate of this client, PEM; beside `key` and `ca`").default("none"),
        key("key", Kind::Path, "key of this client, PEM; beside `cert`").default("none"),
    ],
    types: &[],
};

const SCHEME: &str = "etcd://";
const EXAMPLE: &str =
    "write `store = \"etcd://h1:2379,h2:2379,h3:2379/compass\"`, or `\"embedded\"`, which needs no service";
/// etcd's own port for clients.
const PORT: &str = "2379";
/// Prefix of the keys unless the address names one.
const PREFIX: &str = "compass";

/// Reads both from the table `[master]`.
pub(crate) fn read(check: &mut Check, master: &mut Fields<'_>) -> StoreConfig {
    let store = master.get("store").and_then(|node| address(check, node));
    let Some(mut access) = master.table(check, "etcd", &ETCD) else {
        return store.map_or(StoreConfig::Embedded, StoreConfig::Etcd);
    };
    let user = access.text(check, "user").filter(|user| !user.is_empty()).map(str::to_owned);
    let password_file = file(check, &mut access, "password_file");
    let ca = file(check, &mut access, "ca");
    let cert = file(check, &mut access, "cert");
    let key = file(check, &mut access, "key");
    let alone = [
        (user.is_some(), password_file.is_some(), "user", "password_file", "the password, on one line of a file"),
        (password_file.is_some(), user.is_some(), "password_file", "user", "whose password it is"),
        (cert.is_some(), key.is_some(), "cert", "key", "the certificate's private key, a PEM file"),
        (key.is_some(), cert.is_some(), "key", "cert", "the key's certificate, a PEM file"),
        (cert.is_some(), ca.is_some(), "cert", "ca", "the authority that signed the server's certificate, a PEM file"),
    ];
    for (given, other, name, missing, what) in alone {
        if given && !other {
            let message = format!("`{name}` in [master.etcd] without `{missing}`");
            check.error(access.span, message, Some(format!("give `{missing}`: {what}")));
        }
    }
    let span = access.span;
    access.finish(check);
    match store {
        Some(store) => StoreConfig::Etcd(EtcdConfig { user, password_file, ca, cert, key, ..store }),
        None => {
            if user.is_some() || ca.is_some() {
                let message = "[master.etcd] without a store in etcd".to_owned();
                check.error(span, message, Some(EXAMPLE.into()));
            }
            StoreConfig::Embedded
        }
    }
}

fn file(check: &mut Check, access: &mut Fields<'_>, key: &'static str) -> Option<PathBuf> {
    let node = access.get(key).filter(|node| !node.is_empty())?;
    let path = paths::resolve(check, key, node)?;
    if !path.is_file() {
        check.error(node.span, format!("no file `{}`", path.display()), Some(format!("name the file of `{key}`")));
    }
    Some(path)
}

/// The endpoints and the prefix of an address; `None` for the embedded store, and for what is none, which is reported.
fn address(check: &mut Check, node: &Node) -> Option<EtcdConfig> {
    let written = text(check, "store", node).filter(|written| *written != "embedded")?;
    let parsed = match written.strip_prefix(SCHEME) {
        Some(rest) => parse(rest),
        None => Err(format!("`store` cannot be `{written}`")),
    };
    parsed.map_err(|fault| check.error(node.span, fault, Some(EXAMPLE.into()))).ok()
}

fn parse(rest: &str) -> Result<EtcdConfig, String> {
    let (hosts, prefix) = rest.split_once('/').unwrap_or((rest, PREFIX));
    let prefix = prefix.trim_matches('/');
    let mut endpoints: Vec<String> = Vec::new();
    for host in hosts.split(',') {
        let endpoint = endpoint(host.trim())?;
        if endpoints.contains(&endpoint) {
            return Err(format!("`store` names {endpoint} twice"));
        }
        endpoints.push(endpoint);
    }
    if prefix.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!("`store` cannot have the prefix `{prefix}`: it holds spaces"));
    }
    Ok(EtcdConfig { endpoints, prefix: prefix.to_owned(), ..EtcdConfig::default() })
}

/// `host` or `host:port`, an IPv6 address in brackets.
fn endpoint(host: &str) -> Result<String, String> {
    let fault = || format!("`store` names no host and port: `{host}`");
    let bracketed = host.starts_with('[');
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !bracketed || name.ends_with(']') => (name, port),
        _ => (host, PORT),
    };
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') || bracketed && "[:]".contains(c);
    if name.is_empty() || !name.chars().all(sound) || port.parse::<u16>().map_or(true, |port| port == 0) {
        return Err(fault());
    }
    Ok(format!("{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_members_and_a_prefix() {
        let store = parse("h1:2379,h2,[::1]:23790/team/eval/").unwrap();
        assert_eq!(store.endpoints, ["h1:2379", "h2:2379", "[::1]:23790"]);
        assert_eq!(store.prefix, "team/eval");
        assert_eq!(parse("h").unwrap().prefix, "compass");
        for wrong in ["", ":1", "h:x", "h:0", "h1,,h2", "h1,h1:2379", "http://h:1", "a b", "h/x y"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

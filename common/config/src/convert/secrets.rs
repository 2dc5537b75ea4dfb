//! Keys of servers in a configuration that is written as TOML: the file has none of them.
//!
//! A script can read a key from its environment, `key=os.environ['OPENAI_API_KEY']`; what it comes to is the key itself, and a
//! file with it would be kept, sent and committed.

use crate::keys::vocabulary::asks_a_server;
use crate::read::models::openai::{KEY_ENV, is_no_key};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table, Value};

/// Parameters of OpenCompass's classes for servers that hold a key.
#[rustfmt::skip]
const KEYS: &[&str] = &[
    "key", "keys", "api_key", "openai_api_key", "apikey", "secret", "secretkey", "secret_key", "api_secret", "access_key",
    "accesskey", "ak", "sk", "token", "password",
];
/// Words in the names of environment variables that hold secrets.
const SECRET_VARIABLES: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
/// Bytes of a value below which it stands in other texts by chance.
const LEAST_BYTES: usize = 8;

/// Reports every key that `root` holds. No message has its value.
pub(crate) fn refuse(check: &mut Check, root: &Table) {
    let variables = check.environment.python.variables.clone();
    let is_secret = |name: &str| SECRET_VARIABLES.iter().any(|word| name.to_ascii_uppercase().contains(word));
    let secrets: Vec<(&str, &str)> = variables
        .iter()
        .filter(|(name, value)| is_secret(name) && value.len() >= LEAST_BYTES)
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    table(check, root, &secrets);
}

fn table(check: &mut Check, table: &Table, secrets: &[(&str, &str)]) {
    let is_server = table.text("type").is_some_and(asks_a_server);
    for entry in &table.entries {
        if is_server && KEYS.contains(&entry.key.as_str()) && !is_no_key(&entry.node) {
            report(check, entry.key_span, &format!("`{}` holds the key itself", entry.key), KEY_ENV);
        } else {
            node(check, &entry.key, &entry.node, secrets);
        }
    }
}

fn node(check: &mut Check, key: &str, node: &Node, secrets: &[(&str, &str)]) {
    match &node.value {
        Value::String(text) => {
            if let Some((name, _)) = secrets.iter().find(|(_, value)| text.contains(value)) {
                let message = format!("`{key}` holds the value of the environment variable {name}");
                report(check, node.span, &message, name);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| self::node(check, key, item, secrets)),
        Value::Table(inner) => table(check, inner, secrets),
        _ => {}
    }
}

fn report(check: &mut Check, span: Span, message: &str, variable: &str) {
    let help = format!(
        "no file is written that holds a key: write key='ENV' and set {KEY_ENV} where workers start, or an \
         `endpoint=dict(url=..., key_env='{variable}')`, which names the variable"
    );
    check.error(span, message.to_owned(), Some(help));
}

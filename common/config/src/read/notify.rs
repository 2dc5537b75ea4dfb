//! `[notify]`: where a job sends notices: that it has ended, failed, or waits.

use super::fields::{Fields, text};
use super::paths;
use crate::keys::{Kind, TableKeys, key};
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_common::regular_file;
use compass_settings::{NotifyConfig, NotifyEvent};
use compass_types::duration::parse_duration;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

pub(crate) static NOTIFY: TableKeys = TableKeys {
    name: "notify",
    title: "[notify]",
    keys: &[
        key("webhook", Kind::Text, "where a JSON object is posted")
            .takes("`http(s)://` address, or the path of a file that holds one")
            .default("none"),
        key(
            "lark",
            Kind::Text,
            "the same for a bot of Lark or Feishu, which gets a text (`lark_bot_url` of OpenCompass)",
        )
        .or(&["lark_bot_url"])
        .takes("`http(s)://` address, or the path of a file that holds one")
        .default("none"),
        key("command", Kind::Texts, "program with its arguments; the JSON object is its standard input")
            .takes("array of texts")
            .default("none"),
        key(
            "on",
            Kind::Texts,
            "when: `end` (with the table), `failure` (with the reason), `idle` (nothing runs; with the reasons)",
        )
        .takes("array of `end`, `failure`, `idle`")
        .default("all three"),
        key("idle", Kind::Duration, "how long nothing has come in before that is `idle`")
            .takes("duration, 1m or more")
            .default("`15m`"),
    ],
    types: &[],
};

const IDLE: Duration = Duration::from_secs(15 * 60);
const LEAST_IDLE: Duration = Duration::from_secs(60);

/// Reads the table; `None` where there is none, or where something is wrong with it, which is reported.
pub(crate) fn read(check: &mut Check, root: &mut Fields<'_>) -> Option<NotifyConfig> {
    let span = root.table.get("notify").map(|node| node.span);
    let mut fields = root.table(check, "notify", &NOTIFY)?;
    let webhook = fields.get("webhook").and_then(|node| address(check, "webhook", node));
    let lark = fields.either(check, "lark").and_then(|(key, node)| address(check, key, node));
    let command = fields.get("command").map(|node| command(check, node)).unwrap_or_default();
    let on = match fields.texts(check, "on") {
        None => NotifyEvent::ALL.into(),
        Some(names) => names
            .into_iter()
            .filter_map(|(name, span)| {
                let event = NotifyEvent::ALL.into_iter().find(|event| event.name() == name);
                if event.is_none() {
                    let help = "write `end`, `failure` or `idle`";
                    check.error(span, format!("`on` cannot hold `{name}`"), Some(help.into()));
                }
                event
            })
            .collect(),
    };
    let idle = fields.get("idle").and_then(|node| idle(check, node)).unwrap_or(IDLE);
    fields.finish(check);
    let config = NotifyConfig { webhook, lark, command, on, idle };
    if let (true, Some(span)) = (config.webhook.is_none() && config.lark.is_none() && config.command.is_empty(), span) {
        let help = "name a `webhook`, a `lark` bot or a `command`, or remove the table";
        if !check.has_errors() {
            check.error(span, "[notify] names no address and no command".into(), Some(help.into()));
        }
        return None;
    }
    Some(config)
}

/// An address, or the first line of the file that holds it.
fn address(check: &mut Check, key: &'static str, node: &Node) -> Option<String> {
    let written = text(check, key, node)?;
    if written.is_empty() {
        return None;
    }
    if is_address(written) {
        return Some(written.to_owned());
    }
    let help = "write an address, `https://...`, or the path of a file whose first line is one".to_owned();
    let path = paths::resolve(check, key, node)?;
    let held = match regular_file::read_text(&path, regular_file::SMALL) {
        Ok(held) => held,
        Err(error) => {
            check.error(node.span, format!("cannot read `{key}` from {}: {error}", path.display()), Some(help));
            return None;
        }
    };
    let line = held.lines().next().unwrap_or_default().trim();
    if !is_address(line) {
        let message = format!("the first line of {} is not an address for `{key}`", path.display());
        check.error(node.span, message, Some(help));
        return None;
    }
    Some(line.to_owned())
}

/// The words of the command. Its program has to be there before the job begins: at its end it is too late to say so.
fn command(check: &mut Check, node: &Node) -> Vec<String> {
    let words = check.texts("command", node).unwrap_or_default();
    let mut words: Vec<String> = words.into_iter().map(|(word, _)| word).collect();
    let (Some(program), Some(first)) = (words.first_mut(), node.items().first()) else { return words };
    let fault = if program.contains('/') {
        let Some(path) = paths::resolve(check, "command", first) else { return words };
        let fault = match path.exists() {
            true if is_program(&path) => None,
            true => Some((format!("`{program}` of `command` is no program"), "`chmod +x` makes a script one")),
            false => Some((
                format!("no file `{program}`"),
                "`command` begins with a program: a path is relative to this file",
            )),
        };
        *program = path.display().to_string();
        fault
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let is_there = std::env::split_paths(&folders).any(|folder| is_program(&folder.join(&*program)));
        let help = "install it, or write the path of a program, with a `/` in it";
        (!is_there).then(|| (format!("no program `{program}` of `command` on PATH"), help))
    };
    if let Some((message, help)) = fault {
        check.error(first.span, message, Some(help.into()));
    }
    words
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

pub(crate) fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace))
}

fn idle(check: &mut Check, node: &Node) -> Option<Duration> {
    let written = text(check, "idle", node)?;
    let read = parse_duration(written).filter(|idle| *idle >= LEAST_IDLE);
    if read.is_none() {
        let help = "write a time, as in `15m` or `2h`; at least `1m`";
        check.error(node.span, format!("`idle` cannot be `{written}`"), Some(help.into()));
    }
    read
}

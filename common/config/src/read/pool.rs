//! `[[pool]]`: places where workers are launched.

use super::fields::{Fields, table, text};
use super::paths;
use super::stages::runner;
use crate::keys::vocabulary::OFFLINE;
use crate::keys::{Kind, TableKeys, key};
use crate::read::stages::runner::LAUNCHER;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_diagnostic::spelling;
use compass_settings::{ModelConfig, PoolConfig};

pub(crate) static POOL: TableKeys = TableKeys {
    name: "pool",
    title: "[[pool]]",
    keys: &[
        key("name", Kind::Text, "the pool's name").takes("1 to 64 letters, digits, `-`, `_`, `.`").required(),
        key("launcher", Kind::Named(&LAUNCHER), "as a runner's `type` with its keys").required(),
        key("labels", Kind::Texts, "other names by which a model may ask for it").default("none"),
        key("max_num_workers", Kind::from(1), "replica slots at most").default("the job's bound"),
        key("min_num_workers", Kind::from(0), "replica slots that stay while the job lasts, idle or not").default("0"),
        key("max_gpus", Kind::from(0), "GPUs at most").default("0, no bound"),
        key(
            "paths",
            Kind::MapOf(&Kind::Text),
            "prefixes of model paths, and what stands in their place there; the longest that fits counts",
        )
        .takes("table of prefixes")
        .default("none"),
        key("environment", Kind::MapOf(&Kind::Text), "what its workers' environment gets")
            .takes("table of strings")
            .default("none"),
        key(
            "offline",
            Kind::Choice(|| OFFLINE.words()),
            "what a pool that is cut off does with granted work that has not begun",
        )
        .default("`finish`"),
        key("worker", Kind::Path, "`compass-worker` there").default("this host's program"),
    ],
    types: &[],
};

/// Reads every pool. `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, root: &mut Fields<'_>) -> Option<Vec<PoolConfig>> {
    let Some(node) = root.get("pool") else { return Some(Vec::new()) };
    let Value::Array(items) = &node.value else {
        check.wrong_type("pool", node, "an array of tables", "[{ name = \"...\", launcher = \"slurm\" }]");
        return None;
    };
    let mut pools: Vec<PoolConfig> = Vec::with_capacity(items.len());
    let mut whole = true;
    for item in items {
        match pool(check, item) {
            Some(pool) if pools.iter().any(|other| other.name == pool.name) => {
                let message = format!("two pools are called `{}`", pool.name);
                check.error(item.span, message, Some("give each a name of its own".into()));
                whole = false;
            }
            Some(pool) => pools.push(pool),
            None => whole = false,
        }
    }
    whole.then_some(pools)
}

fn pool(check: &mut Check, node: &Node) -> Option<PoolConfig> {
    let mut fields = table(check, "pool", node, &POOL)?;
    let name = fields.require(check, "name", "\"cluster\"").and_then(|node| name(check, node));
    let launcher =
        fields.require(check, "launcher", "{ type = \"slurm\", partition = \"...\" }").map(|node| (node, fields.span));
    let runner = launcher.and_then(|(node, _)| runner::launcher(check, node));
    let labels = fields.texts(check, "labels").unwrap_or_default();
    let max_num_workers = fields.u32(check, "max_num_workers");
    let min_num_workers = fields.u32(check, "min_num_workers").unwrap_or(0);
    if let Some(most) = max_num_workers.filter(|most| *most < min_num_workers)
        && let Some(node) = fields.table.get("min_num_workers")
    {
        let message = format!("`min_num_workers = {min_num_workers}` is more than `max_num_workers = {most}`");
        check.error(node.span, message, Some("lower it, or raise the other".into()));
    }
    let max_gpus = fields.u32(check, "max_gpus").unwrap_or(0);
    let pairs = |check: &mut Check, fields: &mut Fields<'_>, key| match fields.get(key) {
        Some(node) => texts_by_key(check, key, node),
        None => Vec::new(),
    };
    let mapped = pairs(check, &mut fields, "paths").into_iter().map(|(from, to)| (whole_path(check, node, &from), to));
    let mapped: Vec<(String, String)> = mapped.collect();
    let environment = pairs(check, &mut fields, "environment");
    let offline = fields.get("offline").and_then(|node| OFFLINE.pick(check, "offline", node)).unwrap_or(false);
    let worker = fields.get("worker").and_then(|node| paths::resolve(check, "worker", node));
    fields.finish(check);
    Some(PoolConfig {
        name: name?,
        runner: runner?,
        labels: labels.into_iter().map(|(label, _)| label).collect(),
        max_num_workers,
        min_num_workers,
        max_gpus,
        paths: mapped,
        environment,
        offline_continue: offline,
        worker,
    })
}

/// The beginning of a path as models' paths are once they are read: absolute, unless it is of no file system.
fn whole_path(check: &Check, node: &Node, from: &str) -> String {
    if from.contains("://") {
        return from.to_owned();
    }
    let whole = paths::beside(check, node.span).join(from);
    let whole = std::path::absolute(&whole).unwrap_or(whole).display().to_string();
    if from.ends_with('/') && !whole.ends_with('/') { whole + "/" } else { whole }
}

/// A pool's name stands in job names and on command lines.
fn name(check: &mut Check, node: &Node) -> Option<String> {
    let name = text(check, "name", node)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        let help = "write 1 to 64 letters, digits, `-`, `_` and `.`";
        check.error(node.span, format!("no name of a pool: `{name}`"), Some(help.into()));
        return None;
    }
    Some(name.to_owned())
}

fn texts_by_key(check: &mut Check, key: &'static str, node: &Node) -> Vec<(String, String)> {
    let Value::Table(table) = &node.value else {
        check.wrong_type(key, node, "a table of strings", "{ \"a\" = \"b\" }");
        return Vec::new();
    };
    let read = table.entries.iter().filter_map(|entry| {
        let value = text(check, &entry.key, &entry.node)?;
        Some((entry.key.clone(), value.to_owned()))
    });
    read.collect()
}

/// Checks what can only be told once models and pools are read: every pool that a model names is there.
pub(crate) fn fit(check: &mut Check, pools: &[PoolConfig], models: &[ModelConfig]) {
    let known: Vec<&str> =
        pools.iter().flat_map(|pool| pool.labels.iter().chain([&pool.name])).map(String::as_str).collect();
    for model in models {
        for wanted in model.pools.iter().filter(|wanted| !known.contains(&wanted.as_str())) {
            let message = format!("model `{}` wants the pool `{wanted}`, which is not defined", model.abbr);
            let near = spelling::nearest(wanted, known.iter().copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "define it in a [[pool]] table, or remove it from `pools`".to_owned(),
            };
            check.report(None, message, Some(help));
        }
    }
}

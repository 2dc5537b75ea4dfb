//! The configuration as a run keeps it: the files as they were read, and one TOML file that says the same.
//!
//! The one file is checked before it is given away: read again it asks for the same samples, or there is no file.

use super::resolve::{asked, resolve};
use crate::convert::paths;
use crate::flags::overrides::Overrides;
use crate::read::notify::is_address;
use crate::report::check::{Check, comment};
use crate::syntax::parse::parse;
use crate::syntax::source::Span;
use crate::syntax::toml_text;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_plan::InferSpec;
use compass_plan::partition::PartitionerKind;
use compass_settings::{Config, RunnerKind, WrittenConfig, digest};
use std::path::Path;

/// In the place of an address of notices.
const SECRET: &str = "(not kept)";

/// Lists of names and tables that are not in the one file: it has what they stand for.
const GONE: [&str; 5] = ["include", "import", "models", "datasets", "combination"];

/// Keys of `notify` with an address, or with the path of a file that holds one.
const ADDRESSES: [&str; 3] = ["webhook", "lark", "lark_bot_url"];

/// Files that a master names beside its `state_dir`, and those of its store.
const FILES_OF_MASTERS: [&str; 3] = ["state_dir", "key_file", "http_token_file"];
const FILES_OF_STORES: [&str; 4] = ["password_file", "ca", "cert", "key"];

/// The texts of `config`, which was read from `root`: the merged tree, with presets, `inherit` and flags of models in it.
pub(super) fn written(check: &Check, root: Table, config: &Config, flags: &Overrides) -> WrittenConfig {
    let secrets: Vec<&str> =
        config.notify.iter().flat_map(|notify| [&notify.webhook, &notify.lark]).flatten().map(String::as_str).collect();
    let hidden = |text: &str| secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, SECRET));
    let files = check.sources.given().map(|(path, text)| (name(path), hidden(text))).collect();
    WrittenConfig { files, resolved: resolved(check, root, config, flags) }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn resolved(check: &Check, mut root: Table, config: &Config, flags: &Overrides) -> Result<String, String> {
    GONE.iter().for_each(|key| drop(root.remove(key)));
    let models: Vec<&str> = config.models.iter().map(|model| model.abbr.as_str()).collect();
    let datasets: Vec<&str> = config.datasets.iter().map(|dataset| dataset.abbr.as_str()).collect();
    only(&mut root, "model", &models);
    only(&mut root, "dataset", &datasets);
    flagged(&mut root, config, flags);
    if !config.not_combined.is_empty() {
        combinations(&mut root, config, &models, &datasets);
    }
    without_addresses(check, &mut root, config);
    paths::settle(check, &mut root, None, config.data_dir.as_deref());
    put(&mut root, "work_dir", text(&config.work_dir));
    if let Some(data_dir) = &config.data_dir {
        put(&mut root, "data_dir", text(data_dir));
    }
    if let Some(master) = inner(&mut root, "master") {
        paths::absolute(check, master, &FILES_OF_MASTERS);
        for within in ["etcd", "http_tls"] {
            if let Some(table) = inner(master, within) {
                paths::absolute(check, table, &FILES_OF_STORES);
            }
        }
    }
    let text = toml_text::document(&root, &|span| comment(check, span));
    let text = format!("# All that this run was told, flags among it; `compass-master --config` takes it.\n{text}");
    let again =
        read_again(&text, config, flags).map_err(|why| format!("read again it would not be the same: {why}"))?;
    match digest(&again) == digest(config) {
        true => Ok(text),
        false => Err("read again it would ask for other samples".to_owned()),
    }
}

/// Notices without their addresses, which are secrets; those that stand in files of their own stay.
fn without_addresses(check: &Check, root: &mut Table, config: &Config) {
    let Some(notify) = inner(root, "notify") else { return };
    for key in ADDRESSES {
        if notify.get(key).is_some_and(|node| node.text().is_none_or(is_address)) {
            drop(notify.remove(key));
        }
    }
    paths::absolute(check, notify, &ADDRESSES);
    if let (Some(program), Some(Node { value: Value::Array(words), .. })) =
        (config.notify.as_ref().and_then(|notify| notify.command.first()), notify.get_mut("command"))
        && let Some(first) = words.first_mut()
    {
        first.value = Value::String(program.clone());
    }
    let is_left = |key: &&str| notify.get(key).is_some();
    if !ADDRESSES.iter().chain(&["command"]).any(is_left) {
        drop(root.remove("notify"));
    }
}

/// The configuration that a text comes to.
fn read_again(text: &str, config: &Config, flags: &Overrides) -> Result<Config, String> {
    let flags = Overrides {
        home: flags.home.clone(),
        python: flags.python.clone(),
        hub_caches: flags.hub_caches.clone(),
        remote: flags.remote.clone(),
        served: flags.served,
        scores_only: flags.scores_only,
        ..Overrides::default()
    };
    let mut check = asked(&flags);
    let path = config.work_dir.join("configs/resolved.toml");
    let file = check.sources.add(&path, path.clone(), text.to_owned());
    let span = Span { file, start: 0, end: 0 };
    let read = parse(&mut check, file).and_then(|table| resolve(&mut check, table, span, &flags));
    match (check.finish(), read) {
        (Ok(_), Some((config, _))) => Ok(config),
        (Err(faults), _) => Err(faults.to_string().lines().next().unwrap_or_default().to_owned()),
        (Ok(_), None) => Err("it is not usable".to_owned()),
    }
}

/// Writes down what flags say that no table has yet.
fn flagged(root: &mut Table, config: &Config, flags: &Overrides) {
    let number = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    for dataset in &config.datasets {
        let Some(table) = named(root, "dataset", &dataset.abbr) else { continue };
        if let Some(limit) = dataset.limit {
            put(table, "limit", number(limit.into()));
        }
        let runs = flags.dataset_num_runs.filter(|runs| *runs > 1 && matches!(dataset.infer, InferSpec::Gen(_)));
        if let Some(runs) = runs {
            put(table, "n", number(runs.into()));
            put(table, "k", number(runs.into()));
        }
    }
    for (stage, kind) in [("infer", &config.infer.runner.kind), ("eval", &config.eval.runner.kind)] {
        let (is_slurm, is_dlc) = (matches!(kind, RunnerKind::Slurm(_)), matches!(kind, RunnerKind::Dlc(_)));
        if (is_slurm && flags.slurm.asked) || (is_dlc && flags.dlc.asked) {
            // What the runner was before may have left keys that this one does not have.
            let gone: &[&str] = if is_slurm { &["aliyun_cfg"] } else { &["partition", "quotatype", "qos"] };
            let runner = inner(root, stage).and_then(|stage| inner(stage, "runner"));
            runner.into_iter().for_each(|runner| gone.iter().for_each(|key| drop(runner.remove(key))));
        }
        let numbers = [
            ("max_num_workers", flags.max_num_workers),
            ("max_workers_per_gpu", flags.max_workers_per_gpu),
            ("max_gpus", flags.max_gpus),
            ("retry", flags.retry),
        ];
        let texts = [
            ("type", flags.slurm.asked.then(|| "slurm".to_owned()).or(flags.dlc.asked.then(|| "dlc".to_owned()))),
            ("partition", flags.slurm.partition.clone().filter(|_| is_slurm)),
            ("quotatype", flags.slurm.quotatype.clone().filter(|_| is_slurm)),
            ("qos", flags.slurm.qos.clone().filter(|_| is_slurm)),
        ];
        let values = numbers.into_iter().filter_map(|(key, value)| Some((key, number(value?.into()))));
        let values = values.chain(texts.into_iter().filter_map(|(key, value)| Some((key, Value::String(value?)))));
        let mut values: Vec<(&str, Value)> = values.collect();
        if let Some(file) = flags.dlc.aliyun_cfg.as_ref().filter(|_| is_dlc) {
            values.push(("aliyun_cfg", text(&std::path::absolute(file).unwrap_or_else(|_| file.clone()))));
        }
        if values.is_empty() {
            continue;
        }
        let runner = made(made(root, stage), "runner");
        values.into_iter().for_each(|(key, value)| put(runner, key, value));
    }
    let sized = flags.max_partition_size.is_some() || flags.gen_task_coef.is_some();
    if let (true, PartitionerKind::Size { max_task_size, gen_task_coef, .. }) = (sized, &config.infer.partitioner) {
        let partitioner = made(made(root, "infer"), "partitioner");
        put(partitioner, "type", Value::String("size".into()));
        put(partitioner, "max_task_size", number(*max_task_size));
        put(partitioner, "gen_task_coef", number(*gen_task_coef));
    }
}

/// The pairs of the job, by model.
fn combinations(root: &mut Table, config: &Config, models: &[&str], datasets: &[&str]) {
    let list =
        |names: Vec<&str>| Value::Array(names.into_iter().map(|name| node(Value::String(name.into()))).collect());
    let pairs = models.iter().filter_map(|model| {
        let is_asked = |dataset: &&&str| !config.not_combined.contains(&((*model).to_owned(), (**dataset).to_owned()));
        let asked: Vec<&str> = datasets.iter().filter(is_asked).copied().collect();
        let mut table = Table::default();
        put(&mut table, "models", list(vec![model]));
        put(&mut table, "datasets", list(asked.clone()));
        (!asked.is_empty()).then(|| node(Value::Table(table)))
    });
    let pairs = Value::Array(pairs.collect());
    put(root, "combination", pairs);
}

/// Keeps the tables of a list that have these names, in the order of the names.
fn only(root: &mut Table, list: &str, names: &[&str]) {
    let Some(Node { value: Value::Array(items), .. }) = root.get_mut(list) else { return };
    let at =
        |node: &Node| names.iter().position(|name| node.table().and_then(|table| table.text("abbr")) == Some(name));
    items.retain(|node| at(node).is_some());
    items.sort_by_key(at);
    for item in items {
        if let Value::Table(table) = &mut item.value {
            // What it inherits is in it.
            drop(table.remove("inherit"));
        }
    }
}

fn named<'t>(root: &'t mut Table, list: &str, abbr: &str) -> Option<&'t mut Table> {
    let Some(Node { value: Value::Array(items), .. }) = root.get_mut(list) else { return None };
    items.iter_mut().find_map(|node| match &mut node.value {
        Value::Table(table) if table.text("abbr") == Some(abbr) => Some(table),
        _ => None,
    })
}

fn inner<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut Table> {
    match table.get_mut(key) {
        Some(Node { value: Value::Table(table), .. }) => Some(table),
        _ => None,
    }
}

/// The table at `key`, made where there is none. A text there is the type of what it names.
fn made<'t>(table: &'t mut Table, key: &str) -> &'t mut Table {
    if inner(table, key).is_none() {
        let kind = table.remove(key);
        let mut new = Table::default();
        if let Some(kind) = kind {
            put(&mut new, "type", kind.value);
        }
        put(table, key, Value::Table(new));
    }
    let at = table.entries.iter().position(|entry| entry.key == key).unwrap_or_default();
    match &mut table.entries[at].node.value {
        Value::Table(table) => table,
        _ => unreachable!("it was made above"),
    }
}

fn put(table: &mut Table, key: &str, value: Value) {
    match table.get_mut(key) {
        Some(node) => node.value = value,
        None => table.entries.push(KeyValue { key: key.to_owned(), key_span: nowhere(), node: node(value) }),
    }
}

fn text(path: &Path) -> Value {
    Value::String(path.display().to_string())
}

fn node(value: Value) -> Node {
    Node { value, span: nowhere() }
}

fn nowhere() -> Span {
    Span { file: Default::default(), start: 0, end: 0 }
}

//! `aliyun_cfg`: how a job of Alibaba's Deep Learning Center (DLC) is made, with the keys of OpenCompass's `DLCRunner`.
//!
//! It is a table of the runner, or a file of its own: TOML, Python as teams have it, or JSON. Paths of the job
//! (`bashrc_path`, caches, the worker) are those of the job's machine, so they are not looked for here. What is secret has no
//! place in it: it would stand on the command line of `dlc`, where everybody on this host can read it.

use crate::keys::{Kind, TableKeys, ignored, key};
use crate::opencompass::{json_settings, python_settings};
use crate::read::fields::{self, Fields, flag_of};
use crate::read::paths;
use crate::report::check::Check;
use crate::syntax::parse;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table, Value};
use compass_common::regular_file;
use compass_settings::{AliyunConfig, DlcCommand, JobEnvironment};
use std::path::{Path, PathBuf};

pub(crate) static ALIYUN: TableKeys = TableKeys {
    name: "aliyun_cfg",
    title: "`aliyun_cfg`",
    keys: &[
        key("workspace_id", Kind::Text, "of the jobs").required(),
        key("worker_image", Kind::Text, "of the jobs").required(),
        key("resource_id", Kind::Text, "quota").default("the workspace's own"),
        key("data_sources", Kind::Either(&[Kind::Text, Kind::Texts]), "data sets of the workspace that the jobs mount")
            .takes("array of ids, or one text with commas")
            .default("none"),
        key("bashrc_path", Kind::Text, "file that prepares the job's shell, beside `conda_env_name`").default("none"),
        key("conda_env_name", Kind::Text, "environment that the shell activates, beside `bashrc_path`").default("none"),
        key("python_env_path", Kind::Text, "environment whose `bin` comes first, without a `bashrc_path`")
            .default("the image's own"),
        key("dlc_config_path", Kind::Path, "what `dlc config` wrote, on this host").default("`dlc`'s own"),
        key("dlc_job_cmd", Kind::Text, "`create` for a `dlc` that knows `create job`")
            .takes("`submit`, `create`")
            .default("`submit`"),
        key("dlc_sleep_time", Kind::from(0), "seconds between two looks at the jobs").default("10"),
        key("priority", Kind::Whole(1, 9), "of the jobs, 1 to 9").default("1"),
        key("worker_cpu", Kind::from(1), "at least so many, and 8 for each GPU").default("12"),
        key("worker_memory", Kind::from(1), "at least so many GiB, and 128 for each GPU").default("192"),
        key("huggingface_cache", Kind::Text, "variable of the job").default("none"),
        key("torch_cache", Kind::Text, "variable of the job").default("none"),
        key("hf_endpoint", Kind::Text, "variable of the job").default("none"),
        key("http_proxy", Kind::Text, "variable of the job; a proxy with a password is refused").default("none"),
        key("hf_offline", Kind::Boolean, "no network for the hub's libraries").default("`true`"),
        key(
            "extra_envs",
            Kind::Either(&[Kind::Texts, Kind::MapOf(&Kind::Text)]),
            "variables of the job; `$OTHER` is filled in; secrets are refused",
        )
        .takes("array of `NAME=value`, or a table")
        .default("none"),
        key("env_file", Kind::Text, "file of the job to source, for secrets").default("none"),
        key("pre_cmd", Kind::Text, "run in the job before everything else").default("none"),
        key("worker_path", Kind::Text, "`compass-worker` as the job sees it").default("this host's own"),
        key("token_file", Kind::Text, "the join token as the job sees it").default("none"),
        ignored("ali_submit_dlc_path", Kind::Anything, "jobs are submitted with `dlc`"),
    ],
    types: &[],
};

/// Path at which OpenCompass looks for the file unless told otherwise.
const USUAL_FILE: &str = "~/.aliyun.cfg";
const WORKER_CPU: u32 = 12;
const WORKER_MEMORY_GI: u32 = 192;
const SLEEP_SECONDS: u32 = 10;
const ENV_FILE_HELP: &str = "write `export NAME=value` into a file that only you can read and the job sees, and name that \
                             file: `env_file = \"/...\"`";

/// The settings: those of the runner's own table, else those of the file that `--aliyun-cfg` names, else of the usual one.
/// `None` when they are not usable, which is reported.
pub(crate) fn read(
    check: &mut Check,
    node: Option<&Node>,
    flag: Option<&Path>,
    missing_at: Option<Span>,
) -> Option<AliyunConfig> {
    match (flag, node.map(|node| &node.value)) {
        (Some(path), _) => from_file(check, path, None),
        (None, Some(Value::Table(table))) => settings(check, table, node?.span),
        (None, Some(Value::String(_))) => {
            let node = node?;
            let path = paths::resolve(check, "aliyun_cfg", node)?;
            from_file(check, &path, Some(node.span))
        }
        (None, Some(_)) => {
            check.wrong_type("aliyun_cfg", node?, "a table, or the path of a file", "\"aliyun.toml\"");
            None
        }
        (None, None) => {
            let usual = check.environment.home.as_ref().map(|home| home.join(USUAL_FILE.trim_start_matches("~/")));
            match usual.filter(|path| path.is_file()) {
                Some(path) => from_file(check, &path, missing_at),
                None => {
                    let message = format!("DLC jobs need settings, and there is no {USUAL_FILE}");
                    let help = "name a file with --aliyun-cfg FILE, or write [infer.runner.aliyun_cfg] with \
                                workspace_id, worker_image ...";
                    check.report(missing_at, message, Some(help.into()));
                    None
                }
            }
        }
    }
}

fn from_file(check: &mut Check, path: &Path, named_at: Option<Span>) -> Option<AliyunConfig> {
    let read = std::fs::canonicalize(path)
        .and_then(|canonical| Ok((regular_file::read_text(path, regular_file::SMALL)?, canonical)));
    let (text, canonical) = match read {
        Ok(read) => read,
        Err(error) => {
            let message = format!("cannot read the DLC settings `{}`: {error}", path.display());
            check.report(named_at, message, Some("name a TOML or Python file with --aliyun-cfg".into()));
            return None;
        }
    };
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_toml = match extension {
        "toml" => true,
        "py" | "json" => false,
        _ => toml::de::DeTable::parse_recoverable(&text).1.is_empty(),
    };
    let (table, span) = match extension {
        _ if is_toml => {
            let file = check.sources.add(path, canonical, text);
            (parse::parse(check, file)?, Span { file, start: 0, end: 0 })
        }
        "json" => json_settings(check, path, canonical, text)?,
        _ => python_settings(check, path, canonical, text, "aliyun_cfg")?,
    };
    match table.get("aliyun_cfg").map(|node| (&node.value, node.span)) {
        Some((Value::Table(inner), span)) => settings(check, inner, span),
        _ => settings(check, &table, span),
    }
}

fn settings(check: &mut Check, table: &Table, span: Span) -> Option<AliyunConfig> {
    let mut fields = Fields::new(table, span, &ALIYUN);
    let environment = environment(check, &mut fields);
    let dlc_config_path = dlc_config(check, &mut fields);
    let workspace_id = id(check, &mut fields, "workspace_id", "\"ws...\"");
    let worker_image = id(check, &mut fields, "worker_image", "\"registry/.../image:tag\"");
    let text = |check: &mut Check, fields: &mut Fields<'_>, key| given(fields.text(check, key));
    let resource_id = text(check, &mut fields, "resource_id").unwrap_or_default();
    let data_sources = data_sources(check, &mut fields);
    let http_proxy = http_proxy(check, &mut fields);
    let extra_envs = extra_envs(check, &mut fields);
    let number = |check: &mut Check, fields: &mut Fields<'_>, key, default| fields.u32(check, key).unwrap_or(default);
    let priority = fields.u32(check, "priority").unwrap_or(1);
    let worker_cpu = number(check, &mut fields, "worker_cpu", WORKER_CPU);
    let worker_memory = number(check, &mut fields, "worker_memory", WORKER_MEMORY_GI);
    let sleep_seconds = fields.u32(check, "dlc_sleep_time").unwrap_or(SLEEP_SECONDS);
    let job_command = job_command(check, &mut fields);
    if let Some(entry) = table.entry("ali_submit_dlc_path") {
        let (what, message) = ("`ali_submit_dlc_path`", "`ali_submit_dlc_path` is ignored".into());
        check.unneeded(entry.key_span, what, message, "jobs are submitted with `dlc`");
    }
    let hf_offline = flag_of(check, &mut fields, "hf_offline").unwrap_or(true);
    let huggingface_cache = text(check, &mut fields, "huggingface_cache");
    let torch_cache = text(check, &mut fields, "torch_cache");
    let hf_endpoint = text(check, &mut fields, "hf_endpoint");
    let env_file = text(check, &mut fields, "env_file");
    let pre_cmd = text(check, &mut fields, "pre_cmd");
    let worker_path = text(check, &mut fields, "worker_path");
    let token_file = text(check, &mut fields, "token_file");
    fields.finish(check);
    Some(AliyunConfig {
        environment: environment?,
        dlc_config_path,
        workspace_id: workspace_id?,
        resource_id,
        worker_image: worker_image?,
        data_sources,
        huggingface_cache,
        torch_cache,
        hf_offline,
        http_proxy,
        hf_endpoint,
        extra_envs,
        env_file,
        priority,
        worker_cpu,
        worker_memory,
        job_command,
        sleep_seconds,
        pre_cmd,
        worker_path,
        token_file,
    })
}

/// Text that says something.
fn given(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

fn id(check: &mut Check, fields: &mut Fields<'_>, key: &'static str, example: &str) -> Option<String> {
    let node = fields.require(check, key, example)?;
    let text = fields::text(check, key, node)?;
    if text.is_empty() {
        check.error(node.span, format!("`{key}` is empty"), Some(format!("write `{key} = {example}`")));
        return None;
    }
    Some(text.into())
}

/// `bashrc_path` comes before `python_env_path`, as in OpenCompass, and wants `conda_env_name`.
fn environment(check: &mut Check, fields: &mut Fields<'_>) -> Option<JobEnvironment> {
    let bashrc = given(fields.text(check, "bashrc_path"));
    let name = given(fields.text(check, "conda_env_name"));
    let path = given(fields.text(check, "python_env_path"));
    match (bashrc, name, path) {
        (Some(bashrc), Some(name), _) => Some(JobEnvironment::Conda { bashrc, name }),
        (Some(_), None, _) => {
            let message = "`bashrc_path` wants `conda_env_name`".to_owned();
            let span = fields.table.entry("bashrc_path").map_or(fields.span, |entry| entry.key_span);
            let help = "write `conda_env_name = \"base\"`, or leave `bashrc_path` out";
            check.error(span, message, Some(help.into()));
            None
        }
        (None, _, Some(path)) => Some(JobEnvironment::Python { path }),
        (None, _, None) => Some(JobEnvironment::Image),
    }
}

/// `dlc` reads this file here and now, so it has to be there.
fn dlc_config(check: &mut Check, fields: &mut Fields<'_>) -> Option<PathBuf> {
    let node = fields.get("dlc_config_path").filter(|node| !node.is_empty())?;
    let path = paths::resolve(check, "dlc_config_path", node)?;
    if !path.is_file() {
        let message = format!("no file `{}`", path.display());
        check.needed(node.span, message, Some("run `dlc config` to make one, or correct the path".into()));
    }
    Some(path)
}

/// A list, or one text with commas.
fn data_sources(check: &mut Check, fields: &mut Fields<'_>) -> Vec<String> {
    let Some(node) = fields.get("data_sources") else { return Vec::new() };
    let named: Vec<(String, Span)> = match node.text() {
        Some(text) => text.split(',').map(|name| (name.trim().to_owned(), node.span)).collect(),
        None => check.texts("data_sources", node).unwrap_or_default(),
    };
    let mut sources = Vec::with_capacity(named.len());
    for (name, span) in named.into_iter().filter(|(name, _)| !name.is_empty()) {
        if name.contains([',', ' ']) {
            let message = format!("`{name}` is not an id of a data source");
            check.error(span, message, Some("write one id in each string, such as \"d-abc123\"".into()));
        }
        sources.push(name);
    }
    sources
}

fn http_proxy(check: &mut Check, fields: &mut Fields<'_>) -> Option<String> {
    let node = fields.get("http_proxy")?;
    let url = given(fields::text(check, "http_proxy", node))?;
    let authority = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    if authority.split('/').next().is_some_and(|host| host.contains('@')) {
        // The line that is shown with an error must not show it either.
        let span = fields.table.entry("http_proxy").map_or(node.span, |entry| entry.key_span);
        secret(check, Span { end: span.start, ..span }, "`http_proxy` holds a password");
    }
    Some(url)
}

fn extra_envs(check: &mut Check, fields: &mut Fields<'_>) -> Vec<(String, String)> {
    let named = match fields.get("extra_envs") {
        None => Vec::new(),
        Some(Node { value: Value::Table(table), .. }) => {
            let pairs = table.entries.iter().filter_map(|entry| {
                let value = fields::text(check, &entry.key, &entry.node)?;
                Some((format!("{}={value}", entry.key), entry.key_span))
            });
            pairs.collect()
        }
        Some(node) => check.texts("extra_envs", node).unwrap_or_default(),
    };
    let mut variables = Vec::with_capacity(named.len());
    for (text, span) in named {
        let is_name = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match text.split_once('=') {
            Some((name, value)) if is_name(name) => {
                if is_secret(name) && !value.is_empty() && !value.starts_with(['/', '$', '~']) {
                    secret(check, Span { end: span.start, ..span }, &format!("`{name}` of `extra_envs` is a secret"));
                }
                variables.push((name.to_owned(), value.to_owned()));
            }
            _ => {
                let message = "this is not a variable of `extra_envs`".to_owned();
                check.error(span, message, Some("write `extra_envs = [\"NAME=value\"]`".into()));
            }
        }
    }
    variables
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["TOKEN", "PASSWORD", "PASSWD", "SECRET", "API_KEY", "ACCESS_KEY", "SECRET_KEY", "CREDENTIAL", "CREDENTIALS"]
        .iter()
        .any(|word| name == *word || name.ends_with(&format!("_{word}")))
}

/// An error that does not show the line it is about.
fn secret(check: &mut Check, at: Span, what: &str) {
    let origin = check.sources.origin(at);
    let place = format!("{}:{}", origin.file.display(), origin.line);
    let message = format!("{what} ({place}), which everybody on this host could read from the command line of `dlc`");
    check.report(None, message, Some(ENV_FILE_HELP.into()));
}

fn job_command(check: &mut Check, fields: &mut Fields<'_>) -> DlcCommand {
    let Some(node) = fields.get("dlc_job_cmd") else { return DlcCommand::Submit };
    match fields::text(check, "dlc_job_cmd", node) {
        Some("create") => DlcCommand::Create,
        Some("" | "submit") | None => DlcCommand::Submit,
        Some(other) => {
            let message = format!("unknown `dlc_job_cmd` `{other}`");
            check.error(node.span, message, Some("write \"submit\" or \"create\"".into()));
            DlcCommand::Submit
        }
    }
}

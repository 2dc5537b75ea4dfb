//! The arguments of `dlc`: its words, and the shell text that the job runs. Pure.
//!
//! `dlc` is started without a shell, so no shell interprets its words. The job's text is for the shell of the job:
//! every value is quoted, but for what is shell by its nature (`pre_cmd`) and `$NAME` in `extra_envs`. Whatever stands here is
//! seen by `ps` and in the console of DLC, so nothing in it is secret: a token is named by the path of its file.

use super::super::worker_command::quoted;
use compass_settings::{AliyunConfig, DlcCommand, DlcConfig, JobEnvironment};

const OFFLINE: [&str; 4] = ["HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_EVALUATE_OFFLINE", "HF_HUB_OFFLINE"];
/// `dlc` takes names of so many characters.
const NAME_CHARACTERS: usize = 512;
const CPUS_PER_GPU: u32 = 8;
const MEMORY_GI_PER_GPU: u32 = 128;

/// The text that a job's shell runs: prepares the environment, then becomes the worker.
pub(super) fn job_text(config: &AliyunConfig, environment: &[(String, String)], worker: &str) -> String {
    let mut text = String::new();
    let mut then = |part: String| {
        text.push_str(&part);
        text.push_str("; ");
    };
    if let Some(pre) = &config.pre_cmd {
        then(pre.trim_end().trim_end_matches(';').to_owned());
    }
    match &config.environment {
        // A point, since `source` is not known to every shell.
        JobEnvironment::Conda { bashrc, name } => {
            then(format!(". {}", path(bashrc)));
            then(format!("conda activate {}", quoted(name)));
        }
        JobEnvironment::Python { path: python } => then(format!("export PATH={}/bin:\"$PATH\"", path(python))),
        JobEnvironment::Image => {}
    }
    let mut export = |name: &str, value: String| then(format!("export {name}={value}"));
    for name in ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"] {
        if let Some(cache) = &config.huggingface_cache {
            export(name, path(cache));
        }
    }
    if let Some(cache) = &config.torch_cache {
        export("TORCH_HOME", path(cache));
    }
    if config.hf_offline {
        OFFLINE.iter().for_each(|name| export(name, "1".into()));
    }
    if let Some(proxy) = &config.http_proxy {
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
            export(name, quoted(proxy));
        }
    }
    if let Some(endpoint) = &config.hf_endpoint {
        export("HF_ENDPOINT", quoted(endpoint));
    }
    for (name, value) in &config.extra_envs {
        export(name, expanding(value));
    }
    for (name, value) in environment {
        export(name, quoted(value));
    }
    if let Some(file) = &config.token_file {
        export("COMPASS_TOKEN_FILE", path(file));
    }
    if let Some(file) = &config.env_file {
        then(format!(". {}", path(file)));
    }
    // The worker takes the shell's place, so that a request to end reaches it.
    text.push_str("exec ");
    text.push_str(worker);
    text
}

/// The words that submit a job.
pub(super) fn submit_words(config: &DlcConfig, name: &str, gpus: u32, text: &str) -> Vec<String> {
    let DlcConfig { aliyun, preemptible } = config;
    let (form, workers): (&[&str], _) = match aliyun.job_command {
        DlcCommand::Submit => (&["submit", "pytorchjob"], "--workers"),
        DlcCommand::Create => (&["create", "job", "--kind", "PyTorchJob"], "--worker_count"),
    };
    let mut words: Vec<String> = form.iter().map(|word| (*word).to_owned()).collect();
    let mut pair = |key: &str, value: String| words.extend([key.to_owned(), value]);
    pair("--command", text.to_owned());
    pair("--name", name.chars().take(NAME_CHARACTERS).collect());
    if let Some(path) = &aliyun.dlc_config_path {
        pair("--config", path.display().to_string());
    }
    pair("--workspace_id", aliyun.workspace_id.clone());
    pair("--priority", aliyun.priority.to_string());
    pair(workers, "1".into());
    pair("--worker_cpu", gpus.saturating_mul(CPUS_PER_GPU).max(aliyun.worker_cpu).to_string());
    pair("--worker_gpu", gpus.to_string());
    pair("--worker_memory", format!("{}Gi", gpus.saturating_mul(MEMORY_GI_PER_GPU).max(aliyun.worker_memory)));
    pair("--worker_image", aliyun.worker_image.clone());
    if !aliyun.resource_id.is_empty() {
        words.push(format!("--resource_id={}", aliyun.resource_id));
    }
    if !aliyun.data_sources.is_empty() {
        words.push(format!("--data_sources={}", aliyun.data_sources.join(",")));
    }
    words.push(format!("--enable_priority_preemption={}", if *preemptible { "True" } else { "False" }));
    words
}

/// The words of another question about a job, with the site's configuration.
pub(super) fn words(config: &AliyunConfig, words: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    if let Some(path) = &config.dlc_config_path {
        all.extend(["--config".to_owned(), path.display().to_string()]);
    }
    all
}

/// A path of the job: `~` at its beginning is the job's home.
fn path(text: &str) -> String {
    match text.strip_prefix("~/") {
        Some(rest) => format!("~/{}", quoted(rest)),
        None => quoted(text),
    }
}

/// A value in which `$NAME` and `${NAME}` stand for variables and nothing else means anything. Quotes around the whole are
/// taken for the shell's; within single ones a dollar is one.
fn expanding(value: &str) -> String {
    let inner = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if let Some(literal) = inner('\'') {
        return quoted(literal);
    }
    let value = inner('"').unwrap_or(value);
    let mut text = String::from("\"");
    let mut rest = value;
    while let Some(c) = rest.chars().next() {
        match c {
            '$' if starts_variable(&rest[1..]) => text.push('$'),
            '$' | '"' | '`' | '\\' => text.extend(['\\', c]),
            _ => text.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    text.push('"');
    text
}

/// Returns whether the text that follows a dollar names a variable: `NAME` or `{NAME}`.
fn starts_variable(text: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    match text.strip_prefix('{') {
        None => text.starts_with(starts),
        Some(inner) => inner.split_once('}').is_some_and(|(name, _)| {
            name.starts_with(starts) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn full() -> DlcConfig {
        let aliyun = AliyunConfig {
            environment: JobEnvironment::Conda { bashrc: "~/.bashrc".into(), name: "eval".into() },
            dlc_config_path: Some("/home/me/.dlc/config".into()),
            workspace_id: "ws1".into(),
            resource_id: "quota1".into(),
            worker_image: "registry/pai:1".into(),
            data_sources: vec!["d-1".into(), "d-2".into()],
            huggingface_cache: Some("/cpfs/hf".into()),
            torch_cache: Some("/cpfs/torch".into()),
            hf_offline: true,
            http_proxy: Some("http://proxy:1".into()),
            hf_endpoint: Some("https://mirror".into()),
            extra_envs: vec![("A".into(), "/x:$A".into())],
            env_file: Some("/cpfs/me/secret.sh".into()),
            priority: 3,
            worker_cpu: 12,
            worker_memory: 192,
            job_command: DlcCommand::Submit,
            sleep_seconds: 10,
            pre_cmd: Some("ulimit -n 4096;".into()),
            worker_path: None,
            token_file: Some("/cpfs/me/token".into()),
        };
        DlcConfig { aliyun, preemptible: true }
    }

    #[test]
    fn the_text_is_the_peers_with_every_setting_in_its_place() {
        let text = job_text(&full().aliyun, &[("B".into(), "b c".into())], "worker --master h:1");
        let expected = "ulimit -n 4096; . ~/.bashrc; conda activate eval; export HF_HUB_CACHE=/cpfs/hf; export \
            HUGGINGFACE_HUB_CACHE=/cpfs/hf; export TORCH_HOME=/cpfs/torch; export HF_DATASETS_OFFLINE=1; export \
            TRANSFORMERS_OFFLINE=1; export HF_EVALUATE_OFFLINE=1; export HF_HUB_OFFLINE=1; export http_proxy=http://proxy:1; \
            export https_proxy=http://proxy:1; export HTTP_PROXY=http://proxy:1; export HTTPS_PROXY=http://proxy:1; export \
            HF_ENDPOINT=https://mirror; export A=\"/x:$A\"; export B='b c'; export COMPASS_TOKEN_FILE=/cpfs/me/token; . \
            /cpfs/me/secret.sh; exec worker --master h:1";
        assert_eq!(text, expected);
        let bare = AliyunConfig { hf_offline: false, ..AliyunConfig::default() };
        assert_eq!(job_text(&bare, &[], "worker"), "exec worker");
        let python = AliyunConfig { environment: JobEnvironment::Python { path: "/opt/my env".into() }, ..bare };
        assert_eq!(job_text(&python, &[], "worker"), "export PATH='/opt/my env'/bin:\"$PATH\"; exec worker");
    }

    #[test]
    fn both_forms_and_the_rules_for_cores_and_memory() {
        let config = full();
        let line = submit_words(&config, "name", 4, "text").join(" ");
        let expected = "submit pytorchjob --command text --name name --config /home/me/.dlc/config --workspace_id ws1 \
            --priority 3 --workers 1 --worker_cpu 32 --worker_gpu 4 --worker_memory 512Gi --worker_image registry/pai:1 \
            --resource_id=quota1 --data_sources=d-1,d-2 --enable_priority_preemption=True";
        assert_eq!(line, expected);
        let aliyun = AliyunConfig { job_command: DlcCommand::Create, ..config.aliyun };
        let line = submit_words(&DlcConfig { aliyun, preemptible: false }, "n", 0, "t").join(" ");
        assert!(line.starts_with("create job --kind PyTorchJob --command t"), "{line}");
        let rest = "--worker_count 1 --worker_cpu 12 --worker_gpu 0 --worker_memory 192Gi";
        assert!(line.contains(rest) && line.ends_with("--enable_priority_preemption=False"), "{line}");
        let long = submit_words(&full(), &"é".repeat(600), 1, "t");
        assert_eq!(long[5].chars().count(), 512);
    }

    /// Returns the value of a variable as a shell with this text prints it.
    fn printed(text: &str, name: &str) -> String {
        let script = text.replace("exec worker", &format!("printf '%s' \"${name}\""));
        let output = Command::new("sh").arg("-c").arg(&script).env("OTHER", "o p").output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{script}\n{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_hostile_value_stays_a_value(value in "[^\u{0}]{0,16}") {
            let aliyun = AliyunConfig {
                http_proxy: Some(value.clone()),
                torch_cache: Some(value.trim_start_matches('~').to_owned()),
                token_file: Some(format!("/{value}")),
                ..AliyunConfig::default()
            };
            let text = job_text(&aliyun, &[("POOL".into(), value.clone())], "worker");
            prop_assert_eq!(printed(&text, "POOL"), value.clone());
            prop_assert_eq!(printed(&text, "https_proxy"), value.clone());
            prop_assert_eq!(printed(&text, "TORCH_HOME"), value.trim_start_matches('~'));
            prop_assert_eq!(printed(&text, "COMPASS_TOKEN_FILE"), format!("/{value}"));
        }

        #[test]
        fn of_an_extra_variable_only_names_are_filled_in(value in "[ -~é\n]{0,16}") {
            prop_assume!(!value.contains('$') && !value.starts_with(['\'', '"']));
            let extra_envs = vec![("A".into(), format!("{value}$OTHER|${{OTHER}}{value}"))];
            let text = job_text(&AliyunConfig { extra_envs, ..AliyunConfig::default() }, &[], "worker");
            prop_assert_eq!(printed(&text, "A"), format!("{value}o p|o p{value}"));
        }
    }

    #[test]
    fn a_dollar_that_names_nothing_is_one() {
        for (value, expected) in [
            ("$(id)", "$(id)"),
            ("`id`$", "`id`$"),
            ("${OTHER:-x}", "${OTHER:-x}"),
            ("$1 $$", "$1 $$"),
            ("'a $OTHER'", "a $OTHER"),
            ("\"a $OTHER\"", "a o p"),
        ] {
            let aliyun = AliyunConfig { extra_envs: vec![("A".into(), value.into())], ..AliyunConfig::default() };
            assert_eq!(printed(&job_text(&aliyun, &[], "worker"), "A"), expected, "{value}");
        }
    }
}

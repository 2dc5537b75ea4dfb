//! What of an OpenCompass tree is planned here: every file of data sets is imported by a script of its own.
//!
//! `cargo run --release -p compass-config --example oc_corpus -- ROOT [--same] [--list]`: ROOT holds the package `opencompass`.
//! Data files are made, empty: only what is asked of which rows is looked at. `--same` compares with the presets of the same
//! names, whose prompts are OpenCompass's to the byte; `--list` prints the files that are served.

use compass_config::{Overrides, PythonWorld, load, preset_datasets, presets};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "py") && !path.ends_with("__init__.py") {
            files.push(path);
        }
    }
}

/// Makes every data file that an error asks for; whether there was one.
fn made(data: &Path, errors: &str) -> bool {
    let mut any = false;
    for part in errors.split('`') {
        let is_file = [".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ".lst", ".md"]
            .iter()
            .any(|end| part.ends_with(end));
        let path = if part.starts_with('/') { PathBuf::from(part) } else { data.join(part) };
        if is_file && path.starts_with(data) && !path.exists() {
            any |= path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
            any &= std::fs::write(&path, "").is_ok();
        }
    }
    any
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(root) = arguments.first().map(PathBuf::from) else {
        eprintln!("usage: oc_corpus ROOT [--same] [--list]");
        std::process::exit(2);
    };
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let folder = std::env::temp_dir().join(format!("oc-corpus-{}", std::process::id()));
    let data = folder.join("data");
    std::fs::create_dir_all(&data)?;
    let known: BTreeSet<String> = presets().into_iter().map(|preset| preset.name).collect();
    let overrides = Overrides {
        home: Some(folder.clone()),
        data_dir: Some(data.clone()),
        python: PythonWorld { opencompass: Some(root.clone()), ..PythonWorld::default() },
        ..Overrides::default()
    };
    let mut files = Vec::new();
    files_below(&root.join("opencompass/configs/datasets"), &mut files);
    files.sort();
    let (mut served, mut defining, mut same, mut different) = (0_u32, 0_u32, 0_u32, Vec::new());
    let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
    let begun = std::time::Instant::now();
    for path in &files {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let relative = path.strip_prefix(root.join("opencompass/configs")).unwrap_or(path).with_extension("");
        let module: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if !text.contains("_datasets") {
            continue;
        }
        let script = format!(
            "from mmengine.config import read_base\nwith read_base():\n    from opencompass.configs.{} import *\n\
             datasets = sum((v for k, v in locals().items() if k.endswith('_datasets') and isinstance(v, list) and v and \
             isinstance(v[0], dict)), [])\nmodels = [dict(abbr='m', path='m', test=1)]\n",
            module.join(".")
        );
        let script = script
            .replace("models = [dict(abbr='m', path='m', test=1)]", "models = [dict(type='echo', abbr='m', path='m')]");
        let eval = folder.join("eval.py");
        std::fs::write(&eval, &script)?;
        defining += 1;
        let mut loaded = load(Some(&eval), &overrides);
        for _ in 0..40 {
            let Err(errors) = &loaded else { break };
            if !made(&data, &errors.to_string()) {
                break;
            }
            loaded = load(Some(&eval), &overrides);
        }
        match loaded {
            Ok(loaded) => {
                served += 1;
                if has("--list") {
                    println!("{name}");
                }
                if has("--same") && known.contains(name) {
                    let Some(Ok(wanted)) = preset_datasets(name, Some(&data)) else { continue };
                    let text =
                        |value: &compass_config::DatasetConfig| serde_json::to_string_pretty(value).unwrap_or_default();
                    let ours: BTreeMap<&str, String> =
                        loaded.config.datasets.iter().map(|set| (set.abbr.as_str(), text(set))).collect();
                    let theirs: BTreeMap<&str, String> =
                        wanted.iter().map(|set| (set.abbr.as_str(), text(set))).collect();
                    match theirs.iter().find(|(abbr, wanted)| ours.get(*abbr) != Some(*wanted)) {
                        None => same += 1,
                        Some((abbr, wanted)) => {
                            let ours = ours.get(abbr).map(String::as_str).unwrap_or_default();
                            let line = wanted.lines().zip(ours.lines()).find(|(a, b)| a != b);
                            different.push(format!("{name}/{abbr}: {line:?}"));
                        }
                    }
                }
            }
            Err(errors) => {
                let text = errors.to_string();
                let first = text.lines().find(|line| line.starts_with("error")).unwrap_or_default();
                let reason: String = first.split('(').next().unwrap_or_default().chars().take(160).collect();
                *reasons.entry(reason).or_default() += 1;
            }
        }
    }
    let mut counted: Vec<(u32, String)> = reasons.into_iter().map(|(reason, count)| (count, reason)).collect();
    counted.sort_by(|a, b| b.cmp(a));
    let most = if has("--all") { usize::MAX } else { 60 };
    for (count, reason) in counted.iter().take(most) {
        println!("{count:4} x {reason}");
    }
    println!("{} further reasons", counted.len().saturating_sub(most));
    for line in &different {
        println!("differs: {line}");
    }
    println!(
        "{served} of {defining} files that define data sets are served; {same} presets are the same, {} differ",
        different.len()
    );
    println!("{:.2} s", begun.elapsed().as_secs_f64());
    std::fs::remove_dir_all(&folder)
}

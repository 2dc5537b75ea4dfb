//! Models and summarizers of an OpenCompass tree that are read here: every file is imported by a script of its own.
//!
//! `cargo run --release -p compass-config --example oc_models -- ROOT`: ROOT holds the package `opencompass`. Directories of
//! models need not be there: nothing is started.

use compass_config::{Overrides, PythonWorld, load};
use std::collections::BTreeMap;
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

const DATASETS: &str = "datasets = [dict(abbr='d', test=dict(path='d.jsonl'), reader_cfg=dict(input_columns=['q'],\n\
                        \x20   output_column='a'), infer_cfg=dict(prompt_template='{q}', inferencer='gen'), eval_cfg=dict(evaluator='em'))]\n";

/// Number of files, number of files that are read, and the reasons why the others are not.
#[derive(Default)]
struct Counts {
    files: u32,
    read: u32,
    without: u32,
    reasons: BTreeMap<String, Vec<String>>,
}

impl Counts {
    fn print(&self, what: &str) {
        println!("{what}: {} of {} files are read; {} define none", self.read, self.files, self.without);
        for (reason, files) in &self.reasons {
            println!("  {} files: {reason}", files.len());
            println!("      {}", files.iter().take(6).cloned().collect::<Vec<_>>().join(" "));
        }
    }
}

fn main() -> std::io::Result<()> {
    let Some(root) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: oc_models ROOT");
        std::process::exit(2);
    };
    let folder = std::env::temp_dir().join(format!("oc-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("d.jsonl"), "")?;
    let overrides = Overrides {
        home: Some(folder.clone()),
        dry_run: true,
        python: PythonWorld { opencompass: Some(root.clone()), ..PythonWorld::default() },
        ..Overrides::default()
    };
    let begun = std::time::Instant::now();
    for (kind, name, rest) in [
        ("models", "models", DATASETS.to_owned()),
        (
            "summarizers",
            "*",
            format!(
                "{DATASETS}models = [dict(type='echo', abbr='m', path='m')]\nsummarizer = [v for k, v in locals().items() if k.endswith('summarizer')][-1]\n"
            ),
        ),
        (
            "summarizers/groups",
            "*",
            format!(
                "{DATASETS}models = [dict(type='echo', abbr='m', path='m')]\nsummarizer = dict(summary_groups=sum([v for k, v in locals().items() if k.endswith('_summary_groups')], []))\n"
            ),
        ),
    ] {
        let configs = root.join("opencompass/configs");
        let mut files = Vec::new();
        files_below(&configs.join(kind), &mut files);
        files.sort();
        let mut counts = Counts::default();
        for path in files {
            if kind == "summarizers" && path.starts_with(configs.join("summarizers/groups")) {
                continue;
            }
            counts.files += 1;
            let text = std::fs::read_to_string(&path)?;
            if name != "*" && !text.contains(&format!("{name} =")) && !text.contains(&format!("import {name}")) {
                counts.without += 1;
                continue;
            }
            let relative = path.strip_prefix(&configs).unwrap_or(&path).with_extension("");
            let module: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            let module = module.join(".");
            let script = format!(
                "from mmengine.config import read_base\nwith read_base():\n    from opencompass.configs.{module} import {name}\n{rest}"
            );
            let eval = folder.join("eval.py");
            std::fs::write(&eval, script)?;
            match load(Some(&eval), &overrides) {
                Ok(_) => counts.read += 1,
                Err(errors) => {
                    let messages =
                        errors.iter().map(|error| error.message.clone()).collect::<std::collections::BTreeSet<_>>();
                    let reason = messages.into_iter().take(2).collect::<Vec<_>>().join("; ");
                    counts.reasons.entry(reason).or_default().push(relative.display().to_string());
                }
            }
        }
        counts.print(kind);
    }
    println!("{:.1} s", begun.elapsed().as_secs_f64());
    std::fs::remove_dir_all(&folder)
}

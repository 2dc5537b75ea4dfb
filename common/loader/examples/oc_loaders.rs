//! The loader classes of an OpenCompass tree, and how many of its files of data sets are planned with them.
//!
//! `cargo run --release -p compass-loader --example oc_loaders -- COMMAND ROOT [DATA]`; ROOT holds the package `opencompass`:
//! - `calls ROOT` prints what the files ask of classes that the table of splits does not know, each call once, as JSON;
//! - `load ROOT DATA` reads these lines and prints the rows of each, or the reason why there are none;
//! - `corpus ROOT DATA [--list] [--all]` counts the files that are planned, and the reasons of the others. Data files that the
//!   table of splits asks for are made, empty; what loader classes ask for must lie in DATA, or is made of what `examples.json`
//!   there has for the class.

use compass_config::{Overrides, PythonWorld, load};
use compass_loader::TreeLoader;
use compass_settings::{LoadedRows, Loader, LoaderCall, LoaderWorld, NoRows, RowLoader};
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Notes what is asked, and gives nothing.
#[derive(Debug, Default)]
struct Noting(Mutex<Vec<String>>);

impl RowLoader for Noting {
    fn load(&self, _: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        for call in calls {
            let line = serde_json::json!({"class": call.class, "parameters": call.parameters, "splits": call.splits});
            if let Ok(mut lines) = self.0.lock() {
                lines.push(line.to_string());
            }
        }
        calls.iter().map(|_| Err(NoRows::default())).collect()
    }
}

/// Gives what it gave before: many files ask for the same rows.
#[derive(Debug)]
struct Remembering {
    loader: TreeLoader,
    known: Mutex<HashMap<String, Result<LoadedRows, NoRows>>>,
    /// Small files of each class, by their names.
    examples: HashMap<String, Vec<(String, String)>>,
}

impl RowLoader for Remembering {
    fn load(&self, world: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        let Ok(mut known) = self.known.lock() else { return Vec::new() };
        let one =
            |call: &LoaderCall| known.entry(format!("{call:?}")).or_insert_with(|| self.made(world, call)).clone();
        calls.iter().map(one).collect()
    }
}

impl Remembering {
    /// Loads; data that is missing is made of a file that stands for its class.
    fn made(&self, world: &LoaderWorld, call: &LoaderCall) -> Result<LoadedRows, NoRows> {
        let load =
            || self.loader.load(world, std::slice::from_ref(call)).pop().unwrap_or_else(|| Err(NoRows::default()));
        let mut loaded = load();
        for _ in 0..12 {
            let Err(none) = &loaded else { break };
            if !self.lay(world, call, &none.reason).unwrap_or(false) {
                break;
            }
            loaded = load();
        }
        loaded
    }

    fn lay(&self, world: &LoaderWorld, call: &LoaderCall, reason: &str) -> Option<bool> {
        let class = call.class.rsplit('.').next()?;
        let examples = self.examples.get(class).map(Vec::as_slice).unwrap_or_default();
        let example = |end: &str| examples.iter().find(|(path, _)| path.ends_with(end)).map(|(_, text)| text.as_str());
        let between = |from: &str, to: char| {
            reason.split_once(from).and_then(|(_, rest)| rest.split_once(to)).map(|(part, _)| part)
        };
        let splits = |folder: &Path| {
            let text = example(".jsonl")?;
            let names = call.splits.iter().map(String::as_str).chain(["train", "validation", "test"]);
            Some(names.filter(|name| written(&folder.join(format!("{name}.jsonl")), text)).count() > 0)
        };
        if let Some(missing) = between("No such file or directory: '", '\'') {
            let path = if missing.starts_with('/') { PathBuf::from(missing) } else { world.data_dir.join(missing) };
            if !path.starts_with(&world.data_dir) || path.exists() {
                return None;
            }
            return match path.extension().and_then(|end| end.to_str()) {
                Some(end) => Some(written(&path, example(&format!(".{end}"))?)),
                None => Some(std::fs::create_dir_all(&path).is_ok()),
            };
        }
        if let Some(repository) = between("the data set `", '`') {
            let folder = format!("datasets--{}", repository.replace('/', "--"));
            return splits(&world.data_dir.join("hub").join(folder).join("snapshots/x"));
        }
        let folder = PathBuf::from(between("OSError: `", '`')?);
        if !reason.contains("has no file of split") || !folder.starts_with(&world.data_dir) {
            return None;
        }
        let folder = between("of config `", '`').map_or(folder.clone(), |config| folder.join(config));
        if folder.join("test.jsonl").exists() {
            return None;
        }
        splits(&folder)
    }
}

fn written(path: &Path, text: &str) -> bool {
    path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok()) && std::fs::write(path, text).is_ok()
}

/// `examples.json` beside the data: of each class, the names and texts of small files.
fn examples(path: &Path) -> HashMap<String, Vec<(String, String)>> {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

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

/// Makes every data file that the table of splits asks for; whether there was one.
fn made(data: &Path, errors: &str) -> bool {
    let mut any = false;
    for line in errors.lines().filter(|line| !line.contains("cannot be read here")) {
        for part in line.split('`') {
            let is_file = [".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ".lst", ".md"]
                .iter()
                .any(|end| part.ends_with(end));
            let path = if part.starts_with('/') { PathBuf::from(part) } else { data.join(part) };
            if is_file && path.starts_with(data) && !path.exists() {
                any |= path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
                any &= std::fs::write(&path, "").is_ok();
            }
        }
    }
    any
}

/// A script that uses every data set of a file.
fn script(root: &Path, path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let relative = path.strip_prefix(root.join("opencompass/configs")).ok()?.with_extension("");
    let module: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    text.contains("_datasets").then(|| {
        format!(
            "from mmengine.config import read_base\nwith read_base():\n    from opencompass.configs.{} import *\n\
             datasets = sum((v for k, v in locals().items() if k.endswith('_datasets') and isinstance(v, list) and v and \
             isinstance(v[0], dict)), [])\nmodels = [dict(type='echo', abbr='m', path='m')]\n",
            module.join(".")
        )
    })
}

fn overrides(root: &Path, data: &Path, loader: Arc<dyn RowLoader>) -> Overrides {
    Overrides {
        home: Some(data.to_path_buf()),
        data_dir: Some(data.to_path_buf()),
        hub_caches: vec![data.join("hub")],
        python: PythonWorld {
            opencompass: Some(root.to_path_buf()),
            loader: Some(Loader(loader)),
            ..PythonWorld::default()
        },
        ..Overrides::default()
    }
}

/// Reads every file of data sets of the tree; `each` is given its name and what it came to.
fn walk(
    root: &Path,
    data: &Path,
    loader: &Arc<dyn RowLoader>,
    mut each: impl FnMut(&Path, Result<(), String>),
) -> std::io::Result<()> {
    let folder = std::env::temp_dir().join(format!("oc-loaders-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let overrides = overrides(root, data, Arc::clone(loader));
    let mut files = Vec::new();
    files_below(&root.join("opencompass/configs/datasets"), &mut files);
    files.sort();
    for path in &files {
        let Some(script) = script(root, path) else { continue };
        let eval = folder.join("eval.py");
        std::fs::write(&eval, &script)?;
        let mut loaded = load(Some(&eval), &overrides);
        for _ in 0..40 {
            let Err(errors) = &loaded else { break };
            if !made(data, &errors.to_string()) {
                break;
            }
            loaded = load(Some(&eval), &overrides);
        }
        each(path, loaded.map(drop).map_err(|errors| errors.to_string()));
    }
    std::fs::remove_dir_all(&folder)
}

/// A reason without what differs from file to file.
fn grouped(errors: &str) -> Vec<String> {
    let lines = errors.lines().filter(|line| line.starts_with("error"));
    let mut reasons: Vec<String> = lines
        .map(|line| {
            let reason = line.split(" cannot be read here").nth(1).unwrap_or(line);
            let reason = reason.split_once(": ").map_or(reason, |(_, reason)| reason);
            reason.chars().take(150).collect()
        })
        .collect();
    reasons.sort();
    reasons.dedup();
    reasons
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let (Some(command), Some(root)) = (arguments.first(), arguments.get(1).map(PathBuf::from)) else {
        eprintln!("usage: oc_loaders calls|load|corpus ROOT [DATA]");
        std::process::exit(2);
    };
    let data = arguments.get(2).map_or_else(|| std::env::temp_dir().join("oc-loaders-data"), PathBuf::from);
    let data = data.join("data");
    std::fs::create_dir_all(&data)?;
    let cache = data.with_file_name("rows");
    match command.as_str() {
        "calls" => {
            let noting = Arc::new(Noting::default());
            let loader: Arc<dyn RowLoader> = Arc::clone(&noting) as Arc<dyn RowLoader>;
            walk(&root, &data, &loader, |_, _| {})?;
            let mut lines = noting.0.lock().map(|lines| lines.clone()).unwrap_or_default();
            lines.sort();
            lines.dedup();
            lines.iter().for_each(|line| println!("{line}"));
        }
        "load" => {
            let loader = TreeLoader::new(cache);
            let world = LoaderWorld {
                config: "eval.py".into(),
                trees: vec![root.join("opencompass")],
                data_dir: data.clone(),
                hub_caches: vec![data.join("hub")],
                variables: Vec::new(),
                remote: None,
                interpreter: None,
            };
            for line in std::io::stdin().lock().lines() {
                let asked: serde_json::Value = serde_json::from_str(&line?)?;
                let call = LoaderCall {
                    class: asked["class"].as_str().unwrap_or_default().to_owned(),
                    parameters: asked["parameters"].as_object().cloned().unwrap_or_default(),
                    splits: asked["splits"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(|split| split.as_str().map(str::to_owned))
                        .collect(),
                };
                let result = loader.load(&world, std::slice::from_ref(&call)).pop();
                let answer = match result {
                    Some(Ok(rows)) => {
                        let mut splits = serde_json::Map::new();
                        for (name, path) in rows.splits {
                            let lines: Vec<String> =
                                std::fs::read_to_string(path)?.lines().map(str::to_owned).collect();
                            splits.insert(name, lines.into());
                        }
                        serde_json::json!({"said": rows.said, "splits": splits})
                    }
                    Some(Err(none)) => serde_json::json!({"error": none.reason, "help": none.help}),
                    None => serde_json::json!({"error": "nothing"}),
                };
                println!("{answer}");
            }
        }
        _ => {
            let loader: Arc<dyn RowLoader> = Arc::new(Remembering {
                loader: TreeLoader::new(cache),
                known: Mutex::default(),
                examples: examples(&data.with_file_name("examples.json")),
            });
            let (mut planned, mut all, mut lacks_data) = (0_u32, 0_u32, 0_u32);
            let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
            let begun = std::time::Instant::now();
            walk(&root, &data, &loader, |path, result| {
                all += 1;
                if all.is_multiple_of(100) {
                    eprintln!("{planned} of {all} are planned, {:.0} s", begun.elapsed().as_secs_f64());
                }
                match result {
                    Ok(()) => {
                        planned += 1;
                        if has("--list") {
                            println!("{}", path.display());
                        }
                    }
                    Err(errors) => {
                        let found = grouped(&errors);
                        lacks_data += u32::from(found.iter().all(|reason| {
                            reason.contains("FileNotFoundError")
                                || reason.contains("hub cache")
                                || reason.contains("is not there")
                        }));
                        for reason in found {
                            *reasons.entry(reason).or_default() += 1;
                        }
                    }
                }
            })?;
            let mut counted: Vec<(u32, String)> = reasons.into_iter().map(|(reason, count)| (count, reason)).collect();
            counted.sort_by(|a, b| b.cmp(a));
            let most = if has("--all") { usize::MAX } else { 60 };
            counted.iter().take(most).for_each(|(count, reason)| println!("{count:4} x {reason}"));
            println!("{} further reasons", counted.len().saturating_sub(most));
            println!("{planned} of {all} files that define data sets are planned; {lacks_data} lack their data alone");
            println!("{:.2} s", begun.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

//! Prompts byte for byte as OpenCompass 0.5.4 renders them, of rows and configurations that no golden run had.
//!
//! `goldens/make_prompts.py` ran OpenCompass's own loaders, retrievers, inferencers and template parsers over files of
//! our own making, with a model that only writes down what it is asked. A golden file holds those data files and, for
//! each data set, what was asked: without a meta template, with two of base models and with one of a service.
//! `COMPASS_PEER_PROMPTS` names a further file of that kind, larger than what one would commit.

use super::layout::rendered;
use compass_config::{Overrides, load, preset_datasets};
use compass_plan::prompt::{
    MetaItem, MetaRole, MetaStyle, MetaTemplate, Mode, Prompt, RenderedDataset, RenderedPrompt, Shot,
};
use compass_plan::{Body, Sample};
use compass_pyfmt::python_str;
use compass_settings::DatasetConfig;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// More rows than any data set of a golden file has.
const ROWS: usize = 10_000;

/// A data folder that a golden file describes.
struct Made {
    folder: tempfile::TempDir,
    cases: Vec<Value>,
    /// Presets that were read: of one of 57 data sets all are checked at once.
    known: RefCell<BTreeMap<String, Vec<DatasetConfig>>>,
}

impl Made {
    fn new(golden: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in golden["files"].as_object().unwrap() {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes(content)).unwrap();
        }
        Self { folder, cases: golden["cases"].as_array().unwrap().clone(), known: RefCell::default() }
    }

    fn dataset(&self, case: &Value) -> Result<DatasetConfig, String> {
        let datasets = match case["preset"].as_str() {
            Some(preset) => self.preset(preset)?,
            None => self.written(case["toml"].as_str().unwrap())?,
        };
        let abbr = case["abbr"].as_str().unwrap();
        let names: Vec<String> = datasets.iter().map(|dataset| dataset.abbr.clone()).collect();
        let found = datasets.into_iter().find(|dataset| dataset.abbr == abbr);
        found.ok_or_else(|| format!("no data set `{abbr}` among {names:?}"))
    }

    /// Files that the golden file left out are stood in for by empty ones.
    fn preset(&self, name: &str) -> Result<Vec<DatasetConfig>, String> {
        if let Some(datasets) = self.known.borrow().get(name) {
            return Ok(datasets.clone());
        }
        let datasets = self.read_preset(name)?;
        self.known.borrow_mut().insert(name.into(), datasets.clone());
        Ok(datasets)
    }

    fn read_preset(&self, name: &str) -> Result<Vec<DatasetConfig>, String> {
        let load = || preset_datasets(name, Some(self.folder.path())).ok_or(format!("no preset `{name}`"));
        if let Err(errors) = load()? {
            for error in errors.iter() {
                let file = error.message.split_once("no file `").and_then(|(_, rest)| rest.split_once('`'));
                let path = PathBuf::from(file.ok_or_else(|| errors.to_string())?.0);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "").unwrap();
            }
        }
        load()?.map_err(|errors| errors.to_string())
    }

    fn written(&self, toml: &str) -> Result<Vec<DatasetConfig>, String> {
        let path = self.folder.path().join("eval.toml");
        std::fs::write(&path, format!("[[model]]\nabbr = \"m\"\ntype = \"echo\"\n{toml}")).unwrap();
        let flags = Overrides { home: Some(self.folder.path().into()), ..Overrides::default() };
        load(Some(&path), &flags).map(|loaded| loaded.config.datasets).map_err(|errors| errors.to_string())
    }
}

fn bytes(content: &Value) -> Vec<u8> {
    let Some(hex) = content.get("hex").and_then(Value::as_str) else {
        return content.as_str().unwrap().into();
    };
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn item(role: &str, begin: &str, end: &str, generate: bool) -> MetaRole {
    MetaRole { role: role.into(), begin: begin.into(), end: end.into(), generate, ..MetaRole::default() }
}

fn service(role: &str, api_role: &str, generate: bool) -> MetaRole {
    MetaRole { api_role: Some(api_role.into()), ..item(role, "", "", generate) }
}

/// The meta templates that the script gave its model.
fn meta(name: &str) -> Option<MetaTemplate> {
    let rounds = |roles: Vec<MetaRole>| roles.into_iter().map(MetaItem::Role).collect();
    match name {
        "lm" => Some(MetaTemplate {
            style: MetaStyle::Text,
            begin: "<s>".into(),
            round: rounds(vec![item("HUMAN", "<|H|>", "<|/H|>\n", false), item("BOT", "<|B|>", "<|/B|>\n", true)]),
            end: "<END>".into(),
            reserved_roles: vec![item("SYSTEM", "<|S|>", "<|/S|>\n", false)],
            ..MetaTemplate::default()
        }),
        "lm2" => Some(MetaTemplate {
            style: MetaStyle::Text,
            round: rounds(vec![item("HUMAN", "U: ", "\n", false), item("BOT", "A:", "", true)]),
            ..MetaTemplate::default()
        }),
        "api" => Some(MetaTemplate {
            style: MetaStyle::Messages,
            round: rounds(vec![service("HUMAN", "user", false), service("BOT", "assistant", true)]),
            reserved_roles: vec![service("SYSTEM", "system", false)],
            ..MetaTemplate::default()
        }),
        _ => None,
    }
}

/// Returns the prompts of the sample with a meta template, in the shape of OpenCompass's own record.
fn asked(dataset: &DatasetConfig, rendered: &RenderedDataset, sample: &Sample, meta: Option<&MetaTemplate>) -> Value {
    let shots: Vec<&Shot> = sample.shots.iter().map(|&at| &rendered.shots[at as usize]).collect();
    let mode = dataset.infer.prompt_mode();
    let printed = |prompt: &Prompt, mode: Mode| -> Value {
        match prompt.render_for(&shots, &rendered.format, meta, mode) {
            RenderedPrompt::Text(text) => text.into(),
            messages @ RenderedPrompt::Messages(_) => messages.printed(),
        }
    };
    match &sample.body {
        Body::Gen { prompt } | Body::Rolling { text: prompt, .. } | Body::Clp { prompt, .. } => printed(prompt, mode),
        Body::Ppl { options } => {
            options.iter().map(|option| (python_str(&option.label), printed(&option.prompt, mode))).collect()
        }
        Body::Loglikelihood { context, options } => options
            .iter()
            .map(|option| {
                let context = option.context.as_ref().unwrap_or(context).render(&shots, &rendered.format);
                (python_str(&option.label), json!(format!("{context}{}", option.continuation)))
            })
            .collect(),
        Body::Chat { turns } => turns.iter().map(|turn| json!({"role": turn.role, "prompt": turn.content})).collect(),
        Body::Windows { .. } | Body::Execute { .. } => unreachable!("they are of no single row"),
    }
}

/// The differences of one data set.
fn differences(made: &Made, case: &Value) -> Vec<String> {
    let at = format!("{} {}", case["preset"].as_str().or(case["name"].as_str()).unwrap_or_default(), case["abbr"]);
    let dataset = match made.dataset(case) {
        Ok(dataset) => dataset,
        Err(why) => return vec![format!("{at}: {why}")],
    };
    let rendered = match rendered(&dataset, ROWS) {
        Ok(rendered) => rendered,
        Err(faults) => return vec![format!("{at}: {}", faults.join("; "))],
    };
    let mut faults = Vec::new();
    for (name, expected) in case["asked"].as_object().unwrap() {
        let expected = expected.as_array().unwrap();
        // The committed files hold the first rows alone.
        if expected.len() > rendered.samples.len() || expected.is_empty() {
            faults.push(format!("{at} `{name}`: {} samples, expected {}", rendered.samples.len(), expected.len()));
            continue;
        }
        let meta = meta(name);
        for (sample, expected) in rendered.samples.iter().zip(expected) {
            let found = asked(&dataset, &rendered, sample, meta.as_ref());
            // The order of labels decides ties.
            // Of a service OpenCompass lists empty messages too; chat models are not given them.
            let mut expected = expected.clone();
            if let Some(messages) = expected.as_array_mut() {
                messages.retain(|message| message["prompt"] != "");
            }
            let alone = json!([{"role": "HUMAN", "prompt": expected}]);
            let is_text_of_service = name == "api" && expected.is_string() && found == alone;
            let (shown, wanted) = (found.to_string(), expected.to_string());
            if shown != wanted && !is_text_of_service {
                faults.push(format!("{at} `{name}` {}:\n  found    {found}\n  expected {expected}", sample.index));
                break;
            }
        }
    }
    if let Some(golds) = case["gold"].as_array() {
        let pairs = rendered.samples.iter().map(|sample| &sample.gold).zip(golds);
        let wrong = pairs.filter(|(found, expected)| python_str(found) != python_str(expected)).take(1);
        faults.extend(wrong.map(|(found, expected)| format!("{at}: gold {found}, expected {expected}")));
    }
    faults
}

fn compare(golden: &Value) {
    let made = Made::new(golden);
    let faults: Vec<String> = made.cases.iter().flat_map(|case| differences(&made, case)).collect();
    assert!(!made.cases.is_empty(), "the golden file has no case");
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), made.cases.len(), faults.join("\n"));
    eprintln!("{} data sets agree", made.cases.len());
}

fn read(path: &Path) -> Value {
    let file = std::fs::File::open(path).unwrap();
    let mut text = String::new();
    if path.extension().is_some_and(|ending| ending == "gz") {
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    } else {
        std::io::BufReader::new(file).read_to_string(&mut text).unwrap();
    }
    serde_json::from_str(&text).unwrap()
}

fn committed(name: &str) -> Value {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/presets/goldens").join(name))
}

#[test]
fn every_preset_asks_what_its_configuration_asks() {
    compare(&committed("presets.json.gz"));
}

#[test]
fn presets_of_further_families_ask_what_their_configurations_ask() {
    compare(&committed("further.json.gz"));
}

#[test]
fn configurations_drawn_at_random_ask_the_same_as_toml() {
    compare(&committed("configs.json.gz"));
}

#[test]
fn prompts_of_a_further_golden_file() {
    match std::env::var_os("COMPASS_PEER_PROMPTS") {
        Some(path) => compare(&read(Path::new(&path))),
        None => eprintln!("skipped: COMPASS_PEER_PROMPTS names no file"),
    }
}

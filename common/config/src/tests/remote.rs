//! Models and data that are elsewhere, found by an implementation of the test's own.

use super::fixture::{DATASET, Fixture, MODEL};
use crate::Loaded;
use compass_plan::ModelKind;
use compass_plan::weights::FileMark;
use compass_settings::{Choose, Remote, RemoteFault, RemoteFiles, RemoteFolder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One folder with these files, of which the small ones are in `small`.
#[derive(Clone, Debug)]
struct Store {
    small: PathBuf,
    names: Vec<&'static str>,
    offline: Option<String>,
}

impl RemoteFiles for Store {
    fn folder(&self, path: &str) -> Result<Arc<dyn RemoteFolder>, RemoteFault> {
        match path {
            "p:s3://b/7b/" | "hub:org/name" => Ok(Arc::new(self.clone())),
            _ => Err(RemoteFault { message: format!("nothing lies at {path}"), help: "check it".into() }),
        }
    }

    fn adapter(&self, path: &str) -> Result<(String, PathBuf), RemoteFault> {
        match path {
            "p:s3://b/lora/" => Ok(("p:s3://b/lora".into(), self.small.clone())),
            "hub:org/lora" => Ok(("hub:org/lora@0123".into(), self.small.clone())),
            _ => Err(RemoteFault { message: format!("no adapter at {path}"), help: "check it".into() }),
        }
    }

    fn data(&self, path: &str) -> Result<PathBuf, RemoteFault> {
        let name = path
            .strip_prefix("p:s3://data/")
            .ok_or_else(|| RemoteFault { message: format!("no data at {path}"), help: "check it".into() })?;
        Ok(self.small.join(name))
    }

    fn dataset(&self, repository: &str, revision: &str, choose: &Choose<'_>) -> Result<PathBuf, RemoteFault> {
        let fault = |message| RemoteFault { message, help: "check it".into() };
        if (repository, revision) != ("org/set", "main") {
            return Err(fault(format!("nothing lies at {repository}@{revision}")));
        }
        let all = ["README.md", "train.jsonl", "rows_a.jsonl", "one/test.jsonl", "two/test.jsonl"].map(str::to_owned);
        let names = choose(&all).map_err(fault)?;
        let folder = self.small.join("snapshot");
        for name in names {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "{}").unwrap();
        }
        Ok(folder)
    }

    fn offline(&self) -> Option<String> {
        self.offline.clone()
    }
}

impl RemoteFolder for Store {
    fn location(&self) -> String {
        "p:s3://b/7b".into()
    }

    fn small(&self) -> &Path {
        &self.small
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn weights(&self, _: ModelKind) -> Result<BTreeMap<String, FileMark>, RemoteFault> {
        Ok(BTreeMap::new())
    }
}

/// A fixture whose flags have a store with these files.
fn with_store(names: &[&'static str]) -> Fixture {
    let mut fixture = Fixture::new();
    let small = fixture.path("small");
    for name in ["config.json", "tokenizer.json", "rows_a.jsonl", "rows_b.jsonl"] {
        fixture.write(&format!("small/{name}"), "{}");
    }
    fixture.flags.remote = Some(Remote(Arc::new(Store { small, names: names.to_vec(), offline: None })));
    fixture
}

const WHOLE: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

#[test]
fn the_place_stands_in_the_configuration_and_the_small_files_are_here() {
    let fixture = with_store(&WHOLE);
    for path in ["p:s3://b/7b/", "org/name"] {
        let model = fixture.good(&(MODEL.replace("models/tiny", path) + DATASET)).models.remove(0);
        assert_eq!(model.path.to_str(), Some("p:s3://b/7b"), "{path}");
        assert_eq!(model.tokenizer_path, model.path);
        let remote = model.remote.unwrap();
        assert_eq!((remote.path, remote.tokenizer_path), (fixture.path("small"), fixture.path("small")));
    }
    let text = MODEL.replace("models/tiny", "p:s3://b/7b/") + "tokenizer_path = \"models/tiny\"\n" + DATASET;
    let model = fixture.good(&text).models.remove(0);
    assert_eq!(model.tokenizer_path, fixture.path("models/tiny"), "a tokenizer on this host");
    assert_eq!(model.remote.unwrap().tokenizer_path, fixture.path("models/tiny"));
}

#[test]
fn what_is_missing_there_is_told_as_of_a_directory() {
    let text = MODEL.replace("models/tiny", "p:s3://b/7b/") + DATASET;
    let said = with_store(&["config.json", "tokenizer.json"]).bad(&text);
    assert!(said.contains("`p:s3://b/7b/` holds neither model.safetensors nor pytorch_model.bin"), "{said}");
    let said = with_store(&["README.md", "7b-Q4_K_M.gguf"]).bad(&text);
    assert!(said.contains("`p:s3://b/7b/` holds GGUF weights (7b-Q4_K_M.gguf), which are not supported"), "{said}");
    let said = with_store(&["model_config.pt"]).bad(&text);
    assert!(said.contains("`p:s3://b/7b/` holds no config.json") && said.contains("`type = \"internlm\"`"), "{said}");
}

#[test]
fn every_place_that_cannot_be_had_is_told_at_once_where_it_is_written() {
    let fixture = with_store(&WHOLE);
    let text = MODEL.replace("models/tiny", "q:s3://b/") + &DATASET.replace("data/test.jsonl", "q:s3://data/x.jsonl");
    assert_eq!(
        fixture.places(&text),
        ["eval.toml:4:8: nothing lies at q:s3://b/", "eval.toml:8:17: no data at q:s3://data/x.jsonl"]
    );
    let said = fixture.bad(&(MODEL.replace("models/tiny", "org/other") + DATASET));
    assert!(
        said.contains(
            "no directory `org/other`, and the hub does not give a model of that name: nothing lies at hub:org/other"
        ),
        "{said}"
    );
}

#[test]
fn offline_the_hub_is_not_asked() {
    let mut fixture = with_store(&WHOLE);
    let store = Store { small: fixture.path("small"), names: WHOLE.to_vec(), offline: Some("HF_HUB_OFFLINE=1".into()) };
    fixture.flags.remote = Some(Remote(Arc::new(store)));
    let said = fixture.bad(&(MODEL.replace("models/tiny", "org/name") + DATASET));
    assert!(said.contains("HF_HUB_OFFLINE=1 forbids to fetch it"), "{said}");
}

#[test]
fn data_is_a_file_or_what_a_pattern_names() {
    let fixture = with_store(&WHOLE);
    for (path, files) in [("p:s3://data/rows_a.jsonl", 1), ("p:s3://data/rows_*.jsonl", 2)] {
        let config = fixture.good(&(MODEL.to_owned() + &DATASET.replace("data/test.jsonl", path)));
        assert_eq!(config.datasets[0].test.files.len(), files, "{path}");
    }
}

#[test]
fn a_split_of_a_data_set_of_the_hub_is_fetched_where_it_is_missing() {
    let fixture = with_store(&WHOLE);
    let of = |path: &str| MODEL.to_owned() + &DATASET.replace("data/test.jsonl", path);
    let config = fixture.good(&of("hub:org/set/two"));
    let file = fixture.path("small/snapshot/two/test.jsonl");
    assert_eq!(config.datasets[0].test.files[0].path, file);
    assert!(!fixture.path("small/snapshot/train.jsonl").exists(), "only the split is fetched");
    let said = fixture.bad(&of("hub:org/set"));
    assert!(
        said.contains("`org/set` has split `test` in several folders: choose a config, `one` or `two`")
            && said.contains("it holds `one/test.jsonl`, `rows_a.jsonl`, `train.jsonl`, `two/test.jsonl`"),
        "{said}"
    );
    let said = fixture.bad(&of("hub:org/none"));
    assert!(
        said.contains(
            "the data set `org/none` is not in the local hub cache, and it cannot be fetched: nothing lies at org/none@main"
        ),
        "{said}"
    );
}

#[test]
fn a_data_set_in_the_local_cache_is_not_asked_for_and_offline_none_is() {
    let mut fixture = with_store(&WHOLE);
    fixture.write("hub/datasets--org--other/snapshots/1/test.jsonl", "{}");
    fixture.flags.hub_caches = vec![fixture.path("hub")];
    let of = |path: &str| MODEL.to_owned() + &DATASET.replace("data/test.jsonl", path);
    let config = fixture.good(&of("hub:org/other"));
    assert_eq!(config.datasets[0].test.files[0].path, fixture.path("hub/datasets--org--other/snapshots/1/test.jsonl"));
    let offline = Some("HF_DATASETS_OFFLINE=1".to_owned());
    fixture.flags.remote = Some(Remote(Arc::new(Store { small: fixture.path("small"), names: Vec::new(), offline })));
    let said = fixture.bad(&of("hub:org/set"));
    assert!(
        said.contains("`org/set` is not in the local hub cache") && said.contains("HF_DATASETS_OFFLINE=1 forbids"),
        "{said}"
    );
}

#[test]
fn an_adapter_is_fetched_and_its_place_stands_in_the_configuration() {
    let fixture = with_store(&WHOLE);
    let of = |path: &str| format!("{MODEL}peft_path = \"{path}\"\n{DATASET}");
    for (path, place) in [("p:s3://b/lora/", "p:s3://b/lora"), ("org/lora", "hub:org/lora@0123")] {
        let model = fixture.good(&of(path)).models.remove(0);
        assert_eq!(model.peft_path.unwrap().to_str(), Some(place));
        assert_eq!(model.fetched_adapter, Some(fixture.path("small")));
    }
    let places = fixture.places(&of("q:s3://b/lora/"));
    assert_eq!(places, ["eval.toml:5:13: no adapter at q:s3://b/lora/"]);
    let said = fixture.bad(&of("org/other"));
    assert!(
        said.contains("no directory `org/other`, and the hub does not give an adapter of that name: no adapter at"),
        "{said}"
    );
}

#[test]
fn results_are_scored_where_nothing_of_what_they_were_computed_from_is_left() {
    let mut fixture = with_store(&WHOLE);
    let of = |model: &str, data: &str| {
        format!(
            "{}chat = \"auto\"\npeft_path = \"lora\"\n{}",
            MODEL.replace("models/tiny", model),
            DATASET.replace("data/test.jsonl", data)
        )
    };
    let gone = [
        of("models/gone", "data/gone.jsonl"),
        of("org/gone", "data/gone/*.csv"),
        of("q:s3://b/7b", "q:s3://data/x"),
        of("models/gone", "hub:org/none"),
        of("models/gone", "data/folder"),
    ];
    for text in &gone {
        assert!(fixture.places(text).len() > 2, "a run needs all of it");
    }
    fixture.flags.scores_only = true;
    for text in &gone {
        let Loaded { config, notes, .. } = fixture.load(text).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(config.models[0].absent.is_some() && config.datasets[0].absent.is_some(), "{text}");
        assert_eq!(notes, [], "{text}");
    }
    let config = fixture.good(&(MODEL.to_owned() + DATASET));
    assert_eq!((&config.models[0].absent, &config.datasets[0].absent), (&None, &None));
}

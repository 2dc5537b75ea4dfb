//! A folder with a model, data and configuration files, gone after the test.

use crate::{Diagnostic, Diagnostics, Loaded, Overrides, load};
use compass_settings::{Config, WrittenConfig};
use std::path::PathBuf;

/// A model and a data set that are right, to put something wrong beside.
pub(super) const MODEL: &str = "[[model]]\nabbr = \"m\"\ntype = \"hf\"\npath = \"models/tiny\"\n";
pub(super) const DATASET: &str =
    "[[dataset]]\nabbr = \"d\"\nreader_cfg = { input_columns = [\"q\"], output_column = \"a\" }
test = { path = \"data/test.jsonl\" }\ninfer_cfg = { inferencer = \"gen\", prompt_template = \"{q}\" }
eval_cfg = { evaluator = \"em\" }\n";

pub(super) struct Fixture {
    dir: tempfile::TempDir,
    pub(super) flags: Overrides,
}

impl Fixture {
    /// With `models/tiny` and a few data files.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let flags = Overrides { home: Some(dir.path().join("home")), ..Overrides::default() };
        let fixture = Self { dir, flags };
        for file in [
            "models/tiny/config.json",
            "models/tiny/tokenizer.json",
            "models/tiny/model.safetensors",
            "data/test.jsonl",
            "data/train.jsonl",
        ] {
            fixture.write(file, "{}");
        }
        fixture
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn load(&self, text: &str) -> Result<Loaded, Diagnostics> {
        self.write("eval.toml", text);
        let loaded = load(Some(&self.path("eval.toml")), &self.flags);
        // Whatever is right can be kept as one file.
        if let Ok(Loaded { written: WrittenConfig { resolved: Err(why), .. }, .. }) = &loaded {
            assert!(self.flags.dry_run, "{why}\n{text}");
        }
        loaded
    }

    /// Loads what has to be right.
    pub(super) fn good(&self, text: &str) -> Config {
        self.load(text).unwrap_or_else(|errors| panic!("{errors}")).config
    }

    /// Loads what has to be wrong; the errors as a person reads them, without the folder.
    pub(super) fn bad(&self, text: &str) -> String {
        let errors = self.load(text).expect_err("the file is wrong and was accepted");
        self.strip(&errors.to_string())
    }

    /// `file:line:column: message` of each error.
    pub(super) fn places(&self, text: &str) -> Vec<String> {
        let errors = self.load(text).expect_err("the file is wrong and was accepted");
        errors.iter().map(|error| self.strip(&place(error))).collect()
    }

    /// `file:line:column: message` of each note of a file that is right.
    pub(super) fn notes(&self, text: &str) -> Vec<String> {
        let loaded = self.load(text).unwrap_or_else(|errors| panic!("{errors}"));
        loaded.notes.iter().map(|note| self.strip(&place(note))).collect()
    }

    /// The text without the folder and without the one that tests run in.
    pub(super) fn strip(&self, text: &str) -> String {
        let here = std::env::current_dir().unwrap();
        text.replace(&format!("{}/", self.dir.path().display()), "").replace(&format!("{}/", here.display()), "")
    }
}

/// The messages of one test, each below the case that it answers: a snapshot for people to read.
#[derive(Default)]
pub(super) struct Messages(String);

impl Messages {
    /// Adds what was said in a case.
    pub(super) fn add(&mut self, case: &str, message: &str) {
        self.0.push_str(&format!("== {}\n{}\n\n", case.trim(), message.trim_end()));
    }
}

impl std::fmt::Display for Messages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0.trim_end())
    }
}

fn place(diagnostic: &Diagnostic) -> String {
    match diagnostic.origin() {
        Some(origin) => format!("{origin}: {}", diagnostic.message),
        None => diagnostic.message.clone(),
    }
}

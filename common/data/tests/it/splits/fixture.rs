//! A folder with data files and a configuration that names them, gone after the test.

use compass_config::{Overrides, load};
use compass_data::{SplitRows, read_split};
use compass_settings::Config;
use compass_types::range::RangeSpec;
use serde_json::Value;
use std::path::{Path, PathBuf};

const HEAD: &str = "[[model]]\nabbr = \"m\"\ntype = \"echo\"\n[[dataset]]\nabbr = \"d\"
reader_cfg = { input_columns = [\"q\"], output_column = \"a\" }
infer_cfg = { inferencer = \"gen\", prompt_template = \"{q}\" }\neval_cfg = { evaluator = \"em\" }\n[dataset.test]\n";
/// Lines before the first of `[dataset.test]`.
pub(super) const LINES_BEFORE: usize = 9;

pub(super) struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let fixture = Self::new();
        files.iter().for_each(|(name, text)| fixture.write(name, text));
        fixture
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// The configuration with these keys in `[dataset.test]`, or its errors without the folder.
    pub(super) fn config(&self, test: &str) -> Result<Config, String> {
        self.write("eval.toml", format!("{HEAD}{test}\n"));
        let flags = Overrides { home: Some(self.path("home")), ..Overrides::default() };
        load(Some(&self.path("eval.toml")), &flags)
            .map(|loaded| loaded.config)
            .map_err(|errors| self.strip(&errors.to_string()))
    }

    pub(super) fn split(&self, test: &str, range: &RangeSpec) -> Result<SplitRows, Vec<String>> {
        let config = self.config(test).unwrap_or_else(|errors| panic!("{errors}"));
        read_split(&config.datasets[0].test, "test_range", range)
            .map_err(|faults| faults.iter().map(|fault| self.strip(&fault.to_string())).collect())
    }

    /// The rows of a split that has to be right.
    pub(super) fn rows(&self, test: &str) -> Value {
        let split = self.split(test, &RangeSpec::All).unwrap_or_else(|faults| panic!("{faults:?}"));
        Value::Array(split.rows().map(Value::Object).collect())
    }

    /// The faults of a split that has to be wrong.
    pub(super) fn faults(&self, test: &str) -> Vec<String> {
        self.split(test, &RangeSpec::All).expect_err("the split is wrong and was read")
    }

    pub(super) fn strip(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

/// A file that Python wrote.
pub(super) fn python(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name)
}

pub(super) fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

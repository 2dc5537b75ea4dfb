//! Rows that loaders give.

use crate::site::{Site, call};
use compass_settings::{LoaderWorld, RowLoader as _};

#[test]
fn rows_are_those_of_the_class_in_the_order_of_its_columns() {
    let Some(site) = Site::new() else { return };
    let path = r#"{"path": "data/rows.jsonl"}"#;
    let results = site.load(&[
        call("opencompass.datasets.Plain", path, &["test", "train"]),
        call("Splits", r#"{"path": "data/rows.jsonl", "name": "named"}"#, &["validation", "train"]),
        call("opencompass.datasets.plain.Built", r#"{"path": "data/rows.jsonl", "suffix": "!"}"#, &["test"]),
        call("opencompass.datasets.Renamed", path, &["test"]),
        call("opencompass.datasets.Plain", path, &["test", "train"]),
    ]);
    let results: Vec<_> = results.into_iter().map(|result| result.unwrap_or_else(|none| panic!("{none:?}"))).collect();
    let text = |at: usize, split: &str| std::fs::read_to_string(results[at].file(split).unwrap()).unwrap();
    let both = "{\"q\": \"one\", \"a\": 1}\n{\"q\": \"zwei ü\", \"a\": 2}\n";
    assert_eq!((text(0, "test").as_str(), text(0, "train").as_str()), (both, both));
    assert_eq!(text(1, "validation"), "{\"z\": \"named\", \"q\": \"one\", \"a\": 1}\n");
    assert_eq!(text(1, "train"), both);
    assert_eq!(text(2, "test"), both.replace("one", "one!").replace("ü", "ü!"));
    assert_eq!((text(3, "test").as_str(), text(4, "test").as_str()), (both, both));
    let said = &results[0].said;
    assert!(said.contains("OpenCompass 9.8.7) read 11 rows of 5 data sets"), "{said}");
    assert!(results.iter().all(|rows| rows.said == *said));
}

#[test]
fn sets_have_one_order() {
    let Some(site) = Site::new() else { return };
    let first = site.rows("Environment", "{}", "test").unwrap().0;
    std::fs::remove_dir_all(site.path("state")).unwrap();
    assert_eq!(site.rows("Environment", "{}", "test").unwrap().0, first);
}

#[test]
fn a_library_that_only_imports_name_is_not_needed() {
    let Some(site) = Site::new() else { return };
    assert_eq!(site.rows("Named", "{}", "test").unwrap().0, "{\"q\": \"read\"}\n");
    let none = site.rows("Calling", "{}", "test").unwrap_err();
    assert!(none.reason.contains("ModuleNotFoundError: No module named 'not_there'"), "{none:?}");
    assert!(none.reason.contains("needy.py:"), "{none:?}");
}

#[test]
fn what_a_class_cannot_is_its_own_error() {
    let Some(site) = Site::new() else { return };
    let path = r#"{"path": "data/rows.jsonl"}"#;
    let results = site.load(&[
        call("opencompass.datasets.Missing", path, &["test"]),
        call("Plain", r#"{"path": "data/none.jsonl"}"#, &["test"]),
        call("Plain", r#"{"wrong": 1}"#, &["test"]),
        call("Splits", path, &["test"]),
        call("Odd", r#"{"value": "text"}"#, &["test"]),
        call("Odd", r#"{"value": "nan"}"#, &["test"]),
        call("Odd", r#"{"value": "bytes"}"#, &["test"]),
        call("opencompass.datasets.broken.Never", "{}", &["test"]),
        call("Ended", r#"{"how": "raise SystemExit(3)"}"#, &["test"]),
        call("Plain", path, &["test"]),
    ]);
    let said: Vec<String> =
        results.into_iter().map(|result| result.map_or_else(|none| none.reason, |_| "rows".into())).collect();
    for (said, wanted) in said.iter().zip([
        "raised AttributeError: module 'opencompass.datasets' has no attribute 'Missing'",
        "FileNotFoundError",
        "TypeError",
        "KeyError: \"no split 'test': there are train, validation\"",
        "its own loader gives no rows that can be read: a str",
        "ValueError: Out of range float values",
        "can be read: a row holds a value that JSON has not: bytes",
        "RuntimeError: imported without need",
        "SystemExit: 3",
        "rows",
    ]) {
        assert!(said.contains(wanted), "{said} instead of {wanted}");
    }
}

#[test]
fn without_an_interpreter_nothing_is_started() {
    let Some(site) = Site::new() else { return };
    let world = LoaderWorld { interpreter: None, ..site.world.clone() };
    let results = site.exporter().load(&world, &[call("Plain", "{}", &["test"])]);
    assert_eq!(results[0].as_ref().unwrap_err().reason, "");
    assert!(site.exporter().configuration(&world).is_none());
    assert!(!site.path("state").exists());
}

#[test]
fn data_and_tree_are_those_that_are_named() {
    let Some(mut site) = Site::new() else { return };
    site.write("elsewhere/rows.jsonl", "{\"q\": \"elsewhere\"}\n");
    site.write("tree/opencompass/__init__.py", "__version__ = '1.0'\n");
    for name in ["utils/__init__.py", "utils/logging.py", "datasets/base.py", "datasets/plain.py"] {
        let text = std::fs::read_to_string(site.path("site/opencompass").join(name)).unwrap();
        site.write(&format!("tree/opencompass/{name}"), &text);
    }
    site.write("tree/opencompass/datasets/__init__.py", "from .plain import *\n");
    site.world.trees = vec![site.path("tree/opencompass")];
    site.world.data_dir = site.path("elsewhere");
    let (rows, said) = site.rows("Plain", r#"{"path": "data/rows.jsonl"}"#, "test").unwrap();
    assert_eq!(rows, "{\"q\": \"elsewhere\"}\n");
    assert!(said.contains("OpenCompass 1.0"), "{said}");
}

#[test]
fn a_class_beside_the_configuration_is_imported_from_there() {
    let Some(site) = Site::new() else { return };
    let source = "from datasets import Dataset\nfrom opencompass.datasets.base import BaseDataset\n\n\nclass Mine(BaseDataset):\n    \
                  @staticmethod\n    def load():\n        return Dataset([{'q': 'own'}])\n";
    site.write("mydata.py", source);
    for class in [".mydata.Mine", "mydata.Mine"] {
        assert_eq!(site.rows(class, "{}", "test").unwrap().0, "{\"q\": \"own\"}\n");
    }
    let none = site.rows(".nodata.Mine", "{}", "test").unwrap_err();
    assert!(none.reason.contains("No module named 'nodata'"), "{none:?}");
}

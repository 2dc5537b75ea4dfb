//! Loader classes evaluated here give the rows that they give in CPython with the `datasets` library.
//!
//! `vectors.json` holds what CPython printed for the loaders in `tree/` (made by `make_vectors.py`); `opencompass.json` the same
//! for OpenCompass's own classes on small files (made by `make_opencompass.py`), whose source this test looks for.

use compass_loader::{Limits, TreeLoader};
use compass_settings::{LoadedRows, LoaderCall, LoaderWorld, NoRows, RowLoader};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn here(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(relative)
}

fn vectors(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(here(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn call(vector: &Value) -> LoaderCall {
    LoaderCall {
        class: format!("opencompass.datasets.{}", vector["class"].as_str().unwrap()),
        parameters: vector["parameters"].as_object().unwrap().clone(),
        splits: vector["splits"].as_object().unwrap().keys().cloned().collect(),
    }
}

fn one(loader: &TreeLoader, world: &LoaderWorld, call: &LoaderCall) -> Result<LoadedRows, NoRows> {
    loader.load(world, std::slice::from_ref(call)).pop().unwrap()
}

/// The first difference of two lists of rows, order of columns included.
fn difference(rows: &LoadedRows, wanted: &Value) -> Option<String> {
    for (split, lines) in wanted.as_object().unwrap() {
        let text = std::fs::read_to_string(rows.file(split).unwrap()).unwrap();
        let ours: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let theirs: Vec<Value> = lines
            .as_array()
            .unwrap()
            .iter()
            .map(|line| serde_json::from_str(line.as_str().unwrap()).unwrap())
            .collect();
        // Compared as texts: objects of JSON are equal in any order.
        let shown = |row: Option<&Value>| row.map_or_else(|| "nothing".to_owned(), Value::to_string);
        for at in 0..ours.len().max(theirs.len()) {
            let (a, b) = (shown(ours.get(at)), shown(theirs.get(at)));
            if a != b {
                return Some(format!("{split} {at}\n  here: {a}\nCPython: {b}"));
            }
        }
    }
    None
}

fn world(tree: &Path, data: &Path) -> LoaderWorld {
    LoaderWorld {
        config: data.join("eval.py"),
        trees: vec![tree.join("opencompass")],
        data_dir: data.join("data"),
        hub_caches: vec![data.join("data/hub")],
        variables: Vec::new(),
        remote: None,
        interpreter: None,
    }
}

#[test]
fn loaders_give_the_rows_of_cpython() {
    let cache = tempfile::tempdir().unwrap();
    let loader = TreeLoader::new(cache.path().into());
    let world = world(&here("tree"), &here("tree"));
    let mut wrong = Vec::new();
    for vector in vectors("vectors.json") {
        let call = call(&vector);
        match one(&loader, &world, &call) {
            Ok(rows) => {
                wrong.extend(difference(&rows, &vector["splits"]).map(|said| format!("{}: {said}", call.class)))
            }
            Err(none) => wrong.push(format!("{}: {}", call.class, none.reason)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn opencompass_classes_give_their_own_rows() {
    let Some(tree) = std::env::var_os("COMPASS_OPENCOMPASS").map(PathBuf::from) else {
        eprintln!("skipped: COMPASS_OPENCOMPASS names no folder with the package opencompass 0.5.4");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let loader = TreeLoader::new(folder.path().join("rows"));
    let mut wrong = Vec::new();
    let vectors = vectors("opencompass.json");
    assert!(vectors.len() >= 40);
    for (at, vector) in vectors.iter().enumerate() {
        let data = folder.path().join(at.to_string());
        std::fs::create_dir_all(data.join("data")).unwrap();
        for (path, text) in vector["files"].as_object().unwrap() {
            let path = data.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.as_str().unwrap()).unwrap();
        }
        let call = call(vector);
        match one(&loader, &world(&tree, &data), &call) {
            Ok(rows) => {
                wrong.extend(difference(&rows, &vector["splits"]).map(|said| format!("{}: {said}", call.class)))
            }
            Err(none) => wrong.push(format!("{}: {}", call.class, none.reason)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rows_are_kept_until_something_changes() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree/opencompass");
    std::fs::create_dir_all(tree.join("datasets")).unwrap();
    let source = "import json\nfrom datasets import Dataset\nclass OneDataset:\n    @staticmethod\n    def load(path):\n        \
                  with open(path) as f:\n            return Dataset.from_list([json.loads(line) for line in f])\n";
    std::fs::write(tree.join("datasets/__init__.py"), "from .one import *\n").unwrap();
    std::fs::write(tree.join("datasets/one.py"), source).unwrap();
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    let data = folder.path().join("data/a.jsonl");
    std::fs::write(&data, "{\"q\": 1}\n{\"q\": 2}\n").unwrap();
    let loader = TreeLoader::new(folder.path().join("rows"));
    let world = world(&folder.path().join("tree"), folder.path());
    let parameters = serde_json::json!({"path": "./data/a.jsonl"}).as_object().unwrap().clone();
    let call = LoaderCall { class: "OneDataset".into(), parameters, splits: vec!["test".into(), "train".into()] };
    let first = one(&loader, &world, &call).unwrap();
    assert_eq!(first.said, "OneDataset: read by OpenCompass's own loader (one.py:5), 2 rows");
    assert_eq!(first.file("test"), first.file("train"), "one data set serves both");
    assert_eq!(one(&loader, &world, &call).unwrap(), first);
    std::fs::write(&data, "{\"q\": 1}\n").unwrap();
    let changed = one(&loader, &world, &call).unwrap();
    assert_ne!(changed.file("test"), first.file("test"), "rows of other data are other files");
    std::fs::write(tree.join("datasets/one.py"), format!("# changed\n{source}")).unwrap();
    let other = one(&loader, &world, &call).unwrap();
    assert_ne!(other.file("test"), changed.file("test"), "the source is part of what rows are named by");
    std::fs::remove_file(&data).unwrap();
    let missing = one(&loader, &world, &call).unwrap_err();
    assert!(
        missing.reason.contains("one.py:7:14: FileNotFoundError") && missing.reason.contains("a.jsonl"),
        "{missing:?}"
    );
}

#[test]
fn a_file_is_read_by_so_many_characters() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree/opencompass");
    std::fs::create_dir_all(tree.join("datasets")).unwrap();
    let source = "from datasets import Dataset\nclass PartsDataset:\n    @staticmethod\n    def load(path):\n        \
                  with open(path, encoding='utf-8') as f:\n            parts = [f.read(3), f.read(0), f.read(1), f.read(), \
                  f.read(9)]\n        return Dataset.from_list([dict(q=part) for part in parts])\n";
    std::fs::write(tree.join("datasets/__init__.py"), "from .parts import *\n").unwrap();
    std::fs::write(tree.join("datasets/parts.py"), source).unwrap();
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/a.txt"), "añ🙂é\nb").unwrap();
    let loader = TreeLoader::new(folder.path().join("rows"));
    let world = world(&folder.path().join("tree"), folder.path());
    let parameters = serde_json::json!({"path": "./data/a.txt"}).as_object().unwrap().clone();
    let call = LoaderCall { class: "PartsDataset".into(), parameters, splits: vec!["test".into()] };
    let rows = one(&loader, &world, &call).unwrap_or_else(|none| panic!("{}", none.reason));
    let text = std::fs::read_to_string(rows.file("test").unwrap()).unwrap();
    let parts: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["q"].clone()).collect();
    assert_eq!(parts, ["añ🙂", "", "é", "\nb", ""]);
}

#[test]
fn what_cannot_be_read_says_where_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree/opencompass");
    std::fs::create_dir_all(tree.join("datasets")).unwrap();
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    let loader = TreeLoader::new(folder.path().join("rows")).with_limits(limits);
    let world = world(&folder.path().join("tree"), folder.path());
    let cases = [
        (
            "import numpy as np\nclass A:\n    @staticmethod\n    def load():\n        return np.array([1])\n",
            "a.py:5:16: `numpy.array` is not evaluated here",
        ),
        (
            "class A:\n    @staticmethod\n    def load():\n        try:\n            open('/etc/passwd').read()\n        except Exception:\n            pass\n",
            "a.py:5:13: PermissionError",
        ),
        (
            "import random\nfrom datasets import Dataset\nclass A:\n    @staticmethod\n    def load():\n        return Dataset.from_list([{'a': random.random()}])\n",
            "without a seed",
        ),
        (
            "from datasets import Dataset\nclass A:\n    @staticmethod\n    def load():\n        return Dataset.from_list([{'a': 1}, {'a': 'x'}])\n",
            "Could not convert 'x' with type str: tried to convert to int64",
        ),
        (
            "from datasets import Dataset\nclass A:\n    @staticmethod\n    def load():\n        return Dataset.from_list([{'a': float('nan')}])\n",
            "not a finite number",
        ),
        (
            "from datasets import Dataset\nclass A:\n    @staticmethod\n    def load():\n        return Dataset.from_list([{'a': 2 ** 70}])\n",
            "OverflowError",
        ),
        (
            "from datasets import Dataset\nclass Meta(type):\n    pass\nclass B:\n    @staticmethod\n    def load():\n        \
             return Dataset.from_list([{'a': 1}])\nclass A(B, metaclass=Meta):\n    pass\n",
            "a.py:8:1: `A` has no value here: NotImplementedError: `class A(metaclass=Meta)` is not evaluated here",
        ),
        ("class A:\n    @staticmethod\n    def load():\n        while True:\n            pass\n", "did not end"),
        (
            "class A:\n    @staticmethod\n    def load():\n        return eval('__import__(\"os\").system(\"ls\")')\n",
            "only literals are evaluated",
        ),
        (
            "from datasets import Dataset, DatasetDict\nclass A:\n    @staticmethod\n    def load():\n        return DatasetDict({'dev': Dataset.from_list([{'a': 1}])})\n",
            "it gives no split `test`, but `dev`",
        ),
    ];
    for (source, wanted) in cases {
        std::fs::write(tree.join("datasets/a.py"), source).unwrap();
        std::fs::write(tree.join("datasets/__init__.py"), "from .a import A\n").unwrap();
        let call = LoaderCall { class: "A".into(), parameters: Default::default(), splits: vec!["test".into()] };
        let none = one(&loader, &world, &call).unwrap_err();
        assert!(none.reason.contains(wanted), "{source}: {}", none.reason);
        assert!(none.help.is_some());
    }
}

#[test]
fn a_class_beside_the_configuration_gives_its_own_rows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/a.jsonl"), "{\"q\": 1}\n{\"q\": 2}\n").unwrap();
    let source = "import json\nfrom datasets import Dataset\nfrom opencompass.datasets.base import BaseDataset\n\
                  from .part import kept\n\nclass Mine(BaseDataset):\n    @staticmethod\n    def load(path):\n        \
                  with open(path) as f:\n            return Dataset.from_list(kept([json.loads(line) for line in f]))\n";
    std::fs::write(folder.path().join("mydata.py"), source).unwrap();
    std::fs::write(folder.path().join("part.py"), "def kept(rows):\n    return rows[1:]\n").unwrap();
    let loader = TreeLoader::new(folder.path().join("rows"));
    let world = world(&here("tree"), folder.path());
    let parameters = serde_json::json!({"path": "./data/a.jsonl"}).as_object().unwrap().clone();
    let call =
        |class: &str| LoaderCall { class: class.into(), parameters: parameters.clone(), splits: vec!["test".into()] };
    for class in ["mydata.Mine", ".mydata.Mine"] {
        let rows = one(&loader, &world, &call(class)).unwrap();
        assert_eq!(std::fs::read_to_string(rows.file("test").unwrap()).unwrap(), "{\"q\": 2}\n");
        assert_eq!(rows.said, "Mine: read by its own `load` (mydata.py:8), 1 row");
    }
    // A class of that name in another folder is another one.
    let elsewhere = LoaderWorld { config: folder.path().join("other/eval.py"), ..world.clone() };
    let none = one(&loader, &elsewhere, &call("mydata.Mine")).unwrap_err();
    assert!(none.reason.contains("there is no `mydata.py` beside the configuration"), "{none:?}");
    assert!(none.help.unwrap().contains("--python PATH"));
    let none = one(&loader, &world, &call("mydata.Other")).unwrap_err();
    assert!(none.reason.contains("the module `mydata` has no class `Other`"), "{none:?}");
    assert!(none.help.unwrap().contains("--python PATH"));
    std::fs::write(folder.path().join("mydata.py"), source.replace("open(path)", "open('/etc/passwd')")).unwrap();
    let none = one(&loader, &world, &call("mydata.Mine")).unwrap_err();
    assert!(none.reason.contains("mydata.py:9:") && none.reason.contains("PermissionError"), "{none:?}");
}

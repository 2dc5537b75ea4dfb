//! The local cache of the Hugging Face hub, laid out as its library lays it out.

use super::fixture::Fixture;
use serde_json::json;

const HUB: &str = "home/.cache/huggingface/hub";

fn fixture(repo: &str, files: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::new();
    fixture.write(&format!("{HUB}/datasets--{repo}/refs/main"), "c0ffee");
    for (at, (name, text)) in files.iter().enumerate() {
        // Files of a snapshot are links to blobs.
        let blob = format!("{HUB}/datasets--{repo}/blobs/{at}");
        fixture.write(&blob, text);
        let link = fixture.path(&format!("{HUB}/datasets--{repo}/snapshots/c0ffee/{name}"));
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(fixture.path(&blob), link).unwrap();
    }
    fixture
}

fn row(n: i64) -> String {
    format!("{{\"n\": {n}}}\n")
}

#[test]
fn shards_of_a_split_in_order() {
    let files = [
        ("README.md", "---"),
        ("data/train-00000-of-00001.jsonl", &*row(9)),
        ("data/test-00001-of-00002.jsonl", &row(2)),
        ("data/test-00000-of-00002.jsonl", &row(1)),
        ("data/validation-00000-of-00001.jsonl", &row(3)),
    ];
    let fixture = fixture("Rowan--hellaswag", &files);
    assert_eq!(
        fixture.rows("path = \"hub:Rowan/hellaswag\""),
        json!([{"n": 1}, {"n": 2}]),
        "test is the default of test"
    );
    assert_eq!(fixture.rows("path = \"hub:Rowan/hellaswag\"\nsplit = \"validation\""), json!([{"n": 3}]));
    assert_eq!(fixture.rows("path = \"hub:Rowan/hellaswag@c0ffee\"\nsplit = \"dev\""), json!([{"n": 3}]));
    std::fs::remove_file(
        fixture.path(&format!("{HUB}/datasets--Rowan--hellaswag/snapshots/c0ffee/data/test-00000-of-00002.jsonl")),
    )
    .unwrap();
    let error = fixture.config("path = \"hub:Rowan/hellaswag\"").unwrap_err();
    assert!(error.contains("shard 0 (from 0) of 2 is missing in the local hub cache"), "{error}");
}

#[test]
fn configs_in_folders_and_in_names() {
    let files = [
        ("main/test-00000-of-00001.jsonl", &*row(1)),
        ("socratic/test-00000-of-00001.jsonl", &row(2)),
        ("test/abstract_algebra.csv", "n\n3\n"),
        ("test/algebra.csv", "n\n4\n"),
        ("dev/abstract_algebra.csv", "n\n5\n"),
        ("lambada_test_de.jsonl", &row(6)),
        ("main/test.csv", "n\n1\n"),
    ];
    let fixture = fixture("openai--gsm8k", &files);
    let rows = |path: &str| fixture.rows(&format!("path = \"{path}\""));
    assert_eq!(rows("hub:openai/gsm8k/main"), json!([{"n": 1}]), "the same rows in two formats are read once");
    assert_eq!(rows("hub:openai/gsm8k@main/socratic"), json!([{"n": 2}]));
    assert_eq!(rows("hub:openai/gsm8k/abstract_algebra"), json!([{"n": "3"}]));
    assert_eq!(rows("hub:openai/gsm8k/de"), json!([{"n": 6}]));
    let error = fixture.config("path = \"hub:openai/gsm8k\"").unwrap_err();
    assert!(error.contains("has split `test` in several folders: choose a config"), "{error}");
    let error = fixture.config("path = \"hub:openai/gsm8k/main\"\nsplit = \"train\"").unwrap_err();
    assert!(error.contains("has no file of split `train` of config `main`"), "{error}");
}

#[test]
fn what_is_not_there_is_said_with_the_way_to_get_it() {
    let fixture = fixture("a--b", &[("test.jsonl", "{}")]);
    let error = fixture.config("path = \"hub:cais/mmlu\"").unwrap_err();
    assert!(error.contains("eval.toml:10:8") && error.contains("`cais/mmlu` is not in the local hub cache"), "{error}");
    assert!(error.contains(&format!("looked for `{HUB}/datasets--cais--mmlu`")), "{error}");
    assert!(error.contains("`hf download --repo-type dataset cais/mmlu`"), "{error}");
    let error = fixture.config("path = \"hub:a/b@v2\"").unwrap_err();
    assert!(error.contains("revision `v2` of `a/b` is not in the local hub cache"), "{error}");
    for odd in ["hub:", "hub:../x", "hub:a/b/../../x", "hub:a/b@../x", "hub:a//b"] {
        let error = fixture.config(&format!("path = \"{odd}\"")).unwrap_err();
        assert!(error.contains("cannot be read"), "{odd}: {error}");
    }
}

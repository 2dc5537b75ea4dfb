//! Parquet and Arrow files that Python's pyarrow wrote, against what it reads back.

#![cfg(feature = "columnar")]

use super::fixture::{Fixture, json, python};
use serde_json::json;

fn beside(name: &str) -> (Fixture, String) {
    let fixture = Fixture::new();
    fixture.write(name, std::fs::read(python(name)).unwrap());
    (fixture, format!("path = \"{name}\""))
}

#[test]
fn nested_columns_of_every_type() {
    let expected = json(&python("nested.json"));
    let columns: Vec<String> = expected[0].as_object().unwrap().keys().cloned().collect();
    for name in [
        "nested_snappy.parquet",
        "nested_zstd.parquet",
        "nested_gzip.parquet",
        "nested_none.parquet",
        "nested_stream.arrow",
        "nested_file.arrow",
    ] {
        let (fixture, path) = beside(name);
        let rows = fixture.rows(&path);
        assert_eq!(rows, expected, "{name}");
        let first: Vec<String> = rows[0].as_object().unwrap().keys().cloned().collect();
        assert_eq!(first, columns, "{name}: columns in the order of the schema");
        assert!(rows[0]["big"].is_i64(), "beyond what a float can count");
    }
}

#[test]
fn bytes_are_refused_unless_they_are_dropped() {
    let (fixture, path) = beside("bytes.parquet");
    let faults = fixture.faults(&path);
    let first = "bytes.parquet: row 0 (from 0): column `image`: holds bytes, which no prompt can show: name it in `drop_columns`";
    assert_eq!(faults[0], first);
    assert_eq!(fixture.rows(&format!("{path}\ndrop_columns = [\"image\"]")), json!([{"id": 1}, {"id": 2}]));
}

#[test]
fn files_that_were_cut_off() {
    for name in ["nested_zstd.parquet", "nested_stream.arrow", "nested_file.arrow"] {
        let whole = std::fs::read(python(name)).unwrap();
        for length in [0, 3, whole.len() / 2, whole.len() - 1] {
            let fixture = Fixture::new();
            fixture.write(name, &whole[..length]);
            let faults = fixture.faults(&format!("path = \"{name}\""));
            assert_eq!(faults.len(), 1, "{name} {length}: {faults:?}");
            assert!(faults[0].starts_with(name) && faults[0].contains("it is cut off or damaged"), "{faults:?}");
        }
    }
    // Between two batches nothing but the end mark shows that more was to come.
    let (fixture, path) = beside("nested_stream.arrow");
    let whole = std::fs::read(python("nested_stream.arrow")).unwrap();
    fixture.write("nested_stream.arrow", &whole[..whole.len() - 8]);
    assert!(fixture.faults(&path)[0].contains("the end mark is missing"));
}

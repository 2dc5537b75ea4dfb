//! Parquet and Arrow files that Python's pyarrow wrote, against what it reads back.

#![cfg(feature = "columnar")]

use super::fixture::{Fixture, json, python};
use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray, TimestampSecondArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression};
use parquet::file::properties::WriterProperties;
use serde_json::json;
use std::sync::Arc;

fn parquet_of(columns: Vec<(&str, ArrayRef)>, compression: Compression) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

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

#[test]
fn brotli_and_lz4_are_read() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["one", "two"]));
    for compression in [Compression::BROTLI(BrotliLevel::default()), Compression::LZ4, Compression::LZ4_RAW] {
        let fixture = Fixture::new();
        fixture.write("a.parquet", parquet_of(vec![("q", texts.clone())], compression));
        assert_eq!(fixture.rows("path = \"a.parquet\""), json!([{"q": "one"}, {"q": "two"}]), "{compression:?}");
    }
}

/// As `str()` prints what pyarrow's `to_pylist` gives.
#[test]
fn times_stay_in_their_zones() {
    let seconds = || TimestampSecondArray::from(vec![1_704_103_200, -1]);
    let micros = TimestampMicrosecondArray::from(vec![1_704_103_200_000_001, 0]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("none", Arc::new(seconds())),
        ("utc", Arc::new(seconds().with_timezone("UTC"))),
        ("india", Arc::new(seconds().with_timezone("+05:30"))),
        ("west", Arc::new(micros.with_timezone("-0800"))),
    ];
    let fixture = Fixture::new();
    fixture.write("a.parquet", parquet_of(columns, Compression::UNCOMPRESSED));
    let expected = json!([
        {
            "none": "2024-01-01 10:00:00",
            "utc": "2024-01-01 10:00:00+00:00",
            "india": "2024-01-01 15:30:00+05:30",
            "west": "2024-01-01 02:00:00.000001-08:00",
        },
        {
            "none": "1969-12-31 23:59:59",
            "utc": "1969-12-31 23:59:59+00:00",
            "india": "1970-01-01 05:29:59+05:30",
            "west": "1969-12-31 16:00:00-08:00",
        },
    ]);
    assert_eq!(fixture.rows("path = \"a.parquet\""), expected);
    let nowhere: ArrayRef = Arc::new(seconds().with_timezone("Mars/Olympus"));
    fixture.write("b.parquet", parquet_of(vec![("t", nowhere)], Compression::UNCOMPRESSED));
    let faults = fixture.faults("path = \"b.parquet\"");
    assert!(faults[0].contains("column `t`: the time zone `Mars/Olympus` is unknown on this host"), "{faults:?}");
}

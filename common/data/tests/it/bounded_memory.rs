//! Reading a hundred of a million rows does not hold the million. One test with a process of its own, as the peak is the
//! process's.

#![cfg(all(feature = "columnar", target_os = "linux"))]

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use compass_data::read_split;
use compass_settings::{SourceConfig, SourceFile};
use compass_types::range::RangeSpec;
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 1_000_000;
/// As rows in memory the file is some 500 MB.
const BOUND_MB: u64 = 64;

fn question(at: usize) -> String {
    format!("question {at}: {}", "how long is a row of a common data set? ".repeat(3))
}

fn write_jsonl(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for at in 0..ROWS {
        writeln!(file, "{{\"question\": \"{}\", \"n\": {at}}}", question(at)).unwrap();
    }
    file.flush().unwrap();
}

fn write_parquet(path: &Path) {
    let batch = |from: usize| {
        let questions: StringArray = (from..from + 10_000).map(|at| Some(question(at))).collect();
        let numbers: Int64Array = (from..from + 10_000).map(|at| Some(at as i64)).collect();
        let columns = [("question", Arc::new(questions) as ArrayRef), ("n", Arc::new(numbers) as ArrayRef)];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch(0).schema(), None).unwrap();
    for from in (0..ROWS).step_by(10_000) {
        writer.write(&batch(from)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
}

/// Kilobytes from `/proc/self/status`.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
#[ignore = "nightly"]
fn a_hundred_of_a_million_rows() {
    if !compass_needs::has_own_process() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (jsonl, parquet) = (folder.path().join("a.jsonl"), folder.path().join("a.parquet"));
    write_jsonl(&jsonl);
    write_parquet(&parquet);
    for path in [jsonl, parquet] {
        // Sets the peak back to what is held now; not every kernel lets a process do so.
        if std::fs::write("/proc/self/clear_refs", "5").is_err() {
            eprintln!("skipped: the kernel does not set the peak memory back (/proc/self/clear_refs)");
            return;
        }
        let before = status("VmRSS");
        let source = SourceConfig {
            files: vec![SourceFile { path: path.clone(), name: String::new() }],
            ..SourceConfig::default()
        };
        for range in [RangeSpec::Slices("[:100]".into()), RangeSpec::Count(100), RangeSpec::Slices("[-100:]".into())] {
            let split = read_split(&source, "test_range", &range).unwrap();
            assert_eq!((split.rows().count(), split.kept), (100, ROWS));
            if range == RangeSpec::Slices("[-100:]".into()) {
                assert_eq!(split.rows().nth(99).unwrap()["n"], ROWS - 1);
            }
        }
        let grown = status("VmHWM").saturating_sub(before) / 1024;
        let size = std::fs::metadata(&path).unwrap().len() >> 20;
        println!("{} of {size} MB: {grown} MB more at the peak", path.file_name().unwrap().display());
        assert!(grown < BOUND_MB, "{}: {grown} MB", path.display());
    }
}

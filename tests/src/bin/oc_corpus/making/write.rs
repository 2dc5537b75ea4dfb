//! Writes a made data file in the format that its split reads.

use super::text::Draw;
use compass_pyfmt::python_str;
use compass_settings::{FileFormat, SourceConfig};
use serde_json::{Map, Value};
use std::io;
use std::path::Path;

/// Rows of a file: more than shots are drawn from, and than ranges leave out.
const ROWS: usize = 30;

/// Writes the file; `seed` draws its texts.
///
/// # Errors
/// Errors of the disk, and formats that cannot be written here.
pub(super) fn file(path: &Path, source: &SourceConfig, shape: &Value, seed: &str) -> io::Result<()> {
    let mut draw = Draw::new(seed);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let format = source.read.format.or(match ending {
        "jsonl" => Some(FileFormat::Jsonl),
        "json" => Some(FileFormat::Json),
        "csv" => Some(FileFormat::Csv),
        "tsv" | "tab" => Some(FileFormat::Tsv),
        "txt" | "lst" | "md" => Some(FileFormat::Txt),
        "parquet" => Some(FileFormat::Parquet),
        _ => None,
    });
    let each = shape.as_object().into_iter().flat_map(|map| map.values()).filter_map(Value::as_str);
    let each = each.filter(|token| token.starts_with("$each:")).map(|token| token.split('|').count()).max();
    let rows: Vec<Value> = (0..ROWS.max(6 * each.unwrap_or(0))).map(|_| draw.value(shape)).collect();
    let text = match format {
        Some(FileFormat::Jsonl) => lines(&rows),
        Some(FileFormat::Json) => document(source, rows),
        Some(FileFormat::Csv) => table(source, shape, &rows, ','),
        Some(FileFormat::Tsv) => table(source, shape, &rows, '\t'),
        Some(FileFormat::Txt) => {
            let line = |row: &Value| match row {
                Value::Object(map) => map.values().map(python_str).collect::<Vec<_>>().join(" ").trim().to_owned(),
                value => python_str(value).replace('\n', " "),
            };
            rows.iter().map(|row| line(row) + "\n").collect()
        }
        Some(FileFormat::Parquet) => return std::fs::write(path, super::parquet::file(&rows)),
        Some(FileFormat::Arrow) | None => {
            return Err(io::Error::new(io::ErrorKind::Unsupported, format!("cannot make {}", path.display())));
        }
    };
    std::fs::write(path, text)
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn document(source: &SourceConfig, mut rows: Vec<Value>) -> String {
    // Lists whose places have names.
    for row in rows.iter_mut().filter(|_| !source.read.names.is_empty()) {
        let cells: Vec<Value> =
            source.read.names.iter().map(|name| row.get(name).cloned().unwrap_or_default()).collect();
        *row = cells.into();
    }
    let mut document = match &source.read.key_column {
        Some(_) => Value::Object(rows.into_iter().enumerate().map(|(at, row)| (at.to_string(), row)).collect()),
        None => Value::Array(rows),
    };
    for key in source.read.rows.iter().rev() {
        document = Value::Object(Map::from_iter([(key.clone(), document)]));
    }
    document.to_string()
}

fn table(source: &SourceConfig, shape: &Value, rows: &[Value], delimiter: char) -> String {
    let delimiter = source.read.delimiter.unwrap_or(delimiter);
    let quoted = source.read.quoted.unwrap_or(delimiter != '\t');
    let names: Vec<&String> = shape.as_object().map(|map| map.keys().collect()).unwrap_or_default();
    let cell = |text: &str| match quoted {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.replace(['\t', '\n', delimiter], " "),
    };
    let join = |cells: Vec<String>| cells.join(&delimiter.to_string()) + "\n";
    let mut text = String::new();
    if source.read.header {
        text += &join(names.iter().map(|name| cell(name)).collect());
    }
    for row in rows {
        text += &join(names.iter().map(|name| cell(&row.get(*name).map(python_str).unwrap_or_default())).collect());
    }
    text
}

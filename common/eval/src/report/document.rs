//! JSON as OpenCompass writes it: `json.dump(..., indent=4, ensure_ascii=False)`, no newline at the end.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use std::io;

fn serializer<W: io::Write>(out: W) -> serde_json::Serializer<W, PrettyFormatter<'static>> {
    serde_json::Serializer::with_formatter(out, PrettyFormatter::with_indent(b"    "))
}

/// Writes one document.
///
/// # Errors
/// When `out` refuses.
pub fn pretty<W: io::Write>(out: W, document: &impl Serialize) -> io::Result<()> {
    Ok(document.serialize(&mut serializer(out))?)
}

/// Writes a document of records keyed by their index, one at a time, so that a large data set never stands in memory
/// whole. The caller hands them in order of index.
///
/// # Errors
/// The first error among the records, or that of `out`.
pub fn write_records<W: io::Write, E: From<io::Error>>(
    out: W,
    records: impl IntoIterator<Item = Result<(u32, Value), E>>,
) -> Result<(), E> {
    let mut serializer = serializer(out);
    let mut map = serializer.serialize_map(None).map_err(io::Error::from)?;
    for record in records {
        let (index, record) = record?;
        map.serialize_entry(&index.to_string(), &record).map_err(io::Error::from)?;
    }
    Ok(map.end().map_err(io::Error::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn four_spaces_and_unescaped_text() {
        let mut out = Vec::new();
        let records = [(0, json!({"prompt": "é中\n\u{1}", "PPL": 3.7938464936755953})), (1, json!({}))];
        write_records::<_, io::Error>(&mut out, records.clone().map(Ok)).unwrap();
        // printed by CPython's json.dump
        let expected = "{\n    \"0\": {\n        \"prompt\": \"é中\\n\\u0001\",\n        \"PPL\": 3.7938464936755953\n    },\n    \"1\": {}\n}";
        assert_eq!(String::from_utf8(out).unwrap(), expected);

        let mut whole = Vec::new();
        pretty(&mut whole, &json!({"0": records[0].1, "1": records[1].1})).unwrap();
        assert_eq!(String::from_utf8(whole).unwrap(), expected);
    }

    #[test]
    fn errors_of_records_end_the_document() {
        let records = [Ok((0, json!(1))), Err(io::Error::other("part 7 is damaged"))];
        assert_eq!(write_records(io::sink(), records).unwrap_err().to_string(), "part 7 is damaged");
    }
}

//! Faults of data are reported with file, line and column, all at once.

use super::fixture::Fixture;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

#[test]
fn every_bad_line_is_named() {
    let fixture = Fixture::new();
    fixture.write("a.jsonl", b"{\"a\": 1}\n\n{\"\xc3\xa9\": x}\n[1]\n{\"a\": \"\xff\"}\n{\"a\": 1}\n{\"a\": 1, \"b\"");
    assert_eq!(
        fixture.faults("path = \"a.jsonl\""),
        [
            "a.jsonl:2:1: a blank line between rows: remove it, or write the row that is missing",
            "a.jsonl:3:7: not valid JSON: expected value",
            "a.jsonl:4:1: a list, but a row is an object {...}",
            "a.jsonl:5:8: byte 0xff is not UTF-8",
            "a.jsonl:7:12: not valid JSON: EOF while parsing an object; the file ends here, it may be cut off",
        ]
    );
    fixture.write("a.jsonl", "oops\n".repeat(50));
    let many = fixture.faults("path = [\"a.jsonl\", \"a.jsonl\"]");
    assert_eq!((many.len(), many[20].as_str()), (21, "a.jsonl: 80 more rows are wrong"));
}

#[test]
fn bad_documents() {
    let fixture = Fixture::new();
    for (text, keys, faults) in [
        (
            "[{\"a\": 1},\n  3,\n {\"é\": tru},\n {\"b\": 1}\n,\n]",
            "",
            &[
                "a.json:2:3: a number, but a row is an object {...}",
                "a.json:3:11: not valid JSON: expected ident",
                "a.json:6:1: not valid JSON: EOF while parsing a value",
            ][..],
        ),
        (
            "[{\"a\": 1}",
            "",
            &["a.json:1:9: not valid JSON: EOF while parsing a list; the file ends here, it may be cut off"],
        ),
        ("[{}] x", "", &["a.json:1:6: not valid JSON: trailing characters"]),
        ("3", "", &["a.json:1:1: neither a list nor an object, so it holds no rows"]),
        (
            "{\n\"canary\": \"\",\n\"examples\": [{\"input\": 1}]}",
            "",
            &["a.json:1:1: one object, not a list of rows: write `rows = \"examples\"`"],
        ),
        ("{\"x\": {\"y\": 1}}", "rows = \"x.z\"", &["a.json:1:7: `rows` asks for `z`, but there is `y`"]),
        (
            "{\"a\": [1, 2],\n \"b\": [1]}",
            "",
            &["a.json:2:7: the columns differ in length: `a` has 2 values, `b` has 1"],
        ),
        (
            "[{\"id\": 1}]",
            "key_column = \"id\"",
            &["a.json:1:2: the row has no key: `key_column` is for an object of rows"],
        ),
        (
            "{\"k\": {\"id\": 1}}",
            "key_column = \"id\"",
            &["a.json:1:7: the row has a column `id` already, which `key_column` would replace"],
        ),
    ] {
        fixture.write("a.json", text);
        assert_eq!(fixture.faults(&format!("path = \"a.json\"\n{keys}")), faults, "{text}");
    }
}

#[test]
fn bad_tables() {
    let fixture = Fixture::new();
    for (bytes, keys, fault) in [
        (&b"q,a\nx,1\n\"y\n\",2\nz\n"[..], "", "a.csv:5:1: 1 fields, but the columns are 2 (q, a)"),
        (b"q,a\nx,1\n\n\n\"y\n\",2\nz\n", "", "a.csv:7:1: 1 fields, but the columns are 2 (q, a)"),
        (b"q,a\r\nx,1\r\n\r\n\"y\r\n\",2\r\nz\r\nw,3", "", "a.csv:6:1: 1 fields, but the columns are 2 (q, a)"),
        (b"q,a\nx,1\nz", "", "a.csv:3:1: 1 fields, but the columns are 2 (q, a)"),
        (b"q,a\nx,\xff\n", "", "a.csv:2:1: byte 0xff in column `a` is not UTF-8"),
        (b"q,q\nx,y\n", "", "a.csv:1:1: the header names `q` twice: give other names with `names = [...]`"),
        (b"q,a\n", "names = [\"x\"]", "a.csv:1:1: the header has 2 fields, but `names` has 1"),
    ] {
        fixture.write("a.csv", bytes);
        assert_eq!(fixture.faults(&format!("path = \"a.csv\"\n{keys}")), [fault]);
    }
}

#[test]
fn gzip_that_was_cut_off_or_damaged() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let lines: String = (0..2000).map(|n| format!("{{\"n\": {}}}\n", n * 7919 % 1013)).collect();
    encoder.write_all(lines.as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    let fixture = Fixture::new();
    for (name, length) in
        [("a.jsonl.gz", whole.len() / 2), ("a.json.gz", whole.len() / 2), ("a.csv.gz", whole.len() - 3)]
    {
        fixture.write(name, &whole[..length]);
        let faults = fixture.faults(&format!("path = \"{name}\""));
        let last = format!("{name}: the gzip stream ends early: the file is cut off; copy or download it again");
        assert!(faults.contains(&last), "{faults:?}");
    }
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 0x55;
    fixture.write("a.jsonl.gz", damaged);
    let faults = fixture.faults("path = \"a.jsonl.gz\"");
    assert!(faults.iter().any(|fault| fault.contains("the gzip stream is damaged")), "{faults:?}");
}

#[test]
fn a_file_that_is_gone_is_named() {
    let fixture = Fixture::with(&[("a.jsonl", "{}"), ("b.jsonl", "oops")]);
    let config = fixture.config("path = [\"a.jsonl\", \"b.jsonl\"]").unwrap();
    std::fs::remove_file(fixture.path("a.jsonl")).unwrap();
    let faults = compass_data::read_split(&config.datasets[0].test, "test_range", &Default::default()).unwrap_err();
    let faults: Vec<String> = faults.iter().map(|fault| fixture.strip(&fault.to_string())).collect();
    assert_eq!(faults, ["a.jsonl: cannot be read", "b.jsonl:1:1: not valid JSON: expected value"]);
}

#[test]
fn a_column_that_no_row_has_is_one_fault() {
    let fixture = Fixture::with(&[("a.jsonl", &"{\"q\": 1}\n".repeat(1000))]);
    let faults = fixture.faults("path = \"a.jsonl\"\ncolumns = { x = { from = \"query\" } }");
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert!(faults[0].starts_with("a.jsonl:1:1: column `x`"), "{faults:#?}");
    assert!(
        faults[0].contains("there is no `query`") && faults[0].ends_with("; the same in 999 more rows"),
        "{faults:#?}"
    );
}

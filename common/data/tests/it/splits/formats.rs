//! Every text format in the disguises that the wild has.

use super::fixture::{Fixture, json, python};
use compass_pyfmt::whole_number;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn jsonl() {
    let text = "\u{feff}{\"z\": 1, \"a\": \"x\u{2028}y\"}\r\n{\"z\": 2}\r\n\r\n\n";
    let fixture = Fixture::with(&[("a.jsonl", text), ("b.data", text), ("empty.jsonl", "")]);
    let expected = json!([{"z": 1, "a": "x\u{2028}y"}, {"z": 2}]);
    assert_eq!(fixture.rows("path = \"a.jsonl\""), expected);
    assert_eq!(fixture.rows("path = \"b.data\"\nformat = \"jsonl\""), expected);
    assert_eq!(fixture.rows("path = \"empty.jsonl\""), json!([]));
    let first = fixture.rows("path = \"a.jsonl\"")[0].as_object().unwrap().clone();
    assert_eq!(first.keys().collect::<Vec<_>>(), ["z", "a"], "columns in the order of the file");
    fixture.write("c.jsonl.gz", gzip(text));
    assert_eq!(fixture.rows("path = \"c.jsonl.gz\""), expected);
    // Two streams one after the other are one file, as `cat a.gz b.gz` makes it.
    fixture.write("d.jsonl", [gzip("{\"a\": 1}\n"), gzip("{\"a\": 2}\n")].concat());
    assert_eq!(fixture.rows("path = \"d.jsonl\""), json!([{"a": 1}, {"a": 2}]));
}

#[test]
fn whole_numbers_beyond_64_bits_keep_their_digits() {
    let rows =
        "{\"q\": \"10^23?\", \"a\": 100000000000000000000000}\n{\"q\": \"2^64?\", \"a\": [-18446744073709551616, 1]}\n";
    let expected = json!([
        {"q": "10^23?", "a": whole_number(100_000_000_000_000_000_000_000)},
        {"q": "2^64?", "a": [whole_number(-18_446_744_073_709_551_616), 1]},
    ]);
    let document = format!("[{}]", rows.trim().replace('\n', ","));
    let fixture = Fixture::with(&[("a.jsonl", rows), ("a.json", &document)]);
    assert_eq!(fixture.rows("path = \"a.jsonl\""), expected);
    assert_eq!(fixture.rows("path = \"a.json\""), expected);
}

#[test]
fn words_of_pythons_json_are_refused_by_name() {
    let says = |word: &str| {
        format!("not valid JSON: `{word}` is a word of Python's json alone: write null, or the text \"{word}\"")
    };
    let lines = "{\"a\": NaN}\n{\"a\": [\"NaN\", -Infinity]}\n{\"a\": Infinity}\n";
    let fixture = Fixture::with(&[("a.jsonl", lines), ("a.json", "[\n{\"a\": 1},\n{\"é\": NaN}\n]")]);
    let expected = [("a.jsonl:1:7", "NaN"), ("a.jsonl:2:15", "-Infinity"), ("a.jsonl:3:7", "Infinity")];
    let expected = expected.map(|(place, word)| format!("{place}: {}", says(word)));
    assert_eq!(fixture.faults("path = \"a.jsonl\""), expected);
    assert_eq!(fixture.faults("path = \"a.json\""), [format!("a.json:3:7: {}", says("NaN"))]);
}

#[test]
fn csv_is_split_as_python_splits_it() {
    let fixture = Fixture::new();
    let expected = json(&python("quoted.json"));
    let bytes = std::fs::read(python("quoted.csv")).unwrap();
    fixture.write("a.csv", &bytes);
    assert_eq!(fixture.rows("path = \"a.csv\""), expected);
    fixture.write("a.csv", [b"\xef\xbb\xbf".as_slice(), &bytes].concat());
    assert_eq!(fixture.rows("path = \"a.csv\""), expected, "a byte order mark is not part of the first name");
    fixture.write("a.csv.gz", gzip(std::str::from_utf8(&bytes).unwrap()));
    assert_eq!(fixture.rows("path = \"a.csv.gz\""), expected);
}

#[test]
fn separated_values_without_header_and_with_other_marks() {
    let fixture = Fixture::with(&[
        ("mmlu.csv", "\"Which, now?\",1,2,A\nNone,\"a\n\nb\",,B\n"),
        ("mgsm.tsv", "\"quoted\" by whom?\t3\nTwo \"\t1,000\n"),
        ("semicolon.csv", "q;a\n\"x;y\";1\n"),
        ("pandas.csv", ",q\n0,x\n"),
    ]);
    let rows = fixture.rows("path = \"mmlu.csv\"\nheader = false\nnames = [\"q\", \"A\", \"B\", \"target\"]");
    let expected = json!([
        {"q": "Which, now?", "A": "1", "B": "2", "target": "A"},
        {"q": "None", "A": "a\n\nb", "B": "", "target": "B"},
    ]);
    assert_eq!(rows, expected);
    let rows = fixture.rows("path = \"mgsm.tsv\"\nheader = false\nnames = [\"q\", \"a\"]");
    assert_eq!(rows, json!([{"q": "\"quoted\" by whom?", "a": "3"}, {"q": "Two \"", "a": "1,000"}]));
    let rows = fixture.rows("path = \"semicolon.csv\"\ndelimiter = \";\"");
    assert_eq!(rows, json!([{"q": "x;y", "a": "1"}]));
    assert_eq!(fixture.rows("path = \"pandas.csv\""), json!([{"Unnamed: 0": "0", "q": "x"}]));
    assert_eq!(fixture.rows("path = \"pandas.csv\"\nnames = [\"i\", \"t\"]"), json!([{"i": "0", "t": "x"}]));
}

#[test]
fn json_documents_of_every_shape() {
    let fixture = Fixture::with(&[
        ("list.json", "[\n {\"a\": \"],{\\\"\"},\n {\"a\": 2}\n]\n"),
        ("lines.json", "{\"a\": 1}\n{\"a\": 2}\n"),
        ("one.json", "{\"a\": 1,\n \"b\": [1]}"),
        ("bbh.json", "{\"canary\": \"x\", \"examples\": [{\"input\": 1}, {\"input\": 2}]}"),
        ("deep.json", "{\"data\": [{\"rows\": {\"k\": {\"a\": 1}}}]}"),
        ("math.json", "{\"p/1.json\": {\"problem\": \"x\"}, \"p/2.json\": {\"problem\": \"y\"}}"),
        ("columns.json", "{\"a\": [1, 2], \"b\": [[1], [\"x\"]]}"),
        ("empty.json", "[]"),
    ]);
    for (test, expected) in [
        ("path = \"list.json\"", json!([{"a": "],{\""}, {"a": 2}])),
        ("path = \"lines.json\"", json!([{"a": 1}, {"a": 2}])),
        ("path = \"one.json\"", json!([{"a": 1, "b": [1]}])),
        ("path = \"bbh.json\"\nrows = \"examples\"", json!([{"input": 1}, {"input": 2}])),
        ("path = \"deep.json\"\nrows = \"data.0.rows\"", json!([{"a": 1}])),
        ("path = \"math.json\"", json!([{"problem": "x"}, {"problem": "y"}])),
        (
            "path = \"math.json\"\nkey_column = \"id\"",
            json!([{"id": "p/1.json", "problem": "x"}, {"id": "p/2.json", "problem": "y"}]),
        ),
        ("path = \"columns.json\"", json!([{"a": 1, "b": [1]}, {"a": 2, "b": ["x"]}])),
        ("path = \"empty.json\"", json!([])),
    ] {
        assert_eq!(fixture.rows(test), expected, "{test}");
    }
}

#[test]
fn plain_text() {
    let fixture = Fixture::with(&[("a.txt", " = Title = \r\n\n text\n"), ("b.txt", "no end")]);
    assert_eq!(fixture.rows("path = \"a.txt\""), json!([{"text": " = Title = "}, {"text": ""}, {"text": " text"}]));
    assert_eq!(fixture.rows("path = \"b.txt\"\nnames = [\"q\"]"), json!([{"q": "no end"}]));
    assert_eq!(fixture.rows("path = \"a.txt\"\nwhole = true"), json!([{"text": " = Title = \r\n\n text\n"}]));
}

#[test]
fn folders_patterns_and_lists_of_files() {
    let fixture = Fixture::with(&[
        ("mmlu/test/virology_test.csv", "v,1\n"),
        ("mmlu/test/anatomy_test.csv", "a,1\nb,2\n"),
        ("mmlu/test/NOTICE", "licence"),
        ("mmlu/dev/anatomy_dev.csv", "d,1\n"),
    ]);
    let names = "header = false\nnames = [\"q\", \"a\"]\nfile_column = \"subject\"";
    let row = |subject: &str, q: &str, a: &str| json!({"subject": subject, "q": q, "a": a});
    let both = json!([row("anatomy", "a", "1"), row("anatomy", "b", "2"), row("virology", "v", "1")]);
    assert_eq!(fixture.rows(&format!("path = \"mmlu/test/*_test.csv\"\n{names}")), both);
    let whole = fixture.rows(&format!("path = \"mmlu/test\"\n{names}"));
    assert_eq!(whole[0], row("anatomy_test", "a", "1"), "without a pattern the file's own name");
    let listed = format!("path = [\"mmlu/test/virology_test.csv\", \"mmlu/dev/\"]\n{names}");
    assert_eq!(fixture.rows(&listed), json!([row("virology_test", "v", "1"), row("anatomy_dev", "d", "1")]));

    fixture.write("mmlu/test/more.jsonl", "");
    let error = fixture.config("path = \"mmlu/test\"").unwrap_err();
    assert!(
        error.contains("holds files of several kinds: jsonl, csv") && error.contains("mmlu/test/*.jsonl"),
        "{error}"
    );
    for (path, message) in [
        ("mmlu", "the folder `mmlu` holds no data file"),
        ("mmlu/test/*.parquet", "no file `mmlu/test/*.parquet`"),
        ("mmlu/test/NOTICE", "the name `NOTICE` does not tell what the file holds"),
    ] {
        let error = fixture.config(&format!("path = \"{path}\"")).unwrap_err();
        assert!(error.contains(message) && error.contains("eval.toml:10:8"), "{error}");
    }
}

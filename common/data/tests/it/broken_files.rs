//! Files of every kind, broken in every way: rows or errors that name the file, never a panic.
//!
//! Seeds are fixed; `COMPASS_FULL=1` plays more of them, and `COMPASS_FUZZ_ROUNDS` as many as it says.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_data::{open, read};
use compass_settings::{ReadLimits, ReadOptions};
use compass_types::seeded::Rng;
use flate2::{Compression, write::GzEncoder};
use std::io::Write as _;
use std::path::{Path, PathBuf};

const ROUNDS: u64 = 60;
/// With `COMPASS_FULL`.
const FULL_ROUNDS: u64 = 600;

/// Blows to a file, drawn from a seed.
struct Dice(Rng);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0.below(sides as u64) as usize
    }

    /// One to four blows: a byte changed, a stretch cut out, doubled or filled with what readers stumble over.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        const ODD: [&[u8]; 12] = [
            b"\0",
            b"\xff\xfe",
            b"\xef\xbb\xbf",
            b"\"",
            b"\n\n",
            b"\r",
            b"{",
            b"]",
            b",,",
            b"\\u",
            b"1e999",
            b"\x80\xbf",
        ];
        for _ in 0..=self.roll(3) {
            let at = self.roll(bytes.len());
            let end = (at + 1 + self.roll(40)).min(bytes.len());
            match self.roll(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.roll(8),
                1 => bytes.truncate(at),
                2 if at < end => drop(bytes.drain(at..end)),
                3 if at < end => {
                    let again = bytes[at..end].to_vec();
                    bytes.splice(at..at, again);
                }
                4 if !bytes.is_empty() => {
                    let last = bytes.len() - 1 - self.roll(bytes.len().min(16));
                    bytes[last] = self.roll(256) as u8;
                }
                _ => drop(bytes.splice(at..at, ODD[self.roll(ODD.len())].iter().copied())),
            }
        }
    }
}

fn python(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name)).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A good file of every kind.
fn good() -> Vec<(String, Vec<u8>)> {
    let jsonl = "{\"q\": \"wie ä 河\", \"a\": [1, 2.5, null], \"o\": {\"k\": true}}\n".repeat(9).into_bytes();
    let json = format!("{{\"rows\": 1, \"examples\": [{}]}}", ["{\"q\": \"x\\n\", \"a\": 1}"; 9].join(",\n"));
    let list = format!("[{}]", ["{\"q\": \"x\", \"a\": -1.5e3}"; 9].join(", "));
    let csv = "q,a,b\n".to_owned() + &"\"two\nlines, and \"\"more\"\"\",1,é\n".repeat(9);
    let tsv = "q\ta\n".to_owned() + &"one\t['x', \"y\"]\n".repeat(9);
    let mut files = vec![
        ("a.jsonl".to_owned(), jsonl.clone()),
        ("a.json".into(), json.into_bytes()),
        ("list.json".into(), list.into_bytes()),
        ("a.csv".into(), csv.clone().into_bytes()),
        ("a.tsv".into(), tsv.into_bytes()),
        ("a.txt".into(), "line\n".repeat(9).into_bytes()),
        ("a.jsonl.gz".into(), gzip(&jsonl)),
        ("a.csv.gz".into(), gzip(csv.as_bytes())),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let written = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut written: Vec<String> =
        written.filter(|name| name.ends_with(".parquet") || name.ends_with(".arrow")).collect();
    written.sort();
    files.extend(written.into_iter().map(|name| (name.clone(), python(&name))));
    files
}

/// Reads a file; every error names it.
fn tried(path: &Path) -> Result<usize, String> {
    let errors = match read(path) {
        Ok(rows) => return Ok(rows.len()),
        Err(errors) => errors,
    };
    assert!(!errors.is_empty(), "{}: no rows and no error", path.display());
    let name = path.file_name().unwrap().to_str().unwrap();
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    // The count of what is left unsaid names no file.
    assert!(said[0].contains(name), "{name}: {said:?}");
    for line in &said {
        assert!(line.len() < 2_000, "{name}: a message of {} bytes", line.len());
    }
    Err(said.join("\n"))
}

#[test]
fn mutated_files_give_rows_or_errors() {
    let usual = if std::env::var_os("COMPASS_FULL").is_some() { FULL_ROUNDS } else { ROUNDS };
    let rounds = std::env::var("COMPASS_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in good() {
        let path = folder.path().join(&name);
        std::fs::write(&path, &bytes).unwrap();
        let whole = tried(&path);
        for seed in 0..rounds {
            let mut mutated = bytes.clone();
            let mut dice = Dice(Rng::new(seed));
            // Within the text, where the file is packed: the pack's own checksum finds the rest.
            dice.mutate(&mut mutated);
            std::fs::write(&path, &mutated).unwrap();
            let _ = tried(&path);
        }
        eprintln!("{name}: {whole:?} rows when whole");
    }
}

#[test]
fn what_people_have_lying_about_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let utf16 = |text: &str| -> Vec<u8> {
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    let row = "{\"q\": \"é\"}\n";
    let latin1 = b"{\"q\": \"caf\xe9\"}\n".to_vec();
    let parquet = good().into_iter().find(|(name, _)| name.ends_with(".parquet")).map(|(_, bytes)| bytes).unwrap();
    let mut flipped = parquet.clone();
    let footer = flipped.len() - 12;
    flipped[footer..].iter_mut().for_each(|byte| *byte ^= 0x5a);
    for (name, bytes, expected) in [
        ("utf16.jsonl", utf16(row), "UTF-16"),
        ("utf16.json", utf16("[{\"q\": 1}]"), "UTF-16"),
        ("utf16.csv", utf16("q,a\n1,2\n"), "UTF-16"),
        ("utf16.txt", utf16("words\n"), "UTF-16"),
        ("latin1.jsonl", latin1.clone(), "UTF-8"),
        ("latin1.csv", b"q,a\ncaf\xe9,1\n".to_vec(), "UTF-8"),
        ("latin1.txt", b"caf\xe9\n".to_vec(), "UTF-8"),
        ("latin1.json", b"[{\"q\": \"caf\xe9\"}]".to_vec(), "UTF-8"),
        ("nul.jsonl", b"{\"q\": \"a\0b\"}\n".to_vec(), "nul.jsonl:1"),
        ("cut.jsonl", b"{\"q\": 1}\n{\"q\": ".to_vec(), "cut.jsonl:2"),
        ("cut.json", b"[{\"q\": 1}, {\"q\"".to_vec(), "cut.json:1"),
        ("list.jsonl", b"[1, 2]\n".to_vec(), "list.jsonl:1"),
        ("garbage.jsonl.gz", b"this is not gzip".to_vec(), "garbage.jsonl.gz:1"),
        ("cut.jsonl.gz", gzip(row.repeat(99).as_bytes())[..40].to_vec(), "gzip"),
        ("empty.parquet", Vec::new(), "empty.parquet"),
        ("cut.parquet", parquet[..parquet.len() / 2].to_vec(), "cut.parquet"),
        ("flipped.parquet", flipped, "flipped.parquet"),
        ("text.arrow", b"not arrow".to_vec(), "text.arrow"),
    ] {
        let said = tried(&put(name, &bytes)).expect_err(name);
        assert!(said.contains(expected), "{name}: {said}");
    }
    // A byte order mark and a last line without its end are no faults.
    for (name, bytes) in [
        ("bom.jsonl", "\u{feff}{\"q\": 1}\n{\"q\": 2}".as_bytes().to_vec()),
        ("bom.csv", "\u{feff}q,a\r\n1,2\r\n3,4".as_bytes().to_vec()),
        ("bom.json", "\u{feff}[{\"q\": 1}, {\"q\": 2}]".as_bytes().to_vec()),
    ] {
        assert_eq!(tried(&put(name, &bytes)), Ok(2), "{name}");
    }
    std::fs::create_dir(folder.path().join("folder.jsonl")).unwrap();
    let said = tried(&folder.path().join("folder.jsonl")).unwrap_err();
    assert!(said.contains("folder.jsonl"), "{said}");
    std::os::unix::fs::symlink("nowhere", folder.path().join("link.jsonl")).unwrap();
    let said = tried(&folder.path().join("link.jsonl")).unwrap_err();
    assert!(said.contains("link.jsonl"), "{said}");
}

#[test]
fn a_huge_line_is_read_or_named_in_few_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.jsonl");
    std::fs::write(&path, format!("{{\"q\": \"{}\"}}\n", "x".repeat(20_000_000))).unwrap();
    assert_eq!(tried(&path), Ok(1));
    std::fs::write(&path, "x".repeat(20_000_000)).unwrap();
    tried(&path).unwrap_err();
    let deep = folder.path().join("deep.json");
    std::fs::write(&deep, "[".repeat(1_000_000)).unwrap();
    tried(&deep).unwrap_err();
    let deep = folder.path().join("deep.tsv");
    std::fs::write(&deep, format!("q\ta\nx\t{}", "[".repeat(1_000_000))).unwrap();
    assert_eq!(tried(&deep), Ok(1));
}

/// A quotation mark that is never closed made one value of all that followed.
#[test]
fn an_unclosed_quotation_mark_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("open.csv");
    let row = |at: usize| format!("{at},\"two\nlines and \"\"more\"\"\",é\n");
    let mut text = "q,a,b\n".to_owned();
    (0..10).for_each(|at| text += &row(at));
    // Line 22: after the header come ten records of two lines each.
    text += "é,\"never closed,x\n";
    (0..100).for_each(|at| text += &format!("{at},b,c\n"));
    for bytes in [text.clone().into_bytes(), text.replace('\n', "\r\n").into_bytes(), gzip(text.as_bytes())] {
        std::fs::write(&path, bytes).unwrap();
        let said = tried(&path).unwrap_err();
        assert!(said.contains("open.csv:22:3: a quotation mark is opened here and never closed"), "{said}");
        assert!(said.contains("`quoted = false`") && said.lines().count() == 1, "{said}");
    }
    std::fs::write(&path, "q,\"a\n1,2\n").unwrap();
    assert!(tried(&path).unwrap_err().contains("open.csv:1:3:"), "in the header");
    for closed in ["q,a\n1,\"2\"", "q,a\n1,\"2\"\n", "q,a\n1,2\"3\"\"4\n", "q,a\n\"\",\"\"\"\"\n", "q,a\n1,\"2\"x\n"] {
        std::fs::write(&path, closed).unwrap();
        assert_eq!(tried(&path), Ok(1), "{closed}");
    }
    let unquoted = ReadOptions { quoted: Some(false), ..ReadOptions::default() };
    std::fs::write(&path, "q,a\n1,\"2\n3,4\n").unwrap();
    assert_eq!(open(&path, &unquoted, &[]).unwrap().filter(Result::is_ok).count(), 2);
}

/// Rows, or the first error.
fn bounded(path: &Path, options: &ReadOptions) -> Result<usize, String> {
    let rows = open(path, options, &[]).map_err(|error| error.to_string())?;
    rows.map(|row| row.map_err(|error| error.to_string())).try_fold(0, |count, row| row.map(|_| count + 1))
}

#[test]
fn a_line_or_a_document_beyond_its_limit_is_named_and_not_held() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: Vec<u8>| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let limits = ReadLimits { line_mb: 1, document_mb: 2 };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let whole = ReadOptions { whole: true, ..options.clone() };
    let long = "x".repeat(1_100_000);
    let lines = format!("{{\"q\": 1}}\n{{\"q\": \"{long}\"}}\n");
    let zeros = gzip(&vec![b'x'; 40_000_000]);
    assert!(zeros.len() < 50_000);
    for (name, bytes, options, place) in [
        (
            "a.jsonl",
            lines.clone().into_bytes(),
            &options,
            "a.jsonl:2:1: the line is longer than 1 MB: raise `max_line_mb`",
        ),
        ("a.jsonl.gz", zeros.clone(), &options, "a.jsonl.gz:1:1: the line is longer than 1 MB"),
        (
            "a.csv",
            format!("q,a\n1,2\n\n1,\"{long}\n2\"\n").into_bytes(),
            &options,
            "a.csv:4:1: the line is longer than 1 MB",
        ),
        ("a.tsv", format!("q\ta\n1\t{long}\n").into_bytes(), &options, "a.tsv:2:1: the line is longer than 1 MB"),
        ("a.txt", zeros.clone(), &options, "a.txt:1:1: the line is longer than 1 MB"),
        ("whole.txt", zeros.clone(), &whole, "the document is longer than 2 MB: raise `max_document_mb`"),
        ("a.json", zeros, &options, "the document is longer than 2 MB: raise `max_document_mb`"),
    ] {
        let said = bounded(&put(name, bytes), options).expect_err(name);
        assert!(said.contains(place) && said.len() < 400, "{name}: {said}");
    }
    let wider = ReadOptions { limits: ReadLimits { line_mb: 2, ..limits }, ..ReadOptions::default() };
    assert_eq!(bounded(&put("a.jsonl", lines.into_bytes()), &wider), Ok(2));
}

#[test]
fn only_regular_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["pipe.jsonl", "pipe.csv", "pipe.json", "pipe.parquet", "pipe.arrow"] {
        let path = folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let said = tried(&path).unwrap_err();
        assert!(said.contains("a named pipe, not a regular file: copy what it holds to a file"), "{said}");
    }
    let endless = folder.path().join("endless.jsonl");
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    assert!(tried(&endless).unwrap_err().contains("a device, not a regular file"));
}

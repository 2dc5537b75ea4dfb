//! Files of every kind, broken in every way: rows or errors that name the file, never a panic.
//!
//! Seeds are fixed; `COMPASS_FUZZ_ROUNDS` asks for more of them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_data::read;
use flate2::{Compression, write::GzEncoder};
use std::io::Write as _;
use std::path::{Path, PathBuf};

const ROUNDS: u64 = 60;

/// SplitMix64: a seed gives the same bytes everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides.max(1) as u64) as usize
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
    let rounds = std::env::var("COMPASS_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in good() {
        let path = folder.path().join(&name);
        std::fs::write(&path, &bytes).unwrap();
        let whole = tried(&path);
        for seed in 0..rounds {
            let mut mutated = bytes.clone();
            let mut dice = Dice(seed);
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

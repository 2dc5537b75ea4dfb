//! Checkpoints on a disk: whether they are whole, the result of a look, and the content of a journal.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_plan::ModelKind;
use compass_types::ids::Digest;
use compass_watch::look::look;
use compass_watch::{Ending, Examined, Journal, Look, ModelParts, Record, examine};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A file of safetensors with one tensor of this many bytes.
fn safetensors(bytes: usize) -> Vec<u8> {
    let header = format!(r#"{{"w":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{bytes}]}}}}"#, bytes / 4);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![7; bytes]].concat()
}

/// A checkpoint in two shards.
fn checkpoint(place: &Path) {
    fs::create_dir_all(place).unwrap();
    fs::write(place.join("config.json"), "{}").unwrap();
    fs::write(place.join("tokenizer.json"), "{}").unwrap();
    let index = r#"{"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}"#;
    fs::write(place.join("model.safetensors.index.json"), index).unwrap();
    fs::write(place.join("one.safetensors"), safetensors(400)).unwrap();
    fs::write(place.join("two.safetensors"), safetensors(800)).unwrap();
}

fn parts(place: &Path, kind: ModelKind) -> Vec<ModelParts> {
    vec![ModelParts { kind, directory: place.into(), tokenizer: place.into(), adapter: None }]
}

fn lacks(place: &Path, kind: ModelKind) -> String {
    match examine(&parts(place, kind)) {
        Examined::Lacks(words) => words,
        Examined::Whole(_) => "nothing".into(),
    }
}

#[test]
fn a_checkpoint_is_whole_once_its_last_byte_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    checkpoint(&whole);
    let Examined::Whole(content) = examine(&parts(&whole, ModelKind::Hf)) else { unreachable!("it is whole") };
    let partial = folder.path().join("partial");
    // Every prefix of every file, in the order in which a trainer writes them.
    let names = ["config.json", "model.safetensors.index.json", "one.safetensors", "two.safetensors", "tokenizer.json"];
    fs::create_dir(&partial).unwrap();
    for name in names {
        let bytes = fs::read(whole.join(name)).unwrap();
        for end in (0..bytes.len()).step_by(7) {
            fs::write(partial.join(name), &bytes[..end]).unwrap();
            assert_ne!(lacks(&partial, ModelKind::Hf), "nothing", "{name} has {end} bytes");
        }
        fs::write(partial.join(name), bytes).unwrap();
    }
    assert_eq!(examine(&parts(&partial, ModelKind::Hf)), Examined::Whole(content), "a copy has the same content");
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("step_1");
    let told = |damage: &dyn Fn(&Path)| {
        let _ = fs::remove_dir_all(&place);
        checkpoint(&place);
        damage(&place);
        lacks(&place, ModelKind::Hf)
    };
    let remove = |name: &'static str| move |place: &Path| fs::remove_file(place.join(name)).unwrap();
    let write = |name: &'static str, bytes: Vec<u8>| move |place: &Path| fs::write(place.join(name), &bytes).unwrap();
    assert_eq!(told(&|_| {}), "nothing");
    assert_eq!(told(&remove("two.safetensors")), "two.safetensors is missing");
    assert_eq!(told(&remove("config.json")), "config.json is missing");
    assert!(
        told(&remove("tokenizer.json"))
            .starts_with("it holds no tokenizer; where the trainer writes none, name one by")
    );
    let long = [safetensors(800), vec![0; 3]].concat();
    assert!(told(&write("two.safetensors", long)).ends_with("bytes, 3 more than its header says"));
    assert!(told(&write("two.safetensors", safetensors(800)[..860].to_vec())).contains("two.safetensors has 860 of "));
    assert_eq!(told(&write("two.safetensors", vec![0xff; 99])), "two.safetensors has no header of safetensors");
    let lfs = b"version https://git-lfs.github.com/spec/v1\n".to_vec();
    assert_eq!(told(&write("one.safetensors", lfs)), "one.safetensors has no header of safetensors");
    assert_eq!(
        told(&write("model.safetensors.index.json", b"{}".to_vec())),
        "model.safetensors.index.json names no file"
    );
    assert!(told(&write("config.json", b"{".to_vec())).starts_with("config.json cannot be read: EOF"));
    // An archive of torch.save ends with its directory.
    let cut = write("pytorch_model.bin", b"PK\x03\x04 and so on".to_vec());
    let words = "pytorch_model.bin is cut short: the end of its archive is missing";
    assert_eq!(told(&|place| (remove("model.safetensors.index.json")(place), cut(place)).0), words);
    let ranks = |place: &Path| {
        fs::write(place.join("params.json"), "{}").unwrap();
        for name in ["consolidated.00.pth", "consolidated.02.pth"] {
            fs::write(place.join(name), b"PK\x03\x04....PK\x05\x06").unwrap();
        }
    };
    ranks(&place);
    assert_eq!(lacks(&place, ModelKind::Llama), "consolidated.01.pth is missing");
}

#[test]
fn what_is_no_regular_file_is_named_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let told = |name: &str, target: &Path| {
        let place = folder.path().join("step_1");
        let _ = fs::remove_dir_all(&place);
        checkpoint(&place);
        let _ = fs::remove_file(place.join(name));
        std::os::unix::fs::symlink(target, place.join(name)).unwrap();
        lacks(&place, ModelKind::Hf)
    };
    let names = ["config.json", "model.safetensors.index.json", "one.safetensors", "two.safetensors"];
    for name in names {
        assert_eq!(told(name, &pipe), format!("{name} is a named pipe, not a regular file"));
        assert_eq!(told(name, Path::new("/dev/zero")), format!("{name} is a device, not a regular file"));
        assert_eq!(told(name, folder.path()), format!("{name} is a folder, not a regular file"));
    }
    // Whether they are there is all that is asked of them before they are digested.
    for name in ["generation_config.json", "tokenizer_config.json", "vocab.json", "some.model"] {
        let told = told(name, &pipe);
        assert!(told.ends_with(&format!("step_1: {name}: a named pipe, not a regular file")), "{told}");
    }
    assert!(told("tokenizer.json", &pipe).starts_with("it holds no tokenizer"));
    // Takes no room on a disk, and more memory than there is.
    let sparse = folder.path().join("sparse");
    fs::File::create(&sparse).unwrap().set_len(5 << 30).unwrap();
    assert_eq!(told("config.json", &sparse), "config.json is larger than 4096 MiB");
}

#[test]
fn a_look_tells_what_was_written_and_what_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("step_1");
    let seen = |markers: &[&str]| -> Option<Look> {
        let markers: Vec<String> = markers.iter().map(|marker| (*marker).to_owned()).collect();
        look(&[&place], &markers, SystemTime::now() + Duration::from_secs(60)).unwrap()
    };
    assert_eq!(seen(&[]), None);
    checkpoint(&place);
    let first = seen(&[]).unwrap();
    assert!(first.age_ms >= 59_000 && first.unfinished.is_none(), "{first:?}");
    assert_eq!(seen(&[]).unwrap().fingerprint, first.fingerprint);
    // The same bytes once more, in place: another time.
    fs::write(place.join("one.safetensors"), safetensors(400)).unwrap();
    let second = seen(&[]).unwrap();
    assert_ne!(second.fingerprint, first.fingerprint);
    // A copy that keeps the time of writing is known by the time of the change.
    let modified = fs::metadata(place.join("two.safetensors")).unwrap().modified().unwrap();
    fs::write(place.join("copy"), safetensors(800)).unwrap();
    fs::File::options().write(true).open(place.join("copy")).unwrap().set_modified(modified).unwrap();
    fs::rename(place.join("copy"), place.join("two.safetensors")).unwrap();
    assert_ne!(seen(&[]).unwrap().fingerprint, second.fingerprint);
    assert_eq!(seen(&[".done"]).unwrap().unfinished.as_deref(), Some(".done is not there yet"));
    fs::write(place.join(".done"), "").unwrap();
    assert_eq!(seen(&[".done"]).unwrap().unfinished, None);
    fs::write(place.join("three.safetensors.tmp"), "").unwrap();
    assert_eq!(seen(&[".done"]).unwrap().unfinished.as_deref(), Some("three.safetensors.tmp is being written"));
}

#[test]
fn a_journal_keeps_every_whole_line_for_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("watch/journal.jsonl");
    let content = Digest::of(b"weights");
    let records = [
        Record::Seen { name: "step_1".into(), fingerprint: Digest::of(b"look"), content },
        Record::Intended { content, name: "step_1".into(), step: Some(1) },
        Record::Ended { content, ending: Ending { code: 1, reason: "no \"table\"\n".into() } },
    ];
    let (mut journal, known) = Journal::open(&path).unwrap();
    assert_eq!(known, []);
    records.iter().for_each(|record| journal.keep(record).unwrap());
    let held = Journal::open(&path).unwrap_err().to_string();
    assert!(held.starts_with("another process watches this folder with this configuration: it has "), "{held}");
    drop(journal);
    // A line that a kill cut short is as if it had never been begun.
    fs::File::options().append(true).open(&path).unwrap().write_all(b"{\"record\":\"skip").unwrap();
    let (mut journal, known) = Journal::open(&path).unwrap();
    assert_eq!(known, records);
    journal.keep(&Record::Skipped { content }).unwrap();
    drop(journal);
    assert_eq!(Journal::open(&path).unwrap().1.len(), 4);
    let text = fs::read_to_string(&path).unwrap().replacen("\"ended\"", "\"finished\"", 1);
    fs::write(&path, text).unwrap();
    let damaged = Journal::open(&path).unwrap_err().to_string();
    assert!(damaged.contains("journal.jsonl:3:") && damaged.contains("unknown variant `finished`"), "{damaged}");
}

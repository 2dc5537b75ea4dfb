//! A mirror of the hub: what comes lies as the hub's own library puts it, checked by its checksum.

use crate::s3::content;
use compass_mirrors::HubMirror;
use compass_plan::ModelKind;
use compass_storage::{FaultKind, Location, Storage, StorageOptions, Variables};
use std::path::Path;

const REPOSITORY: &str = "org/tiny";

fn mirror(folder: &Path) -> HubMirror {
    let mirror = HubMirror::start().unwrap();
    let files = folder.join("files");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("config.json"), "{}").unwrap();
    std::fs::write(files.join("tokenizer.json"), "{}").unwrap();
    std::fs::write(files.join("README.md"), "not needed").unwrap();
    std::fs::write(files.join("model.safetensors"), content(20_000_000)).unwrap();
    std::fs::write(files.join("pytorch_model.bin"), content(50_000)).unwrap();
    mirror.put_folder(REPOSITORY, &files).unwrap();
    mirror
}

fn storage(folder: &Path, mirror: &HubMirror, more: &[(&str, &str)]) -> Storage {
    let home = folder.join("hf").display().to_string();
    let pairs = [("HF_ENDPOINT", mirror.url()), ("HF_HOME", home)].map(|(name, value)| (name.to_owned(), value));
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let variables: Variables = pairs.into_iter().chain(more).collect();
    Storage::new(StorageOptions { variables, ..StorageOptions::default() })
}

fn location() -> Location {
    Location::parse("hub:org/tiny").unwrap().unwrap()
}

#[test]
fn a_model_comes_and_lies_as_the_hubs_library_puts_it() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = mirror(folder.path());
    let found = storage(folder.path(), &mirror, &[("HF_TOKEN", "hunter2")]);
    let fetched = found.model_files(&location(), ModelKind::Hf, &mut |_| {}).unwrap();
    let repository = folder.path().join("hf/hub/models--org--tiny");
    assert_eq!(fetched.folder(), repository.join("snapshots").join(mirror.commit()));
    assert_eq!(std::fs::read_to_string(repository.join("refs/main")).unwrap(), mirror.commit());
    assert!(std::fs::read(fetched.folder().join("model.safetensors")).unwrap() == content(20_000_000));
    let blob = std::fs::read_link(fetched.folder().join("config.json")).unwrap();
    assert_eq!(
        blob.to_str().unwrap(),
        "../../blobs/9e26dfeeb6e641a33dae4961196235bdb965b21b",
        "as `git hash-object` names `{{}}`"
    );
    for other in ["README.md", "pytorch_model.bin"] {
        assert!(!fetched.folder().join(other).exists(), "{other} is not read");
    }
    assert_eq!(mirror.leaked(), Vec::<String>::new(), "a token is for the hub alone");
    let before = mirror.requests().len();
    let again = storage(folder.path(), &mirror, &[]).model_files(&location(), ModelKind::Hf, &mut |_| {}).unwrap();
    assert_eq!(
        (again.folder(), mirror.requests().len()),
        (fetched.folder(), before),
        "nothing is missing, nothing is asked"
    );
}

#[test]
fn the_planner_takes_the_small_files_and_pins_the_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = mirror(folder.path());
    let found = storage(folder.path(), &mirror, &[]);
    let small = found.small_files(&location(), &mut |_| {}).unwrap();
    assert_eq!(small.location.to_string(), format!("hub:org/tiny@{}", mirror.commit()));
    assert!(
        small.small.folder().join("tokenizer.json").is_file()
            && !small.small.folder().join("model.safetensors").exists()
    );
    let before = mirror.requests().len();
    found.model_files(&small.location, ModelKind::Hf, &mut |_| {}).unwrap();
    let later = mirror.requests()[before..].to_vec();
    assert!(later.iter().all(|line| !line.contains("config.json")), "what is here is not asked for again: {later:?}");
}

#[test]
fn a_connection_that_drops_is_taken_up_again_and_a_wrong_checksum_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = mirror(folder.path());
    mirror.cut_large(100_000, 2);
    storage(folder.path(), &mirror, &[]).model_files(&location(), ModelKind::Hf, &mut |_| {}).unwrap();
    let other = tempfile::tempdir().unwrap();
    mirror.damage_large(true);
    let fault = storage(other.path(), &mirror, &[]).model_files(&location(), ModelKind::Hf, &mut |_| {}).unwrap_err();
    assert!(fault.message.contains("arrived with other content than its checksum tells"), "{fault}");
    mirror.damage_large(false);
    assert!(storage(other.path(), &mirror, &[]).model_files(&location(), ModelKind::Hf, &mut |_| {}).is_ok());
}

#[test]
fn offline_nothing_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = mirror(folder.path());
    let found = storage(folder.path(), &mirror, &[("TRANSFORMERS_OFFLINE", "1")]);
    let fault = found.model_files(&location(), ModelKind::Hf, &mut |_| {}).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Configuration);
    assert!(fault.message.contains("TRANSFORMERS_OFFLINE=1 forbids to fetch it"), "{fault}");
    assert!(fault.help.contains("hf download --revision main org/tiny"), "{}", fault.help);
    assert_eq!(mirror.requests(), Vec::<String>::new());
}

#[test]
fn what_the_hub_refuses_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = mirror(folder.path());
    let said = |id: &str| {
        let location = Location::parse(id).unwrap().unwrap();
        storage(folder.path(), &mirror, &[]).model_files(&location, ModelKind::Hf, &mut |_| {}).unwrap_err()
    };
    let fault = said("hub:org/other");
    assert_eq!(fault.kind, FaultKind::Denied);
    assert!(
        fault.message.contains("`org/other` at revision `main`") && fault.message.contains("RepoNotFound"),
        "{fault}"
    );
    assert!(fault.help.contains("HF_TOKEN"), "{}", fault.help);
    let fault = said("hub:org/tiny@v9");
    assert_eq!(fault.kind, FaultKind::Missing, "{fault}");
}

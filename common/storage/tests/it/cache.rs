//! The folder on this node: its bound, what is in use, one transfer for all.

use crate::s3::{ACCESS, SECRET, content, fetch_all, location, options};
use compass_mirrors::ObjectServer;
use compass_storage::{Bound, FaultKind, Storage, StorageOptions};
use std::path::Path;
use std::time::{Duration, SystemTime};

fn bounded(folder: &Path, server: &ObjectServer, bytes: u64) -> Storage {
    Storage::new(StorageOptions { bound: Bound::Bytes(bytes), ..options(folder, server, SECRET) })
}

/// Dates the last use of an entry, which is the time of its lock, so many seconds back.
fn used_ago(folder: &Path, seconds: u64) {
    let lock = std::fs::File::open(folder.with_added_extension("lock")).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn what_was_used_longest_ago_makes_room_and_what_is_in_use_stays() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two", "three"] {
        server.put("b", &format!("{name}/model.safetensors"), content(1_000_000));
    }
    let storage = bounded(folder.path(), &server, 2_500_000);
    let one = fetch_all(&storage, "weights:s3://b/one").unwrap();
    let two = fetch_all(&storage, "weights:s3://b/two").unwrap();
    let (first, second) = (one.folder().to_owned(), two.folder().to_owned());
    // Both are in use: there is no room.
    let fault = fetch_all(&storage, "weights:s3://b/three").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Cache);
    assert!(fault.message.contains("may hold 2.4 MiB, has 1.9 MiB in use and needs 976.6 KiB more"), "{fault}");
    assert!(fault.help.contains("--storage-cache-limit"), "{}", fault.help);
    drop(two);
    drop(one);
    // The first was used longest ago, until it is used again. What files say of it may be equal otherwise.
    used_ago(&first, 120);
    used_ago(&second, 60);
    drop(fetch_all(&storage, "weights:s3://b/one").unwrap());
    let three = fetch_all(&storage, "weights:s3://b/three").unwrap();
    assert!(first.is_dir() && !second.exists() && three.folder().is_dir());
    assert!(fetch_all(&storage, "weights:s3://b/two").is_ok(), "and it comes back");
}

#[test]
fn two_at_once_fetch_it_once() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    server.put("b", "k/model.safetensors", content(30_000_000));
    let options = options(folder.path(), &server, SECRET);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // A storage of its own, as another process has: locks are between open files.
                let storage = Storage::new(options.clone());
                let fetched = fetch_all(&storage, "weights:s3://b/k").unwrap();
                assert_eq!(std::fs::metadata(fetched.folder().join("model.safetensors")).unwrap().len(), 30_000_000);
            });
        }
    });
    let pieces = server.requests().iter().filter(|line| line.contains("bytes=")).count();
    assert_eq!(pieces, 4, "30 MB are four pieces, once");
}

#[test]
fn another_content_is_another_entry_and_shares_what_is_the_same() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    server.put("b", "k/model.safetensors", content(3_000_000));
    server.put("b", "k/config.json", "{}");
    let storage = bounded(folder.path(), &server, 4_000_000);
    let old = fetch_all(&storage, "weights:s3://b/k").unwrap();
    server.put("b", "k/config.json", "{ }");
    let before = server.requests().len();
    let new = fetch_all(&storage, "weights:s3://b/k").unwrap();
    assert_ne!(old.folder(), new.folder());
    let read =
        |fetched: &compass_storage::Fetched| std::fs::read_to_string(fetched.folder().join("config.json")).unwrap();
    assert_eq!((read(&old).as_str(), read(&new).as_str()), ("{}", "{ }"), "who maps the old one keeps it");
    let reads: Vec<_> = server.requests()[before..].iter().filter(|line| line.contains("bytes=")).cloned().collect();
    assert_eq!(reads, ["GET /b/k/config.json bytes=0-2"], "the weights are linked, and counted once");
}

#[test]
fn an_object_that_changes_after_the_listing_is_told() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    server.put("b", "k/config.json", "{}");
    let storage = bounded(folder.path(), &server, 1 << 20);
    let at = location("weights:s3://b/k");
    let listing = storage.list(&at).unwrap();
    server.put("b", "k/config.json", "[]");
    let fault = storage.fetch(&at, &listing, &["config.json".into()], &mut |_| {}).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Changed, "{fault}");
}

#[test]
fn a_file_that_was_damaged_here_is_fetched_again() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    server.put("b", "k/config.json", "{\"a\": 1}");
    let storage = bounded(folder.path(), &server, 1 << 20);
    let place = fetch_all(&storage, "weights:s3://b/k").unwrap().folder().join("config.json");
    std::fs::write(&place, "{").unwrap();
    fetch_all(&storage, "weights:s3://b/k").unwrap();
    assert_eq!(std::fs::read_to_string(place).unwrap(), "{\"a\": 1}");
}

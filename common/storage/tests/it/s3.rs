//! An object store: listings in pages, ranges, faults on the way, refusals in words.

use compass_mirrors::{Endless, Fault, ObjectServer};
use compass_storage::{
    Bound, FaultKind, Fetched, Location, Progress, Storage, StorageFault, StorageOptions, Variables,
};
use std::path::Path;

pub(crate) const ACCESS: &str = "reader";
pub(crate) const SECRET: &str = "hunter2/+=";

/// Bytes that differ from place to place.
pub(crate) fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

pub(crate) fn location(text: &str) -> Location {
    Location::parse(text).unwrap().unwrap()
}

/// A petreloss.conf for the store, and a cache, in `folder`.
pub(crate) fn options(folder: &Path, server: &ObjectServer, secret: &str) -> StorageOptions {
    let conf = folder.join("petreloss.conf");
    let text = format!(
        "[DEFAULT]\nenable_mc = True\nboto = c_boto\n\n[weights]\nhost_base = {}\naccess_key = {ACCESS}\nsecret_key = {secret}\n",
        server.url()
    );
    std::fs::write(&conf, text).unwrap();
    StorageOptions {
        variables: Variables::default(),
        petreloss_conf: Some(conf),
        cache: Some(folder.join("cache")),
        bound: Bound::Bytes(1 << 30),
    }
}

/// Fetches everything that is there.
pub(crate) fn fetch_all(storage: &Storage, at: &str) -> Result<Fetched, StorageFault> {
    let location = location(at);
    let listing = storage.list(&location)?;
    let names: Vec<String> = listing.files.keys().cloned().collect();
    storage.fetch(&location, &listing, &names, &mut |_| {})
}

#[test]
fn a_folder_comes_whole_and_is_not_fetched_again() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let large = content(20_000_000);
    server.put("model_weights", "0331/5499/model.safetensors", large.clone());
    for name in ["config.json", "tokenizer.json", "empty", "a b+c=d.txt", "templates/x.jinja"] {
        let text = if name == "empty" { "" } else { name };
        server.put("model_weights", &format!("0331/5499/{name}"), text);
    }
    server.put("model_weights", "0331/54990/other", "not below the prefix");
    let storage = Storage::new(options(folder.path(), &server, SECRET));
    let at = "weights:s3://model_weights/0331/5499/";
    let fetched = fetch_all(&storage, at).unwrap();
    let read = |name: &str| std::fs::read(fetched.folder().join(name)).unwrap();
    assert!(read("model.safetensors") == large, "the pieces are where they belong");
    assert_eq!((read("a b+c=d.txt"), read("empty")), (b"a b+c=d.txt".to_vec(), Vec::new()));
    assert_eq!(read("templates/x.jinja"), b"templates/x.jinja");
    assert!(!fetched.folder().join("other").exists());
    let pieces = server.requests().iter().filter(|line| line.contains("model.safetensors bytes=")).count();
    assert_eq!(pieces, 3, "20 MB are three pieces: {:?}", server.requests());
    assert_eq!(server.requests().iter().filter(|line| line.contains("list-type")).count(), 2, "six keys are two pages");
    let before = server.requests().len();
    let again = fetch_all(&storage, at).unwrap();
    assert_eq!(again.folder(), fetched.folder());
    let after = server.requests();
    assert!(after[before..].iter().all(|line| line.contains("list-type")), "{:?}", &after[before..]);
}

#[test]
fn variables_of_aws_name_a_store_as_well() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    server.put("b", "k/config.json", "{}");
    let pairs = [
        ("AWS_ENDPOINT_URL", server.url()),
        ("AWS_ACCESS_KEY_ID", ACCESS.into()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.into()),
        ("AWS_REGION", "cn-north-1".into()),
    ];
    let variables = pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let cache = Some(folder.path().join("cache"));
    let storage = Storage::new(StorageOptions { variables, cache, ..StorageOptions::default() });
    let fetched = fetch_all(&storage, "s3://b/k").unwrap();
    assert_eq!(std::fs::read_to_string(fetched.folder().join("config.json")).unwrap(), "{}");
}

#[test]
fn refusals_name_profile_endpoint_bucket_and_key_and_no_secret() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    server.put("b", "k/config.json", "{}");
    let said = |secret: &str, at: &str| {
        let fault = fetch_all(&Storage::new(options(folder.path(), &server, secret)), at).unwrap_err();
        let shown = fault.with_help();
        assert!(!shown.contains(secret) && !shown.contains('\n'), "{shown}");
        (fault.kind, shown.replace(&server.url(), "URL").replace(&folder.path().display().to_string(), "DIR"))
    };
    assert_eq!(
        said("another", "weights:s3://b/k/"),
        (
            FaultKind::Denied,
            "cannot read `k` in bucket `b` of URL with profile `weights`: the secret key is wrong (SignatureDoesNotMatch); help: \
             check access_key and secret_key of `[weights]` in DIR/petreloss.conf"
                .into()
        )
    );
    let (kind, shown) = said(SECRET, "weights:s3://none/k/");
    assert_eq!(kind, FaultKind::Missing);
    assert!(shown.contains("`k` in bucket `none` of URL with profile `weights`: there is no such bucket"), "{shown}");
    let (kind, shown) = said(SECRET, "weights:s3://b/nothing/");
    assert_eq!(kind, FaultKind::Missing);
    assert!(shown.contains("`nothing` in bucket `b` of URL with profile `weights`: nothing lies there"), "{shown}");
    let (kind, shown) = said(SECRET, "weihgts:s3://b/k/");
    assert_eq!(kind, FaultKind::Configuration);
    assert!(shown.contains("DIR/petreloss.conf has no section `[weihgts]`") && shown.contains("weights"), "{shown}");
}

#[test]
fn a_listing_without_an_end_is_given_up() {
    let cases = [
        (Endless::SamePage, "the store gives the same page again and again", 2),
        (Endless::OtherKeys, "there are more than 100000 objects", 6),
        (Endless::LongPage, "the answer is longer than 67108864 bytes", 1),
    ];
    for (endless, reason, pages) in cases {
        let server = ObjectServer::start(ACCESS, SECRET).unwrap();
        let folder = tempfile::tempdir().unwrap();
        server.put("b", "k/config.json", "{}");
        server.list_endlessly(endless);
        let storage = Storage::new(options(folder.path(), &server, SECRET));
        let fault = storage.list(&location("weights:s3://b/k/")).unwrap_err();
        assert!(fault.message.contains(reason), "{endless:?}: {fault}");
        assert!(fault.message.contains("`k` in bucket `b`"), "{fault}");
        assert_eq!(server.requests().len(), pages, "{endless:?}: {:?}", server.requests());
    }
}

#[test]
fn a_store_that_does_not_answer_is_named() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::new(options(folder.path(), &server, SECRET));
    let url = server.url();
    drop(server);
    let fault = fetch_all(&storage, "weights:s3://b/k/").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable, "{fault}");
    assert!(fault.message.contains(&url) && fault.message.contains("Connection refused"), "{fault}");
    assert!(fault.help.contains("can be reached from this host"), "{}", fault.help);
}

#[test]
fn a_connection_that_drops_and_a_store_that_throttles_are_sat_out() {
    for fault in [Fault::Drop(1_000_000), Fault::SlowDown] {
        let server = ObjectServer::start(ACCESS, SECRET).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let large = content(20_000_000);
        server.put("b", "k/model.safetensors", large.clone());
        let storage = Storage::new(options(folder.path(), &server, SECRET));
        let listed = storage.list(&location("weights:s3://b/k")).unwrap();
        server.break_reads(fault, 4);
        let names = ["model.safetensors".to_owned()];
        let fetched = storage.fetch(&location("weights:s3://b/k"), &listed, &names, &mut |_| {}).unwrap();
        assert!(std::fs::read(fetched.folder().join("model.safetensors")).unwrap() == large, "{fault:?}");
        let reads = server.requests().iter().filter(|line| line.contains("bytes=")).count();
        assert_eq!(reads, 3 + 4, "{fault:?}: three pieces, four of them asked for again");
    }
}

#[test]
fn an_object_that_is_shorter_than_its_listing_is_told() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    server.put("b", "k/model.safetensors", content(20_000_000));
    let storage = Storage::new(options(folder.path(), &server, SECRET));
    server.break_reads(Fault::Truncate(9_000_000), usize::MAX);
    let fault = fetch_all(&storage, "weights:s3://b/k/").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Changed, "{fault}");
    assert!(
        fault.message.contains("`k/model.safetensors` in bucket `b`") && fault.message.contains("changed while"),
        "{fault}"
    );
}

#[test]
fn what_came_before_a_failure_is_not_fetched_again() {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let large = content(50_000_000);
    server.put("b", "k/model.safetensors", large.clone());
    let at = location("weights:s3://b/k");
    let names = ["model.safetensors".to_owned()];
    let listing = {
        let storage = Storage::new(options(folder.path(), &server, SECRET));
        storage.list(&at).unwrap()
    };
    let storage = Storage::new(options(folder.path(), &server, SECRET));
    server.break_reads_after(2, Fault::Truncate(1), usize::MAX);
    assert!(storage.fetch(&at, &listing, &names, &mut |_| {}).is_err(), "the rest of the pieces does not come");
    server.mend();
    let before = server.requests().len();
    let mut kept = 0;
    let storage = Storage::new(options(folder.path(), &server, SECRET));
    let fetched = storage.fetch(&at, &listing, &names, &mut |progress| {
        if let Progress::Bytes { from_before, .. } = progress {
            kept = from_before;
        }
    });
    let fetched = fetched.unwrap();
    assert!(std::fs::read(fetched.folder().join("model.safetensors")).unwrap() == large);
    let pieces = server.requests()[before..].iter().filter(|line| line.contains("bytes=")).count() as u64;
    let all = 50_000_000_u64.div_ceil(8 << 20);
    // Which two pieces came first is the threads' affair; the last piece is a shorter one.
    let last = 50_000_000 - (all - 1) * (8 << 20);
    let two = [2 * (8 << 20), (8 << 20) + last];
    assert!(two.contains(&kept) && pieces == all - 2, "{kept} bytes were here, {pieces} of {all} pieces came");
}

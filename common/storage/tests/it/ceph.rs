//! Against the object gateway of a real Ceph, which `tests/lab/ceph.sh` starts.

use crate::s3::{content, fetch_all, location};
use compass_mirrors::{Relay, Uploader};
use compass_needs::{Need, skipped};
use compass_storage::{Bound, FaultKind, Storage, StorageOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

const SECRET: &str = "SKTEST";

/// A Ceph; it ends when it is dropped.
struct Ceph {
    folder: tempfile::TempDir,
    uploader: Uploader,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/ceph.sh")
}

impl Ceph {
    /// `None`, said as skipped, where Ceph is not installed, and outside of `deploy/test.sh --full`.
    fn start() -> Option<Self> {
        let is_full = std::env::var("COMPASS_FULL").is_ok_and(|value| value == "1");
        let is_named = std::env::var("COMPASS_REQUIRE")
            .is_ok_and(|names| names.split(',').any(|name| matches!(name, "ceph" | "all")));
        if !is_full && !is_named {
            skipped(Need::Ceph, "it starts with COMPASS_FULL=1, which deploy/test.sh --full sets");
            return None;
        }
        let is_there = |program: &&str| {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
            found.is_ok_and(|output| output.status.success())
        };
        let programs = ["radosgw", "radosgw-admin", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph"];
        if let Some(missing) = programs.iter().find(|program| !is_there(program)) {
            skipped(
                Need::Ceph,
                format_args!(
                    "`{missing}` is not installed (apt install radosgw ceph-mon ceph-mgr ceph-osd ceph-common)"
                ),
            );
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(script()).arg("up").arg(folder.path()).output().unwrap();
        let log = std::fs::read_to_string(folder.path().join("log/setup.log")).unwrap_or_default();
        assert!(output.status.success(), "{}{log}", String::from_utf8_lossy(&output.stderr));
        let address = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let uploader = Uploader { address, access: "AKTEST".into(), secret: SECRET.into() };
        uploader.put("model_weights", "", b"").unwrap();
        Some(Self { folder, uploader })
    }

    /// A storage with a cache of its own, which asks at `url`.
    fn storage(&self, name: &str, url: &str, secret: &str) -> Storage {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let conf = folder.join("petreloss.conf");
        std::fs::write(&conf, format!("[w]\nhost_base = {url}\naccess_key = AKTEST\nsecret_key = {secret}\n")).unwrap();
        Storage::new(StorageOptions {
            petreloss_conf: Some(conf),
            cache: Some(folder.join("cache")),
            bound: Bound::Bytes(1 << 30),
            ..StorageOptions::default()
        })
    }

    fn url(&self) -> String {
        format!("http://{}", self.uploader.address)
    }
}

impl Drop for Ceph {
    fn drop(&mut self) {
        let _ = Command::new(script()).arg("down").arg(self.folder.path()).status();
    }
}

#[test]
fn a_real_gateway() {
    let Some(ceph) = Ceph::start() else { return };
    let large = content(30_000_000);
    ceph.uploader.put("model_weights", "0331/5499/model.safetensors", &large).unwrap();
    ceph.uploader.put("model_weights", "0331/5499/config.json", b"{}").unwrap();
    let at = "w:s3://model_weights/0331/5499/";

    let storage = ceph.storage("good", &ceph.url(), SECRET);
    let fetched = fetch_all(&storage, at).unwrap();
    assert!(std::fs::read(fetched.folder().join("model.safetensors")).unwrap() == large);
    let listing = storage.list(&location(at)).unwrap();
    let range = storage.read(&location(at), &listing, "model.safetensors", 12_345..12_350).unwrap();
    assert_eq!(range, &large[12_345..12_350]);

    let fault = fetch_all(&ceph.storage("bad", &ceph.url(), "wrong"), at).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied);
    assert!(fault.message.contains("the secret key is wrong (SignatureDoesNotMatch)"), "{fault}");
    let fault = fetch_all(&storage, "w:s3://no_such_bucket/a/").unwrap_err();
    assert!(fault.message.contains("there is no such bucket"), "{fault}");
    let fault = fetch_all(&storage, "w:s3://model_weights/nothing/").unwrap_err();
    assert!(fault.message.contains("nothing lies there"), "{fault}");

    // Connections that drop halfway.
    let relay = Relay::start(ceph.uploader.address.parse().unwrap(), 3_000_000, 3).unwrap();
    let fetched = fetch_all(&ceph.storage("relay", &relay.url(), SECRET), at).unwrap();
    assert!(std::fs::read(fetched.folder().join("model.safetensors")).unwrap() == large);
    assert_eq!(relay.cuts_left(), 0, "all of them dropped");

    // An object that was cut off after it was listed.
    ceph.uploader.put("model_weights", "0331/5499/model.safetensors", &large[..9_000_000]).unwrap();
    let names = ["model.safetensors".to_owned()];
    let fault =
        ceph.storage("cut", &ceph.url(), SECRET).fetch(&location(at), &listing, &names, &mut |_| {}).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Changed, "{fault}");
}

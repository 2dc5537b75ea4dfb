//! Permissions of an interpreter.

use crate::site::{Site, call};
use compass_needs::{Need, skipped};
use std::net::TcpListener;

#[test]
fn a_contained_loader_writes_nothing_and_has_no_network() {
    let Some(mut site) = Site::new() else { return };
    let rows = site.rows("Plain", r#"{"path": "data/rows.jsonl"}"#, "test").unwrap();
    if !rows.1.contains("in a sandbox without a network") {
        return skipped(Need::Sandbox, rows.1);
    }
    let target = site.path("data/written");
    let write = serde_json::json!({ "path": target }).to_string();
    let none = site.rows("Intruder", &write, "test").unwrap_err();
    assert!(none.reason.contains("Read-only file system") && !target.exists(), "{none:?}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = serde_json::json!({ "port": listener.local_addr().unwrap().port() }).to_string();
    let none = site.rows("Caller", &port, "test").unwrap_err();
    assert!(none.help.unwrap().contains("--python-network"));
    site.world.interpreter.as_mut().unwrap().network = true;
    assert!(site.rows("Caller", &port, "test").unwrap().1.contains("in a sandbox with the network"));
    // The state folder holds keys of masters.
    site.write("state/authority.key", "secret");
    let results = site.load(&[call(
        "Plain",
        &serde_json::json!({ "path": site.path("state/authority.key") }).to_string(),
        &["test"],
    )]);
    assert!(results[0].as_ref().unwrap_err().reason.contains("FileNotFoundError"), "{results:?}");
}

#[test]
fn where_no_sandbox_works_that_is_said() {
    let Some(mut site) = Site::new() else { return };
    site.set("PATH", &site.path("nothing").display().to_string());
    let (_, said) = site.rows("Plain", r#"{"path": "data/rows.jsonl"}"#, "test").unwrap();
    assert!(said.contains("without a sandbox") && said.contains("is not installed"), "{said}");
}

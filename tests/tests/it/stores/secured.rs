//! An etcd with users, and one that speaks to none without a certificate.

use crate::stores::real::{TIMEOUTS, config};
use crate::stores::suite::{pairs, put};
use compass_settings::EtcdConfig;
use compass_store::{CoordinationStore, EtcdStore, Leadership, StoreError, StoreTimeouts};
use compass_tests::{Etcd, EtcdOptions};
use compass_types::ids::{Digest, Epoch};
use etcd_client::{Client, Permission, PermissionType};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

async fn campaign(config: &EtcdConfig) -> Result<(EtcdStore, Leadership), StoreError> {
    let timeouts = StoreTimeouts { request: Duration::from_secs(10), ..TIMEOUTS };
    let mut store = EtcdStore::open(config, &Digest::of(b"job"), timeouts)?;
    store.campaign("a", Epoch(0)).await.map(|leadership| (store, leadership))
}

fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

#[tokio::test]
#[ignore = "nightly"]
async fn users_see_their_prefix_and_a_wrong_password_is_said() {
    let Some(etcd) = Etcd::start("users_see_their_prefix", 1, EtcdOptions::default()) else { return };
    let plain = config(&etcd.endpoints());
    let mut root = Client::connect([etcd.endpoint(0)], None).await.unwrap();
    root.user_add("root", "secret", None).await.unwrap();
    root.user_grant_role("root", "root").await.unwrap();
    root.user_add("compass", "word", None).await.unwrap();
    root.role_add("compass").await.unwrap();
    let below = format!("{}/", plain.prefix);
    let range = Permission::new(PermissionType::Readwrite, below.as_str()).with_prefix();
    root.role_grant_permission("compass", range).await.unwrap();
    root.user_grant_role("compass", "compass").await.unwrap();
    root.auth_enable().await.unwrap();

    let password_file = etcd.folder().join("password");
    let user = EtcdConfig { user: Some("compass".into()), password_file: Some(password_file.clone()), ..plain.clone() };
    let missing = campaign(&user).await.unwrap_err();
    assert!(matches!(missing, StoreError::Secret { key: "password_file", .. }), "{missing}");
    write_private(&password_file, "wrong\n");
    let wrong = campaign(&user).await.unwrap_err();
    assert!(matches!(wrong, StoreError::Refused { .. }) && wrong.is_bad_input(), "{wrong}");
    write_private(&password_file, "word\n");
    let refused = campaign(&plain).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. } | StoreError::Rejected { .. }), "{refused}");
    let elsewhere = campaign(&EtcdConfig { prefix: "others".into(), ..user.clone() }).await.unwrap_err();
    assert!(matches!(elsewhere, StoreError::Refused { .. }), "{elsewhere}");

    let (mut store, leadership) = campaign(&user).await.unwrap();
    store.commit(&leadership, vec![put("k", "v")]).await.unwrap();
    assert_eq!(pairs(&store.scan_all("k").await.unwrap()), [("k", "v")]);
    store.resign(&leadership).await.unwrap();
}

/// Runs openssl; whether it is there and did it.
fn openssl(folder: &Path, line: &str) -> bool {
    let words = line.split_whitespace();
    let output = Command::new("openssl").current_dir(folder).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

/// An authority `name`, and a certificate of it for this host and for clients.
fn certify(folder: &Path, name: &str) -> bool {
    std::fs::write(folder.join("san"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n").unwrap();
    let new = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(folder, &format!("{new} -x509 -days 2 -subj /CN={name}-authority -keyout {name}-ca.key -out {name}-ca.pem"))
        && openssl(folder, &format!("{new} -subj /CN={name} -keyout {name}.key -out {name}.csr"))
        && openssl(
            folder,
            &format!(
                "x509 -req -days 2 -in {name}.csr -CA {name}-ca.pem -CAkey {name}-ca.key -CAcreateserial -extfile san -out {name}.pem"
            ),
        )
}

#[tokio::test]
#[ignore = "nightly"]
async fn encrypted_connections_need_the_right_authority_and_certificate() {
    let test = "encrypted_connections_need_the_right_authority";
    let dir = tempfile::tempdir().unwrap();
    if !certify(dir.path(), "ours") || !certify(dir.path(), "theirs") {
        compass_needs::skipped(compass_needs::Need::Openssl, format_args!("{test} needs openssl to make certificates"));
        return;
    }
    let file = |name: &str| dir.path().join(name);
    let tls = Some((file("ours.pem"), file("ours.key"), file("ours-ca.pem")));
    let Some(etcd) = Etcd::start(test, 1, EtcdOptions { tls, ..EtcdOptions::default() }) else { return };
    let plain = config(&etcd.endpoints());
    let with = |ca: &str, name: &str| EtcdConfig {
        ca: Some(file(ca)),
        cert: Some(file(&format!("{name}.pem"))),
        key: Some(file(&format!("{name}.key"))),
        ..plain.clone()
    };
    let (mut store, leadership) = campaign(&with("ours-ca.pem", "ours")).await.unwrap();
    store.commit(&leadership, vec![put("k", "v")]).await.unwrap();
    store.resign(&leadership).await.unwrap();

    let foreign = campaign(&with("theirs-ca.pem", "ours")).await.unwrap_err();
    assert!(matches!(foreign, StoreError::Tls { .. }) && foreign.is_bad_input(), "{foreign}");
    for config in [with("ours-ca.pem", "theirs"), EtcdConfig { ca: Some(file("ours-ca.pem")), ..plain.clone() }, plain]
    {
        let refused = campaign(&config).await.unwrap_err();
        assert!(matches!(refused, StoreError::Tls { .. } | StoreError::Unreachable { .. }), "{refused}");
    }
}

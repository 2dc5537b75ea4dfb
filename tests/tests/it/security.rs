//! Workers of other hosts: tokens, certificates, revocation, proxies; and everybody who is turned away, with what both
//! sides then say.
//!
//! `0.0.0.0` as a destination is this host, and no loopback address: the master counts it as a host like any other.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{
    Job, Running, Tunnel, TunnelKind, Worker, assert_same, echo_job, held_job, join_token_file, program, told_address,
    undisturbed, wait_until, worker_command,
};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NONE: &str =
    "[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 12\ngen_task_coef = 3\n";
const SMALL_TASKS: &str = "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 12\ngen_task_coef = 3\n";
const OPEN: &str = "listen = \"0.0.0.0:0\"";

/// A master that other hosts reach, at home in the job's folder.
fn master(more: &str) -> (Job, Running, u16) {
    listening(echo_job(&format!("{OPEN}\n{more}"), NONE))
}

/// The same, whose workers begin no sample until the job's gate is opened.
fn held_master(more: &str) -> (Job, Running, u16) {
    listening(held_job(0, &format!("{OPEN}\n{more}"), NONE))
}

fn listening(mut job: Job) -> (Job, Running, u16) {
    job.set_env("HOME", &job.path("home").display().to_string());
    let running = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
    (job, running, port)
}

fn worker(job: &Job, port: u16, home: &str) -> Command {
    let mut command = worker_command(&format!("0.0.0.0:{port}"), &job.path(home));
    command.envs(job.environment()).env("HOME", job.path(home));
    command
}

/// Runs `compass-master token ...` for the job's store.
fn token(job: &Job, arguments: &[&str]) -> Output {
    let mut command = Command::new(program("compass-master"));
    command.arg("token").args(arguments).arg("--config").arg(job.path("eval.toml"));
    command.env("HOME", job.path("home")).output().unwrap()
}

/// Makes a token; its id and its file.
fn invited(job: &Job, name: &str, arguments: &[&str]) -> (String, PathBuf) {
    let path = job.path(&format!("{name}.token"));
    let out = path.display().to_string();
    let output = token(job, &[&["create", "--out", &out], arguments].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(output.stdout.is_empty(), "the line is in the file alone");
    let id = said.strip_prefix("token ").unwrap().split(':').next().unwrap().to_owned();
    (id, path)
}

fn refused(worker: Worker, because: &str) {
    let (code, said) = worker.finish();
    let last = said.lines().last().unwrap_or_default();
    assert_eq!(code, Some(4), "{said}");
    assert!(last.contains(because), "expected {because:?} in the last line of\n{said}");
}

/// The master's screen reports it once, and the run continues.
fn told_once(job: &Job, what: &str) {
    wait_until("the master says whom it refused", || job.log("master.log").contains(what).then_some(()));
    assert_eq!(job.log("master.log").matches(what).count(), 1, "{}", job.log("master.log"));
}

/// A worker that shares the master's home brings the run to its end.
fn rescued(job: &Job, running: Running, port: u16) {
    let helper = Worker::start(worker(job, port, "home"), job.path("helper.log"));
    let code = running.finish().code;
    let (helper_code, said) = helper.finish();
    assert_eq!((code, helper_code), (Some(0), Some(0)), "{}\n{said}", job.log("master.log"));
}

fn secrets_of(path: &Path) -> String {
    let line = std::fs::read_to_string(path).unwrap();
    line.trim().split('.').nth(2).unwrap().to_owned()
}

#[test]
#[ignore = "nightly"]
fn the_command_works_as_typed_where_the_home_is_shared() {
    let (job, running, port) = master("");
    let left = job.path("home/.local/state/compass/join");
    let names: Vec<_> = std::fs::read_dir(&left).unwrap().flatten().map(|entry| entry.path()).collect();
    let loopback = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("loopback-");
    assert!(names.iter().any(loopback) && !names.iter().all(loopback), "{port}: {names:?}");
    let secret = secrets_of(&names[0]);
    let joined = Worker::start(worker(&job, port, "home"), job.path("worker.log"));
    assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
    let (code, said) = joined.finish();
    assert_eq!(code, Some(0), "{said}");
    assert_same(&job, &undisturbed());
    assert_eq!(std::fs::read_dir(&left).unwrap().count(), 0, "the token went with the master");
    let run_json = std::fs::read_to_string(job.latest().join("logs/run.json")).unwrap();
    for text in [said, run_json, job.log("master.log")] {
        assert!(!text.contains(&secret));
    }
    for (path, bytes) in job.tree("configs").into_iter().chain(job.tree("plan")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(&secret), "{path}");
    }
}

#[test]
#[ignore = "nightly"]
fn local_workers_of_a_master_that_others_reach_need_no_care() {
    let mut job = echo_job(OPEN, "");
    job.set_env("HOME", &job.path("home").display().to_string());
    job.run(&[]).expect(0);
    assert_same(&job, &undisturbed());
}

#[test]
fn everybody_without_a_good_token_is_turned_away_in_one_sentence() {
    let (job, running, port) = master("");
    let start = |log: &str, file: Option<&Path>| {
        let mut command = worker(&job, port, "elsewhere");
        if let Some(file) = file {
            command.arg("--token-file").arg(file);
        }
        Worker::start(command, job.path(log))
    };
    refused(start("uninvited", None), "admits invited workers only; put the line that `compass-master token create`");
    told_once(&job, "it brought no join token");
    refused(start("uninvited again", None), "admits invited workers only");
    told_once(&job, "it brought no join token");

    refused(start("no file", Some(&job.path("gone"))), "cannot read the join token");
    job.write_private("hunter2", "hunter2\n");
    refused(start("no token", Some(&job.path("hunter2"))), "it holds no join token");

    let (id, path) = invited(&job, "short", &["--ttl", "1s"]);
    wait_until("the token expires", || {
        let list = String::from_utf8(token(&job, &["list"]).stdout).unwrap();
        list.lines().find(|line| line.starts_with(&id)).filter(|line| line.contains("expired")).map(drop)
    });
    refused(start("expired", Some(&path)), &format!("its join token {id} has expired"));
    told_once(&job, &format!("its join token {id} has expired"));

    let (id, path) = invited(&job, "revoked", &[]);
    assert_eq!(token(&job, &["revoke", &id]).status.code(), Some(0));
    refused(start("revoked", Some(&path)), &format!("its join token {id} was revoked"));

    let (_, path) = invited(&job, "forged", &[]);
    let line = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, line.replace(&secrets_of(&path), "0000")).unwrap();
    refused(start("forged", Some(&path)), "its join token is not known here");
    assert_eq!(token(&job, &["revoke", "missing"]).status.code(), Some(2));

    // Another master's token, of another authority.
    let other = echo_job("", "");
    let (_, path) = invited(&other, "foreign", &[]);
    refused(start("foreign", Some(&path)), "is of another authority than this worker's join token");
    told_once(&job, "it does not trust this master: its join token is of another authority");

    // In the plain: to loopback, without a token.
    let mut command = worker_command(&format!("127.0.0.1:{port}"), &job.path("elsewhere"));
    command.arg("--plain-loopback");
    refused(Worker::start(command, job.path("plain")), "this master speaks with encryption only");
    told_once(&job, "it speaks without encryption");
    rescued(&job, running, port);
    assert_same(&job, &undisturbed());
}

#[test]
#[ignore = "nightly"]
fn a_token_of_a_pool_admits_to_no_other() {
    let pools = "[[pool]]\nname = \"s\"\nlauncher = \"none\"\n[[pool]]\nname = \"aliyun\"\nlauncher = \"none\"\n";
    let mut job = echo_job(OPEN, &format!("{pools}{SMALL_TASKS}"));
    job.set_env("HOME", &job.path("home").display().to_string());
    let running = job.start_logged(&[], "master.log");
    let port = told_address(&job, "master.log").rsplit_once(':').unwrap().1.parse().unwrap();
    let (id, path) = invited(&job, "aliyun", &["--pool", "aliyun", "--uses", "1"]);
    let start = |log: &str, arguments: &[&str]| {
        let mut command = worker(&job, port, "elsewhere");
        command.args(["--name", log]).args(arguments).arg("--token-file").arg(&path);
        Worker::start(command, job.path(log))
    };
    let misspelt = String::from_utf8(token(&job, &["create", "--pool", "alyun"]).stderr).unwrap();
    assert!(misspelt.contains("has no pool alyun, and would refuse its workers; it has s, aliyun"), "{misspelt}");
    job.write("broken.toml", "[[pool]]\nname = \"s\"\n");
    let broken = job.command_line(&["token", "create", "--pool", "alyun", "--config", "broken.toml"]).run().expect(2);
    assert!(broken.stderr.contains("missing key `launcher`") && broken.stdout.is_empty(), "{}", broken.stderr);
    job.write("without.toml", "[master]\n");
    let without = job.command_line(&["token", "create", "--pool", "s", "--config", "without.toml"]).run().expect(2);
    assert!(
        without.stderr.contains("without.toml defines no pools") && without.stdout.is_empty(),
        "{}",
        without.stderr
    );
    let because = format!("its join token {id} is for workers of pool aliyun, and it says that it works for pool s");
    refused(start("stray", &["--pool", "s"]), &because);
    told_once(&job, &because);
    // That cost no use; and a worker that names no pool works for the token's.
    let joined = start("joined", &[]);
    assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
    let (code, said) = joined.finish();
    assert_eq!(code, Some(0), "{said}");
    let facts = job.facts();
    assert_eq!(facts["workers"]["joined"]["pool"].as_str(), Some("aliyun"), "{}", facts["workers"]);
    assert_eq!(facts["workers"]["stray"], serde_json::Value::Null, "who was refused had no session");
    assert_same(&job, &undisturbed());
}

#[test]
#[ignore = "nightly"]
fn a_token_is_good_for_its_uses_and_no_more() {
    let (job, running, port) = held_master("");
    let (id, path) = invited(&job, "single", &["--uses", "1"]);
    let start = |log: &str, name: &str| {
        let mut command = worker(&job, port, "elsewhere");
        command.args(["--name", name]).arg("--token-file").arg(&path);
        Worker::start(command, job.path(log))
    };
    let first = start("first", "one");
    wait_until("the first works", || first.said().contains("welcomed by the master").then_some(()));
    refused(start("replayed", "two"), &format!("its join token {id} is spent"));
    told_once(&job, &format!("its join token {id} is spent"));
    let json: serde_json::Value = serde_json::from_slice(&token(&job, &["list", "--json"]).stdout).unwrap();
    let listed = json["tokens"].as_array().unwrap().iter().find(|token| token["id"] == id.as_str()).unwrap();
    assert_eq!((listed["joined"].as_u64(), listed["state"].as_str()), (Some(1), Some("spent")));
    job.gate().open();
    assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
    assert_eq!(first.finish().0, Some(0));
    assert_same(&job, &undisturbed());
}

#[test]
#[ignore = "nightly"]
fn revoking_reaches_workers_that_work() {
    let (job, running, port) = held_master("");
    let (id, path) = invited(&job, "given", &[]);
    let start = |log: &str, name: &str| {
        let mut command = worker(&job, port, "elsewhere");
        command.args(["--name", name]).arg("--token-file").arg(&path);
        Worker::start(command, job.path(log))
    };
    let (barred, other) = (start("barred", "bad"), start("other", "good"));
    for each in [&barred, &other] {
        wait_until("both work", || each.said().contains("welcomed by the master").then_some(()));
    }
    assert_eq!(token(&job, &["revoke", "--worker", "bad"]).status.code(), Some(0));
    refused(barred, "the worker bad was barred");
    refused(start("barred again", "bad"), "the worker bad was barred");
    assert!(other.said().lines().all(|line| !line.contains("barred")));
    assert_eq!(token(&job, &["revoke", &id]).status.code(), Some(0));
    refused(other, &format!("its join token {id} was revoked"));
    job.gate().open();
    rescued(&job, running, port);
    assert_same(&job, &undisturbed());
}

#[test]
#[ignore = "nightly"]
fn certificates_are_renewed_without_the_token_and_the_run_does_not_notice() {
    let (job, running, port) = held_master("certificate_ttl = \"5s\"");
    let (_, path) = invited(&job, "once", &["--uses", "1"]);
    let mut command = worker(&job, port, "elsewhere");
    command.arg("--token-file").arg(&path);
    let joined = Worker::start(command, job.path("worker.log"));
    wait_until("it works", || joined.said().contains("welcomed by the master").then_some(()));
    // What it has must do: its token admits no worker any more.
    wait_until("its certificate was renewed twice", || {
        let said = joined.said();
        assert!(!said.contains("does not admit"), "{said}");
        (said.matches("renewed the certificate").count() >= 2).then_some(())
    });
    job.gate().open();
    assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
    let (code, said) = joined.finish();
    assert_eq!(code, Some(0), "{said}");
    assert_same(&job, &undisturbed());
}

#[test]
#[ignore = "nightly"]
fn silent_connections_hold_nobody_up() {
    let (job, running, port) = master("");
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    // And some that begin a handshake and stop.
    let halting: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(&[22, 3, 1]).unwrap();
            stream
        })
        .collect();
    rescued(&job, running, port);
    assert_same(&job, &undisturbed());
    drop((silent, halting));
}

/// A master on loopback, where its workers are to come by hand.
fn on_loopback() -> (Job, Running, String) {
    let job = echo_job("listen = \"127.0.0.1:0\"", NONE);
    let running = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    (job, running, address)
}

#[test]
#[ignore = "nightly"]
fn loopback_admits_invited_workers_alone() {
    let (job, running, address) = on_loopback();
    let start = |name: &str, home: &str, more: &[&str]| {
        let mut command = worker_command(&address, &job.path(home));
        command.args(["--name", name, "--no-sandbox"]).args(more);
        Worker::start(command, job.path(name))
    };
    refused(start("uninvited", "elsewhere", &[]), "admits invited workers only");
    refused(start("plain", "elsewhere", &["--plain-loopback"]), "speaks with encryption only, and to invited workers");
    let foreign = echo_job("", "");
    let (_, token) = invited(&foreign, "foreign", &[]);
    let token = token.display().to_string();
    refused(start("foreign", "elsewhere", &["--token-file", &token]), "of another authority");
    // By hand, as typed: the master's state folder is another than the default one, where this worker looks.
    let joined = start("joined", "home", &[]);
    assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
    let (code, said) = joined.finish();
    assert_eq!(code, Some(0), "{said}");
    assert_same(&job, &undisturbed());
    let workers: Vec<_> = job.facts()["samples"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(workers, ["joined"], "the others were given nothing to do");
}

#[test]
#[ignore = "nightly"]
fn another_user_of_the_host_gets_nothing_on_loopback() {
    use std::os::unix::fs::PermissionsExt as _;
    // Whether this process may become another user, and that user start the worker.
    let as_nobody = |program: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
        command
    };
    let able = as_nobody(&program("compass-worker")).arg("--version").output();
    if !able.is_ok_and(|output| output.status.success()) {
        let test = "another_user_of_the_host_gets_nothing_on_loopback";
        compass_needs::skipped(
            compass_needs::Need::Root,
            format_args!("{test} needs root, setpriv and a readable worker"),
        );
        return;
    }
    let (job, running, address) = on_loopback();
    let own = join_token_file(&job);
    let left = job.path("home/.local/state/compass/join");
    let open = std::fs::Permissions::from_mode(0o755);
    // All that leads there is open, as a home may be: what the master made is not.
    for folder in ["", "state", "home", "home/.local", "home/.local/state", "home/.local/state/compass"] {
        std::fs::set_permissions(job.path(folder), open.clone()).unwrap();
    }
    let start = |name: &str, more: &[&Path]| {
        let mut command = as_nobody(&program("compass-worker"));
        command.args(["--master", &address, "--device", "cpu", "--no-sandbox", "--name", name]).args(more);
        command.env("HOME", job.path("home")).env_remove("COMPASS_TOKEN_FILE").stdin(std::process::Stdio::null());
        Worker::start(command, job.path(name))
    };
    refused(start("finds-none", &[]), "admits invited workers only");
    refused(start("names-it", &[Path::new("--token-file"), &own]), "cannot read the join token");
    for folder in [left.as_path(), own.parent().unwrap()] {
        assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o077, 0, "{}", folder.display());
    }
    let helper = Worker::start(worker_command(&address, &job.path("home")), job.path("helper.log"));
    assert_eq!(running.finish().code, Some(0));
    assert_eq!(helper.finish().0, Some(0));
}

#[test]
#[ignore = "nightly"]
fn a_certificate_is_one_workers() {
    // The session's name is checked against the certificate's by the service; that both workers of one name cannot be
    // connected at once holds with certificates too.
    let (job, running, port) = held_master("");
    let start = |log: &str| {
        let mut command = worker(&job, port, "home");
        command.args(["--name", "twin"]);
        Worker::start(command, job.path(log))
    };
    let first = start("first");
    wait_until("the first works", || first.said().contains("welcomed by the master").then_some(()));
    refused(start("second"), "a worker named twin is connected already");
    job.gate().open();
    assert_eq!(running.finish().code, Some(0));
    assert_eq!(first.finish().0, Some(0));
}

#[test]
#[ignore = "nightly"]
fn workers_go_through_proxies() {
    let expected = undisturbed();
    for kind in [TunnelKind::Http, TunnelKind::Socks5] {
        let scheme = if kind == TunnelKind::Http { "http" } else { "socks5" };
        let (job, running, port) = master("");
        let proxy = Tunnel::start(kind, None);
        let mut command = worker(&job, port, "home");
        command.args(["--proxy", &format!("{scheme}://{}", proxy.address())]);
        let joined = Worker::start(command, job.path("worker.log"));
        assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
        assert_eq!(joined.finish().0, Some(0));
        assert!(proxy.opened() >= 3, "enrolment, session and content went through it: {}", proxy.opened());
        assert_same(&job, &expected);

        // With a password, which is in the environment and nowhere else.
        let (job, running, port) = master("");
        let proxy = Tunnel::start(kind, Some(("user", "hunter2")));
        let mut command = worker(&job, port, "home");
        command.env("ALL_PROXY", format!("{scheme}://user:hunter2@{}", proxy.address())).env("RUST_LOG", "trace");
        let joined = Worker::start(command, job.path("worker.log"));
        assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
        let (code, said) = joined.finish();
        assert_eq!(code, Some(0), "{said}");
        assert!(proxy.opened() >= 3 && proxy.refused() == 0);
        assert!(!said.contains("hunter2") && !said.contains("dXNlcjpodW50ZXIy"));
        assert_same(&job, &expected);
    }
}

#[test]
#[ignore = "nightly"]
fn a_proxy_that_does_not_let_a_worker_through_is_named_without_its_password() {
    let proxy = Tunnel::start(TunnelKind::Http, Some(("user", "right")));
    let home = tempfile::tempdir().unwrap();
    let mut command = worker_command("0.0.0.0:1", home.path());
    command.env("HTTPS_PROXY", format!("http://user:hunter2@{}", proxy.address()));
    command.args(["--master-lost-timeout", "1s"]);
    let (code, said) = Worker::start(command, home.path().join("log")).finish();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains(&format!("through the proxy http://{}", proxy.address())), "{said}");
    assert!(said.contains("proxy authorization required") && !said.contains("hunter2"), "{said}");
    // An exception of the environment: the proxy is not used.
    let before = proxy.refused();
    let mut command = worker_command("0.0.0.0:1", home.path());
    command.env("HTTPS_PROXY", format!("http://{}", proxy.address())).env("NO_PROXY", "0.0.0.0");
    command.args(["--master-lost-timeout", "1s"]);
    assert_eq!(Worker::start(command, home.path().join("log")).finish().0, Some(3));
    assert_eq!(proxy.refused(), before);
}

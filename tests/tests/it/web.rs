//! A run as the HTTP port shows it during the run, and the form of logs: real processes on the echo engine.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_mirrors::Certificate;
use compass_tests::{Job, echo_job, held_job, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStderr};
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A master of which standard error was read up to the address of its port.
struct Shown {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

fn start(job: &Job) -> Shown {
    let mut child = job.command(&["--max-num-workers", "2"]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "the master ended before it said where it is shown");
        if let Some(address) = line.strip_prefix("the run is shown at http://") {
            break address.trim_end().trim_end_matches('/').to_owned();
        }
    };
    Shown { child, stderr, address }
}

/// Status code, head and body of an answer.
fn ask(address: &str, method: &str, path: &str, extra: &str, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{length}{extra}\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
}

/// Headers of a browser when a person opens a page.
const BROWSER: &str = "Accept: text/html,application/xhtml+xml\r\nSec-Fetch-Mode: navigate\r\n";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

impl Shown {
    fn get(&self, path: &str, extra: &str) -> (u16, String) {
        let (code, _, body) = ask(&self.address, "GET", path, extra, "");
        (code, body)
    }

    fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.get("/status.json", "").1).unwrap()
    }

    fn finish(mut self) -> Option<i32> {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_run_is_shown_while_it_goes_on() {
    let job = held_job(60, "http = \"127.0.0.1:0\"", "");
    let shown = start(&job);
    assert_eq!(shown.get("/healthz", ""), (200, "ok\n".into()));
    let status = wait_until("samples are shown", || {
        let status = shown.status();
        (status["recorded_samples"] == 60 && status["workers"][0]["results"] == 60).then_some(status)
    });
    assert!(status["recorded_samples"].as_u64() <= status["expected_samples"].as_u64());
    assert_eq!(status["workers"][0]["connected"], true);
    assert_eq!(status["epoch"], 1);
    let (code, metrics) = shown.get("/metrics", "");
    assert_eq!(code, 200);
    let figure = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(&format!("compass_{name}{{job_id=\"")));
        line.unwrap_or_else(|| unreachable!("no {name} in {metrics}")).rsplit_once("} ").unwrap().1.to_owned()
    };
    assert_eq!(figure("samples_expected"), status["expected_samples"].to_string());
    assert_eq!(figure("invariant_violations_total"), "0");
    assert!(metrics.ends_with("# EOF\n"));
    assert_eq!(status["jobs"][0]["state"], "infer");
    let listed = status["live"].as_array().unwrap().iter().map(|metric| metric["expected"].as_u64().unwrap());
    assert_eq!(Some(listed.sum::<u64>()), status["expected_samples"].as_u64(), "every data set is listed: {status}");
    let page = format!("/jobs/{}", status["jobs"][0]["job"].as_str().unwrap());
    assert!(shown.get("/", "").1.contains("<progress") && shown.get(&page, "").1.contains("<progress"));
    let of_job: serde_json::Value = serde_json::from_str(&shown.get(&format!("{page}/status.json"), "").1).unwrap();
    assert!(of_job["waits"].is_array() && of_job["tasks"]["failed"] == 0 && of_job["exit_code"].is_null(), "{of_job}");
    let (_, home) = shown.get("/", "");
    assert!(home.contains("workers dial 127.0.0.1:") && !home.contains("workers dial ,"), "{home}");
    job.gate().open();
    assert_eq!(shown.finish(), Some(0));
}

#[test]
#[ignore = "nightly"]
fn a_port_with_a_token_is_closed_to_whoever_has_none() {
    let job = held_job(60, "http = \"127.0.0.1:0\"\nhttp_token_file = \"word\"", "");
    let refused = job.run(&[]).expect(2);
    assert!(refused.stderr.contains("cannot read master.http_token_file"), "{}", refused.stderr);
    assert!(refused.stderr.contains("nothing was started") && !job.path("out").exists(), "{}", refused.stderr);
    job.write("word", "open-sesame\n");
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(job.path("word"), open).unwrap();
    let exposed = job.run(&[]).expect(2);
    assert!(
        exposed.stderr.contains("can be read by other users; take their rights away: chmod 600"),
        "{}",
        exposed.stderr
    );
    job.write_private("word", "open-sesame\n");
    let short = job.run(&[]).expect(2);
    assert!(short.stderr.contains("has 11 characters") && short.stderr.contains("openssl rand"), "{}", short.stderr);
    assert!(short.stderr.contains("nothing was started") && !job.path("out").exists(), "{}", short.stderr);
    let secret = "open-sesame".repeat(3);
    job.write_private("word", &format!("{secret}\n"));
    let shown = start(&job);
    assert_eq!(shown.get("/status.json", "").0, 401);
    assert_eq!(shown.get("/status.json", &format!("Authorization: Bearer {secret}\r\n")).0, 200);
    job.gate().open();
    assert_eq!(shown.finish(), Some(0));
}

#[test]
#[ignore = "nightly"]
fn a_person_opens_the_pages_with_the_token_in_a_form() {
    let job = held_job(60, "http = \"127.0.0.1:0\"\nhttp_token_file = \"word\"", "");
    job.write_private("word", "open+sesame & more, 32 characters in all\n");
    let shown = start(&job);
    let (code, head, _) = ask(&shown.address, "GET", "/", BROWSER, "");
    assert!(code == 303 && head.contains("location: /login"), "{head}");
    let (code, head, form) = ask(&shown.address, "GET", "/login", BROWSER, "");
    assert!(code == 200 && form.contains("type=\"password\""), "{form}");
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "x-content-type-options: nosniff",
        "no-referrer",
    ] {
        assert!(head.contains(header), "{head}");
    }
    // A link on another site leads to the form too, and the form to the page that was asked for.
    let from_afar = format!("{BROWSER}Sec-Fetch-Site: cross-site\r\n");
    let (code, head, _) = ask(&shown.address, "GET", "/runs?q=a", &from_afar, "");
    assert!(code == 303 && head.contains("location: /login?next=%2Fruns%3Fq%3Da"), "{head}");
    let (code, _, form) = ask(&shown.address, "GET", "/login?next=%2Fruns%3Fq%3Da", BROWSER, "");
    assert!(code == 200 && form.contains("name=\"next\" value=\"/runs?q=a\""), "{form}");
    for (kind, form) in [(FORM, "token=a&token=b"), ("Content-Type: text/plain\r\n", "token=a")] {
        let (code, _, said) = ask(&shown.address, "POST", "/login", kind, form);
        assert!(code == 400 && said.starts_with("the form cannot be read: "), "{code}: {said}");
    }
    let (code, _, form) = ask(&shown.address, "POST", "/login", FORM, "other=1");
    assert!(code == 403 && form.contains("This is not the token."), "{form}");
    let (code, head, _) = ask(&shown.address, "POST", "/login", FORM, "token=wrong");
    assert!(code == 403 && !head.contains("set-cookie"), "{head}");
    let (code, head, _) =
        ask(&shown.address, "POST", "/login", FORM, "token=open%2Bsesame+%26+more%2C+32+characters+in+all");
    assert!(head.lines().any(|line| line == "location: /"), "{head}");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(code == 303 && cookie.contains("HttpOnly; SameSite=Strict"), "{head}");
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(ask(&shown.address, "GET", "/", &format!("{BROWSER}{cookie}"), "").0, 200);
    for (next, page) in [("%2Fruns%3Fq%3Da", "/runs?q=a"), ("%2F%2Fevil.example", "/")] {
        let sent = format!("token=open%2Bsesame+%26+more%2C+32+characters+in+all&next={next}");
        let (code, head, _) = ask(&shown.address, "POST", "/login", FORM, &sent);
        assert!(code == 303 && head.lines().any(|line| line == format!("location: {page}")), "{head}");
    }
    assert_eq!(shown.get("/status.json", &cookie).0, 200);
    assert_eq!(shown.get("/status.json", &format!("{cookie}Sec-Fetch-Site: cross-site\r\n")).0, 403);
    assert_eq!(shown.get("/login?once=guessed", "").0, 403);
    job.gate().open();
    assert_eq!(shown.finish(), Some(0));
    assert!(!tree_holds(&job, "sesame"), "the token stands in a file of the run");
}

fn tree_holds(job: &Job, word: &str) -> bool {
    let holds = |bytes: &[u8]| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    compass_tests::tree_of(&job.latest()).values().any(|bytes| holds(bytes))
}

#[test]
#[ignore = "nightly"]
fn an_open_page_hears_what_changes_and_when_the_master_is_gone() {
    let job = held_job(0, "http = \"127.0.0.1:0\"", "");
    let shown = start(&job);
    let mut stream = TcpStream::connect(&shown.address).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut events = BufReader::new(stream).lines().map_while(Result::ok).filter_map(|line| {
        let data = line.strip_prefix("data: ")?.to_owned();
        serde_json::from_str::<serde_json::Value>(&data).ok()
    });
    let whole = events.next().unwrap();
    assert!(whole["jobs"].is_string() && whole["about"].as_str().unwrap().contains("process"), "{whole}");
    job.gate().admit(60);
    let moved = events.find(|event| event["progress"].is_string()).unwrap();
    assert!(moved["about"].is_null(), "only what changed is sent: {moved}");
    job.gate().open();
    assert_eq!(shown.finish(), Some(0));
    assert!(events.all(|event| event.is_object()), "the stream ends with the master");
}

#[test]
#[ignore = "nightly"]
fn samples_of_a_run_are_shown_while_it_goes_on_and_afterwards() {
    let job = held_job(60, "http = \"127.0.0.1:0\"", "");
    let shown = start(&job);
    let status = wait_until("samples are recorded", || {
        let status = shown.status();
        (status["recorded_samples"] == 60).then_some(status)
    });
    let run = status["run"].as_str().unwrap().to_owned();
    let page = shown.get(&format!("/runs/{run}/samples"), "");
    assert!(page.0 == 200 && page.1.contains("What is"), "{page:?}");
    assert_eq!(shown.get("/runs/..%2F..%2Fetc/samples", "").0, 404);
    job.gate().open();
    assert_eq!(shown.finish(), Some(0));

    let viewer = job.command_line(&["view", "out", "--listen", "127.0.0.1:0"]).spawn_watched(&job.path("view.log"));
    let address = wait_until("the runs are shown", || {
        let said = job.log("view.log");
        Some(said.rsplit_once("http://")?.1.strip_suffix("/\n")?.to_owned())
    });
    let json = |path: &str| -> serde_json::Value {
        let (code, _, body) = ask(&address, "GET", path, "", "");
        assert_eq!(code, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    };
    assert_eq!(json("/runs.json")[0]["name"], run);
    // Every wrong sample of a data set, page by page, is as many as its score leaves.
    let listed = |dataset: &str, filter: &str| {
        let (mut after, mut keys) = (String::new(), Vec::new());
        loop {
            let found = json(&format!("/runs/{run}/samples.json?dataset={dataset}&filter={filter}&after={after}"));
            keys.extend(found["rows"].as_array().unwrap().iter().map(|row| row["key"].clone()));
            match found["next"].as_object() {
                Some(next) => after = format!("{}.{}", next["unit"], next["index"]),
                None => return keys,
            }
        }
    };
    let (model, dataset) = ("echo", "choice_ppl");
    let (right, wrong) = (listed(dataset, "right"), listed(dataset, "wrong"));
    let score = job.result(model, dataset)["accuracy"].as_f64().unwrap();
    let all = listed(dataset, "").len();
    assert_eq!(right.len() + wrong.len(), all);
    assert!(
        all > 50 && (right.len() as f64 / all as f64 * 100.0 - score).abs() < 1e-9,
        "{} of {all}, {score}",
        right.len()
    );
    let (_, _, table) = ask(&address, "GET", &format!("/runs/{run}"), "", "");
    assert!(table.contains(&format!("{score:.2}")), "{table}");
    assert_eq!(ask(&address, "GET", &format!("/runs/{run}/samples?filter=wrongg"), "", "").0, 400);
    assert_eq!(ask(&address, "GET", &format!("/runs/{run}/samples.json?after=bogus"), "", "").0, 400);
    // One of them, as predictions/ has it.
    let key = wrong[0]["key"].as_str().unwrap().to_owned();
    assert_eq!(key, format!("{}.{}", wrong[0]["unit"], wrong[0]["index"]));
    let sample = json(&format!("/runs/{run}/samples/{key}.json"));
    assert_eq!(sample["record"], job.predictions(model, dataset)[wrong[0]["index"].to_string()]);
    assert!(sample["worker"].as_str().unwrap().starts_with("local-"), "{sample}");
    // The log of its worker, and nothing that the folder of logs does not list.
    let logs = json(&format!("/runs/{run}/logs.json"));
    assert!(logs.as_array().unwrap().iter().any(|log| log["name"] == sample["log"]), "{logs} {sample}");
    let log = format!("/runs/{run}/logs/{}", sample["log"].as_str().unwrap());
    assert_eq!(ask(&address, "GET", &log, "", "").0, 200);
    for other in ["..%2Fplan%2Fjob.json", "../plan/job.json", "run.json", "%2Fetc%2Fpasswd", "infer%2F..%2Fmaster.log"]
    {
        assert_eq!(ask(&address, "GET", &format!("/runs/{run}/logs/{other}"), "", "").0, 404, "{other}");
    }
    let (code, _, html) = ask(&address, "GET", &format!("/runs/{run}/samples/{key}"), "", "");
    assert!(code == 200 && html.contains("<h2>gold</h2>"), "{html}");
    assert_eq!(json(&format!("/runs/{run}/failures.json")), serde_json::json!([]));
    let (code, _, html) = ask(&address, "GET", &format!("/compare?a={run}&b={run}"), "", "");
    assert!(code == 200 && html.contains("no difference seen"), "{html}");
    let (code, _, html) = ask(&address, "GET", "/leaderboard", "", "");
    assert!(code == 200 && html.contains("<h1>Leaderboard</h1>"), "{html}");
    // The same numbers for programs.
    let facts = json(&format!("/runs/{run}.json"));
    let lines = facts["table"].as_array().unwrap();
    let line = lines.iter().find(|line| line["dataset"] == dataset && line["metric"] == "accuracy").unwrap();
    assert_eq!((line["value"].as_f64(), line["expected"].as_u64()), (Some(score), Some(all as u64)), "{facts}");
    assert_eq!((&facts["name"], &facts["units"][0]["samples"]), (&serde_json::json!(run), &serde_json::json!(all)));
    let compared = json(&format!("/compare.json?a={run}&b={run}"));
    assert!(compared["rows"].as_array().unwrap().iter().all(|row| row["difference"] == 0.0), "{compared}");
    let board = json("/leaderboard.json");
    assert_eq!(board["entries"][0]["datasets"][dataset][0]["value"].as_f64(), Some(score), "{board}");
    assert_eq!(ask(&address, "GET", "/runs/nothing.json", "", "").0, 404);
    for of_a_master in ["/healthz", "/metrics", "/status.json"] {
        assert_eq!(ask(&address, "GET", of_a_master, "", "").0, 404);
    }
    for (path, said) in [
        ("/compare?a=1&a=2", "`a` is in the query twice: send it once\n"),
        (format!("/compare?a={run}").as_str(), "error: `b` is missing\n"),
    ] {
        let (code, _, body) = ask(&address, "GET", path, "", "");
        assert!(code == 400 && body.starts_with(said), "{code}: {body}");
    }
    assert_eq!(ask(&address, "GET", "/compare.json?a=nothing&b=nothing", "", "").0, 400);
    viewer.signal("INT");
    viewer.finish().expect(0);
}

#[test]
#[ignore = "nightly"]
fn view_refuses_what_it_cannot_show() {
    let job = Job::new("");
    let refused = job.command_line(&["view", "nothing"]).run().expect(2);
    assert!(refused.stderr.contains("there is no folder nothing"), "{}", refused.stderr);
    job.write("out/x", "");
    let open = job.command_line(&["view", "out", "--listen", "0.0.0.0:0"]).run().expect(2);
    assert!(open.stderr.contains("open to other hosts") && open.stderr.contains("--token-file"), "{}", open.stderr);
    job.write_private("word", "abcde\n");
    let short = job.command_line(&["view", "out", "--listen", "0.0.0.0:0", "--token-file", "word"]).run().expect(2);
    assert!(short.stderr.contains("--token-file word has 5 characters"), "{}", short.stderr);
}

#[test]
#[ignore = "nightly"]
fn connections_are_encrypted_where_a_certificate_is_named() {
    let tls = "http_tls = { cert = \"host.pem\", key = \"host.key\" }";
    let job = held_job(60, &format!("http = \"127.0.0.1:0\"\n{tls}"), "");
    let refused = job.run(&[]).expect(2);
    assert!(refused.stderr.contains("cannot read master.http_tls.cert"), "{}", refused.stderr);
    let dry = job.run(&["--dry-run"]).expect(2);
    assert!(dry.stderr.contains("cannot read master.http_tls.cert"), "{}", dry.stderr);
    let certificate = Certificate::new(&["localhost"]).unwrap();
    job.write("host.pem", certificate.pem());
    job.write_private("host.key", "nothing\n");
    let refused = job.run(&[]).expect(2);
    assert!(refused.stderr.contains("no PEM file with a private key"), "{}", refused.stderr);
    job.write_private("host.key", certificate.key_pem());
    std::fs::set_permissions(job.path("host.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = job.run(&[]).expect(2);
    assert!(
        refused.stderr.contains("master.http_tls.key") && refused.stderr.contains("chmod 600"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("nothing was started") && !job.path("out").exists(), "{}", refused.stderr);
    std::fs::set_permissions(job.path("host.key"), std::fs::Permissions::from_mode(0o600)).unwrap();

    let mut child = job.command(&["--max-num-workers", "2"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|line| Some(line.strip_prefix("the run is shown at https://")?.to_owned())).unwrap();
    let address = address.trim_end_matches('/').to_owned();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.pem().as_bytes()).unwrap()).unwrap();
    let config =
        ClientConfig::builder_with_provider(Arc::new(default_provider())).with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(&address).unwrap());
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    // An end without a farewell is as good.
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
    let mut plain = TcpStream::connect(&address).unwrap();
    write!(plain, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("ok"), "nothing is said in the plain");
    job.gate().open();
    for _ in lines {}
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
#[ignore = "nightly"]
fn logs_are_lines_of_json_where_that_is_asked_for() {
    let mut job = echo_job("", "");
    job.set_env("COMPASS_LOG_FORMAT", "json");
    job.set_env("COMPASS_LOG", "info");
    let finished = job.run(&[]).expect(0);
    let objects: Vec<serde_json::Value> =
        finished.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let listening = objects.iter().find(|object| object["fields"]["message"] == "listening for workers");
    let listening = listening.unwrap_or_else(|| unreachable!("no such line in {}", finished.stderr));
    assert_eq!(listening["level"], "INFO");
    assert!(listening["fields"]["address"].as_str().unwrap().starts_with("127.0.0.1:"));
    job.set_env("COMPASS_LOG_FORMAT", "xml");
    let refused = job.run(&[]).expect(2);
    assert!(refused.stderr.contains("`xml` is not a log format"), "{}", refused.stderr);
}

//! A run as the HTTP port shows it while it goes on, and how logs look: real processes on the echo engine.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, echo_job, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStderr};

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

impl Shown {
    fn get(&self, path: &str, extra: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{extra}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
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
    let job = echo_job(20, "http = \"127.0.0.1:0\"", "");
    let shown = start(&job);
    assert_eq!(shown.get("/healthz", ""), (200, "ok\n".into()));
    let status = wait_until("samples are shown", || {
        let status = shown.status();
        (status["recorded_samples"].as_u64()? > 0 && status["workers"][0]["results"].as_u64()? > 0).then_some(status)
    });
    assert!(status["recorded_samples"].as_u64() <= status["expected_samples"].as_u64());
    assert_eq!(status["workers"][0]["connected"], true);
    assert_eq!(status["epoch"], 1);
    let (code, metrics) = shown.get("/metrics", "");
    assert_eq!(code, 200);
    let figure = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(&format!("compass_{name}{{job=\"")));
        line.unwrap_or_else(|| unreachable!("no {name} in {metrics}")).rsplit_once("} ").unwrap().1.to_owned()
    };
    assert_eq!(figure("samples_expected"), status["expected_samples"].to_string());
    assert_eq!(figure("invariant_violations_total"), "0");
    assert!(metrics.ends_with("# EOF\n"));
    assert_eq!(status["jobs"][0]["state"], "infer");
    let page = format!("/jobs/{}", status["jobs"][0]["job"].as_str().unwrap());
    assert!(shown.get("/", "").1.contains("<progress") && shown.get(&page, "").1.contains("<progress"));
    assert_eq!(shown.get(&format!("{page}/status.json"), "").0, 200);
    assert_eq!(shown.finish(), Some(0));
}

#[test]
fn a_port_with_a_token_is_closed_to_whoever_has_none() {
    let job = echo_job(20, "http = \"127.0.0.1:0\"\nhttp_token_file = \"word\"", "");
    let refused = job.run(&[]).expect(2);
    assert!(refused.stderr.contains("cannot read master.http_token_file"), "{}", refused.stderr);
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
    let shown = start(&job);
    assert_eq!(shown.get("/status.json", "").0, 401);
    assert_eq!(shown.get("/status.json", "Authorization: Bearer open-sesame\r\n").0, 200);
    assert_eq!(shown.finish(), Some(0));
}

#[test]
fn logs_are_lines_of_json_where_that_is_asked_for() {
    let mut job = echo_job(0, "", "");
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

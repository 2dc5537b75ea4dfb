//! Masters that share a store in etcd are one authority: a token of one admits to all, and so does the certificate it brought.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{
    Etcd, EtcdOptions, Job, Running, SAMPLES, Worker, assert_same, free_port, held_job, program, undisturbed,
    wait_until, worker_command,
};
use std::path::PathBuf;
use std::process::{Command, Output};

const RUNNER: &str =
    "[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 12\ngen_task_coef = 3\n";

/// Two configurations of one job, for masters with state folders and addresses of their own.
struct TwoMasters {
    job: Job,
    ports: [u16; 2],
    etcd: Etcd,
}

impl TwoMasters {
    fn new(test: &str) -> Option<Self> {
        let etcd = Etcd::start(test, 1, EtcdOptions::default())?;
        let ports = [free_port(), free_port()];
        let master = |at: usize| {
            format!(
                "listen = \"0.0.0.0:{}\"\nkey_file = \"shared.key\"\nstore = \"etcd://{}/compass\"",
                ports[at],
                etcd.endpoints()
            )
        };
        let mut job = held_job(20, &master(0), RUNNER);
        job.set_env("HOME", &job.path("home").display().to_string());
        let first = job.log("eval.toml");
        job.write("second.toml", &first.replace(&master(0), &master(1)).replace("/state\"", "/state2\""));
        Some(Self { job, ports, etcd })
    }

    fn start(&self, config: &str) -> Running {
        self.job.command_line(&["--config", config]).spawn_logged(&self.job.path(&format!("{config}.log")))
    }

    fn log(&self, config: &str) -> String {
        self.job.log(&format!("{config}.log"))
    }

    fn token(&self, config: &str, words: &[&str]) -> Output {
        let mut command = Command::new(program("compass-master"));
        command.arg("token").args(words).arg("--config").arg(self.job.path(config));
        command.env("HOME", self.job.path("home")).output().unwrap()
    }

    /// A token for one worker, made with the second master's configuration; its id and its file.
    fn new_token(&self) -> (String, PathBuf) {
        let path = self.job.path("token");
        let output = self.token("second.toml", &["create", "--uses", "1", "--out", &path.display().to_string()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        (said.strip_prefix("token ").unwrap().split(':').next().unwrap().to_owned(), path)
    }

    fn worker(&self, name: &str, token: &PathBuf) -> Worker {
        let [first, second] = self.ports;
        let mut command = worker_command(&format!("0.0.0.0:{first},0.0.0.0:{second}"), &self.job.path("elsewhere"));
        command.args(["--name", name, "--no-sandbox", "--token-file"]).arg(token);
        command.envs(self.job.environment()).env("HOME", self.job.path("elsewhere"));
        Worker::start(command, self.job.path(name))
    }
}

#[test]
#[ignore = "nightly"]
fn a_second_master_takes_the_certificate_that_the_first_one_gave() {
    let Some(masters) = TwoMasters::new("a_second_master_takes_the_certificate") else { return };
    let (id, path) = masters.new_token();
    let first = masters.start("eval.toml");
    let worker = masters.worker("one", &path);
    wait_until("the worker works", || worker.said().contains("welcomed by the master").then_some(()));
    let second = masters.start("second.toml");
    wait_until("the second stands by", || masters.log("second.toml").contains("standing by").then_some(()));
    masters.job.wait_until_durable();
    first.signal("KILL");
    first.finish();
    masters.job.gate().open();
    assert_eq!(second.finish().code, Some(0), "{}\n{}", masters.log("second.toml"), worker.said());
    let (code, said) = worker.finish();
    assert_eq!(code, Some(0), "{said}");
    assert_same(&masters.job, &undisturbed());
    let facts = masters.job.facts();
    assert_eq!(facts["epoch"], 2, "{facts}");
    // What was durable when the first died, and not yet acknowledged, the worker hands in again; it runs nothing again.
    let count = |name: &str| facts[name].as_u64().unwrap();
    let received = facts["workers"]["one"]["results"].as_u64().unwrap();
    assert_eq!(received - count("repeats"), 2 * u64::from(SAMPLES), "{facts}");
    assert!(count("repeats") <= count("resumed_samples"), "{facts}");
    // Its token was spent on the first: with it alone it would not have come in.
    let listed: serde_json::Value =
        serde_json::from_slice(&masters.token("second.toml", &["list", "--json"]).stdout).unwrap();
    let token = listed["tokens"].as_array().unwrap().iter().find(|token| token["id"] == id.as_str()).unwrap();
    assert_eq!((&token["joined"], &token["state"]), (&1.into(), &"spent".into()), "{token}");
    assert!(masters.etcd.endpoints().starts_with("127.0.0.1:"));
}

#[test]
#[ignore = "nightly"]
fn what_one_revokes_holds_for_the_other() {
    let Some(masters) = TwoMasters::new("what_one_revokes_holds_for_the_other") else { return };
    let (id, path) = masters.new_token();
    let first = masters.start("eval.toml");
    let worker = masters.worker("one", &path);
    wait_until("the worker works", || worker.said().contains("welcomed by the master").then_some(()));
    // By a program of the other master's, which shares nothing but etcd and the key file.
    assert_eq!(masters.token("second.toml", &["revoke", &id]).status.code(), Some(0));
    let (code, said) = worker.finish();
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains(&format!("its join token {id} was revoked")), "{said}");
    let refused = masters.worker("two", &path).finish();
    assert_eq!(refused.0, Some(4), "{}", refused.1);
    first.signal("INT");
    first.finish();
    // With another key no master reads what the masters share.
    std::fs::remove_file(masters.job.path("shared.key")).unwrap();
    let refused = masters.token("eval.toml", &["list"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("sealed with another key") && said.contains("shared.key"), "{said}");
}

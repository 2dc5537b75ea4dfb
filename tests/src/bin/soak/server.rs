//! A server, and what a user does with it: jobs that are submitted and looked after.

use compass_tests::{Finished, Job, Running, folder_digest, wait_until};
use compass_types::ids::Digest;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// Rows of a job's two short data sets.
const ROWS: u32 = 60;
/// Bytes of the one answer that is too long for a frame, so that each job uploads it.
const LONG: usize = 250_000;
const CONFIG: &str = "eval.toml";
const LOG: &str = "serve.log";

/// A server that runs, and the jobs that it has not ended yet.
pub(crate) struct Server {
    pub(crate) job: Job,
    pub(crate) process: Running,
    submitted: u32,
    /// Jobs that run, by id: the name under which each was submitted.
    open: BTreeMap<String, String>,
    pub(crate) ended: u32,
    /// Digest of what the first job wrote: every other one must write the same.
    results: Option<Digest>,
    pub(crate) faults: Vec<String>,
}

impl Server {
    /// A server without workers of its own, that answers.
    pub(crate) fn start() -> Self {
        let mut job = Job::new("\n[master]\nlisten = \"127.0.0.1:0\"\n[infer.runner]\ntype = \"none\"\n");
        job.write("tmp/.kept", "");
        job.set_env("TMPDIR", &job.path("tmp").display().to_string());
        let process = job.command_line(&["serve", "--config", CONFIG]).spawn_logged(&job.path(LOG));
        let mut server =
            Self { job, process, submitted: 0, open: BTreeMap::new(), ended: 0, results: None, faults: Vec::new() };
        wait_until("the server answers", || server.command(&["status"]).code.filter(|code| *code == 0));
        server.write_rows();
        server
    }

    fn write_rows(&mut self) {
        let mut rows = String::new();
        for at in 0..ROWS {
            // Writing to a string cannot fail.
            let _ = writeln!(
                rows,
                r#"{{"q": "What is {at}?", "a": "one of {at}", "b": "two of {at}", "label": {}}}"#,
                at % 2
            );
        }
        self.job.write("rows.jsonl", &rows);
        self.job.write("long.jsonl", &format!("{{\"q\": \"{}\", \"a\": \"none\", \"b\": \"\"}}\n", "x".repeat(LONG)));
    }

    fn command(&self, words: &[&str]) -> Finished {
        self.job.command_line(&[words, &["--config", CONFIG]].concat()).run()
    }

    pub(crate) fn log(&self) -> String {
        self.job.log(LOG)
    }

    /// Returns the address that its workers dial.
    pub(crate) fn address(&self) -> String {
        compass_tests::told_address(&self.job, LOG)
    }

    /// Returns the number of jobs that have been submitted and not ended.
    pub(crate) fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns the server's report about the jobs that have not ended, and the end of its log.
    pub(crate) fn explain_open(&self) -> String {
        let jobs: Vec<String> = self
            .open
            .iter()
            .map(|(id, name)| {
                let explained = self.command(&["explain", "job", id]);
                format!("{name}: {}{}", explained.stdout, explained.stderr)
            })
            .collect();
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        format!("{}\n{}", jobs.join("\n"), lines[lines.len().saturating_sub(20)..].join("\n"))
    }

    pub(crate) fn submitted(&self) -> u32 {
        self.submitted
    }

    /// Submits one more job, which differs from all others by the name of its model.
    ///
    /// # Errors
    /// The server does not take it.
    pub(crate) fn submit(&mut self) -> Result<(), String> {
        self.submitted += 1;
        let name = format!("j{}", self.submitted);
        self.job.write(&format!("{name}.toml"), &self.configuration(&name));
        let finished = self.job.command_line(&["submit", "--config", &format!("{name}.toml")]).run();
        let _ = fs::remove_file(self.job.path(&format!("{name}.toml")));
        match (finished.code, finished.stdout.split_once(' ')) {
            (Some(0), Some((id, _))) => {
                self.open.insert(id.to_owned(), name);
                Ok(())
            }
            (code, _) => Err(format!("submit of {name} ended with {code:?}: {}", finished.stderr)),
        }
    }

    fn configuration(&self, name: &str) -> String {
        let state = self.job.path("state");
        let sets = [
            ("choice", "rows.jsonl", "{ 0 = \"{q} {a}\", 1 = \"{q} {b}\" }", "\"ppl\"", "label", "acc"),
            ("answer", "rows.jsonl", "\"{q}\"", "{ type = \"gen\", max_out_len = 8 }", "a", "rouge"),
            ("long", "long.jsonl", "\"{q}\"", "{ type = \"gen\", max_out_len = 8 }", "a", "em"),
        ];
        let tables = sets.map(|(abbr, path, template, inferencer, gold, evaluator)| {
            format!(
                "\n[[dataset]]\nabbr = \"{abbr}\"\n\
                 reader_cfg = {{ input_columns = [\"q\", \"a\", \"b\"], output_column = \"{gold}\" }}\n\
                 test = {{ path = \"{path}\" }}\n\
                 [dataset.infer_cfg]\nretriever = \"zero\"\ninferencer = {inferencer}\nprompt_template = {template}\n\
                 [dataset.eval_cfg]\nevaluator = \"{evaluator}\"\n"
            )
        });
        let state = state.display();
        format!(
            "work_dir = \"{name}\"\n[master]\nstate_dir = \"{state}\"\n[[model]]\nabbr = \"{name}\"\ntype = \"echo\"\n\
             max_seq_len = 1000000\n{}",
            tables.concat()
        )
    }

    /// Looks which jobs have ended, checks and removes what they wrote.
    pub(crate) fn look(&mut self) {
        let finished = self.command(&["status", "--json"]);
        let status: Value = serde_json::from_str(&finished.stdout).unwrap_or_default();
        let masters = status.as_array().cloned().unwrap_or_else(|| vec![status]);
        let jobs = masters.iter().filter_map(|master| master["jobs"].as_array()).flatten();
        for job in jobs.filter(|job| !job["exit_code"].is_null()) {
            let id = job["job"].as_str().unwrap_or_default();
            let Some(name) = self.open.remove(id) else { continue };
            self.ended += 1;
            if job["exit_code"] != 0 {
                self.faults.push(format!("job {name} ended with {}: {}", job["exit_code"], job["reason"]));
                continue;
            }
            let folder = PathBuf::from(job["folder"].as_str().unwrap_or_default());
            let digest = folder_digest(&folder.join("results").join(&name));
            if *self.results.get_or_insert(digest) != digest {
                self.faults.push(format!("job {name} wrote other results than the first"));
            }
            let _ = fs::remove_dir_all(self.job.path(&name));
        }
    }
}

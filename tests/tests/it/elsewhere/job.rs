//! A small job, and a store for it.

use compass_mirrors::ObjectServer;
use compass_tests::{Job, Tree, copy_demo_model, demo_model, sums};
use std::path::Path;

pub(crate) const ACCESS: &str = "reader";
pub(crate) const SECRET: &str = "hunter2-not-to-be-seen";

/// A worker on this host.
pub(crate) const LOCAL: &str = "[infer.runner]\ntype = \"local\"\nmax_num_workers = 1\n";

pub(crate) fn rows() -> String {
    sums::rows(40)
}

/// The data sets, with rows from `path`.
pub(crate) fn datasets(path: &str) -> String {
    sums::choices(path) + &sums::answers(path, 8)
}

/// A job of one model, which `model` describes after its name; what it fetches comes into its own folder.
pub(crate) fn job(model: &str, rows_from: &str, infer: &str) -> Job {
    let mut job = Job::new(&format!("[[model]]\nabbr = \"m\"\n{model}\n{}\n{infer}\n", datasets(rows_from)));
    job.write("rows.jsonl", &rows());
    let cache = job.path("cache").display().to_string();
    job.set_env("COMPASS_STORAGE_CACHE", &cache);
    // The variables of the person who runs the tests are not these tests'.
    for name in [
        "HF_HOME",
        "HF_HUB_OFFLINE",
        "HF_ENDPOINT",
        "HF_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ENDPOINT_URL",
        "PETRELOSS_CONF",
    ] {
        job.set_env(name, "");
    }
    job
}

/// A store with the demo's model, and a profile for it in the job's home.
pub(crate) fn store() -> ObjectServer {
    let server = ObjectServer::start(ACCESS, SECRET).unwrap();
    server.put_folder("models", "demo/7b", &demo_model()).unwrap();
    server
}

pub(crate) fn write_profile(job: &Job, server: &ObjectServer, secret: &str) {
    let text = format!(
        "[DEFAULT]\nenable_mc = True\nboto = c_boto\n\n[weights]\nhost_base = {0}\naccess_key = {ACCESS}\nsecret_key = {secret}\n\n\
         [model_weights]\nhost_base = {0}\naccess_key = {ACCESS}\nsecret_key = {secret}\n",
        server.url()
    );
    job.write_private("home/petreloss.conf", &text);
}

pub(crate) fn outcome(job: &Job) -> (Tree, Tree) {
    (job.tree("results"), job.tree("predictions"))
}

/// Returns the outcome of the demo's model from a directory on this host.
pub(crate) fn expected() -> (Tree, Tree) {
    let job = job("path = \"model\"", "rows.jsonl", LOCAL);
    copy_demo_model(&job.path("model")).unwrap();
    job.run(&[]).expect(0);
    outcome(&job)
}

/// Files below a folder that hold a text.
pub(crate) fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if std::fs::read(&path).unwrap_or_default().windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

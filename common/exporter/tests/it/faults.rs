//! Interpreters that give nothing: one clear reason each, with a remedy.

use crate::site::{Site, call};
use std::time::Duration;

const ROWS: &str = r#"{"path": "data/rows.jsonl"}"#;

/// The reason of two calls, which is the same, and the remedy.
fn fault(site: &Site) -> (String, String) {
    let results = site.load(&[call("Plain", ROWS, &["test"]), call("Splits", ROWS, &["train"])]);
    let faults: Vec<_> = results.into_iter().map(Result::unwrap_err).collect();
    assert_eq!(faults[0], faults[1]);
    (faults[0].reason.clone(), faults[0].help.clone().unwrap())
}

#[test]
fn an_interpreter_that_is_none() {
    let Some(mut site) = Site::new() else { return };
    let said = |name: &str, site: &mut Site| {
        let path = if name.contains('/') { site.path(name) } else { name.into() };
        site.world.interpreter.as_mut().unwrap().program = path;
        fault(site).0
    };
    assert!(said("none/python", &mut site).ends_with("none/python` cannot be run: no such file"));
    assert!(said("no-such-python", &mut site).contains("no such program on the PATH"));
    assert!(said("site/mmengine", &mut site).contains("it is a folder; name its bin/python"));
    assert!(said("data/rows.jsonl", &mut site).contains("it is not executable"));
    site.shell("");
    std::fs::write(site.path("interpreter"), "#!/no/such/program\n").unwrap();
    assert!(fault(&site).0.contains("interpreter` cannot be run"), "{:?}", fault(&site));
}

#[test]
fn an_interpreter_that_ends_badly() {
    let Some(mut site) = Site::new() else { return };
    site.shell("echo first >&2; echo 'the last word' >&2; case $1 in -I) exit 0;; esac; exit 3");
    let (reason, help) = fault(&site);
    assert!(reason.contains("ended with exit code 3; it said last: first | the last word"), "{reason}");
    assert!(help.contains("run.py"), "{help}");
    site.shell("case $1 in -I) exit 0;; esac; kill -SEGV $$");
    let (reason, _) = fault(&site);
    // As the first process of its namespaces it is reported by its exit code.
    assert!(reason.contains("crashed (signal 11)") || reason.contains("exit code 139"), "{reason}");
    site.shell("exit 0");
    assert!(fault(&site).0.contains("ended without an answer"));
    site.shell("case $1 in -I) exit 0;; esac; echo 'OSError: [Errno 28] No space left on device' >&2; exit 1");
    let (reason, help) = fault(&site);
    assert!(reason.contains("no space is left on the disk of") && help.contains("make room"), "{reason} {help}");
}

#[test]
fn a_loader_that_never_ends_or_ends_the_process() {
    let Some(mut site) = Site::new() else { return };
    let ended = |site: &Site, how: &str| {
        let parameters = serde_json::json!({ "how": how }).to_string();
        let results = site.load(&[call("Plain", ROWS, &["test"]), call("Ended", &parameters, &["test"])]);
        assert!(results[0].is_ok(), "what was read before it is there: {results:?}");
        results[1].clone().unwrap_err().reason
    };
    let said = ended(&site, "import os; os._exit(7)");
    assert!(said.contains("ended with exit code 7 while `Ended` was loaded"), "{said}");
    let said = ended(&site, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
    assert!(said.contains("signal 9") || said.contains("exit code 137"), "{said}");
    site.limits.most_bytes = 1 << 20;
    let write = "import os; f = open(os.path.join(os.environ['TMPDIR'], 'x'), 'w')\nwhile True: f.write('x' * 100000)";
    let said = ended(&site, write);
    assert!(said.contains("it wrote more than 1 MB while `Ended` was loaded"), "{said}");
    site.limits.idle_timeout = Duration::from_secs(4);
    let said = ended(&site, "while True: pass");
    assert!(said.contains("stopped after 4 s without a result while `Ended` was loaded"), "{said}");
}

#[test]
fn modules_that_are_missing() {
    let Some(site) = Site::new() else { return };
    for module in ["mmengine", "datasets", "opencompass"] {
        let file = format!("site/{module}/__init__.py");
        let kept = std::fs::read_to_string(site.path(&file)).unwrap();
        site.write(&file, &format!("raise ModuleNotFoundError(\"No module named 'deep'\", name='{module}')\n"));
        let (reason, help) = fault(&site);
        assert!(
            reason.contains(&format!("cannot import `{module}`: ModuleNotFoundError: No module named 'deep'")),
            "{reason}"
        );
        assert!(help.contains("pip install opencompass"), "{help}");
        site.write(&file, &kept);
    }
}

#[test]
fn a_state_folder_that_cannot_be_written() {
    let Some(site) = Site::new() else { return };
    site.write("state", "a file");
    let (reason, _) = fault(&site);
    assert!(reason.contains("state/exports` for its rows cannot be written"), "{reason}");
}

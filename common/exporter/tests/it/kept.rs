//! Kept results: no second start while nothing has changed, and no incomplete results.

use crate::site::{PLAIN, Site, call, names};

const ROWS: &str = r#"{"path": "data/rows.jsonl"}"#;

/// Returns whether the rows of `Plain` were kept, and the rows.
fn plain(site: &Site) -> (bool, String) {
    let (rows, said) = site.rows("Plain", ROWS, "test").unwrap();
    (said.contains("earlier: neither its loaders nor its data have changed"), rows)
}

#[test]
fn a_second_run_starts_nothing_until_something_has_changed() {
    let Some(mut site) = Site::new() else { return };
    let (is_kept, rows) = plain(&site);
    assert!(!is_kept);
    assert_eq!(plain(&site), (true, rows.clone()));
    site.write("data/rows.jsonl", "{\"q\": \"new\"}\n");
    assert_eq!(plain(&site), (false, "{\"q\": \"new\"}\n".into()));
    assert!(plain(&site).0);
    site.write(
        "site/opencompass/datasets/plain.py",
        &PLAIN.replace("return read(path)", "return read(path) + read(path)"),
    );
    assert_eq!(plain(&site), (false, "{\"q\": \"new\"}\n{\"q\": \"new\"}\n".into()));
    site.write("site/opencompass/__init__.py", "__version__ = '10'\n");
    assert!(!plain(&site).0);
    assert!(plain(&site).0);
    site.world.interpreter.as_mut().unwrap().network = true;
    assert!(!plain(&site).0);
    site.set("UNREAD", "1");
    assert!(plain(&site).0, "a variable that no loader reads");
}

#[test]
fn variables_that_a_loader_reads_count() {
    let Some(mut site) = Site::new() else { return };
    site.set("WANTED", "first");
    let read = |site: &Site| site.rows("Environment", "{}", "test").unwrap().0;
    assert!(read(&site).contains("first"));
    site.set("WANTED", "second");
    assert!(read(&site).contains("second"));
    let records = site.path("state/exports/records");
    for name in names(&records) {
        let text = std::fs::read_to_string(records.join(name)).unwrap();
        assert!(text.contains("WANTED") && !text.contains("second"), "{text}");
    }
}

#[test]
fn what_is_not_whole_is_read_again() {
    let Some(site) = Site::new() else { return };
    let (_, rows) = plain(&site);
    let kept = site.path("state/exports/rows");
    for name in names(&kept) {
        std::fs::write(kept.join(name), &rows[..rows.len() - 1]).unwrap();
    }
    assert_eq!(plain(&site), (false, rows.clone()));
    let records = site.path("state/exports/records");
    for name in names(&records) {
        let text = std::fs::read(records.join(&name)).unwrap();
        std::fs::write(records.join(name), &text[..text.len() / 2]).unwrap();
    }
    assert_eq!(plain(&site), (false, rows));
    assert!(plain(&site).0);
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let Some(site) = Site::new() else { return };
    site.write("state/exports/runs/1-0/events.jsonl", "{\"event\": \"rows\"");
    site.write("state/exports/runs/1-0.lock", "");
    assert!(!plain(&site).0);
    assert_eq!(names(&site.path("state/exports/runs")), Vec::<String>::new());
}

#[test]
fn only_what_is_new_is_asked_for() {
    let Some(site) = Site::new() else { return };
    plain(&site);
    let results = site.load(&[call("Plain", ROWS, &["test"]), call("Splits", ROWS, &["validation"])]);
    let said = &results[1].as_ref().unwrap().said;
    assert!(said.contains("those of 1 data set come from an earlier run"), "{said}");
}

#[test]
fn what_is_not_kept_is_said() {
    let Some(site) = Site::new() else { return };
    let said = |how: &str| {
        let parameters = serde_json::json!({ "how": how }).to_string();
        let results = site.load(&[call("Plain", ROWS, &["test"]), call("Ended", &parameters, &["test"])]);
        results[0].as_ref().unwrap().said.clone()
    };
    let broken = said("print('the last word', flush=True); os._exit(7)");
    assert!(broken.contains("nothing of it is kept for a later run: "), "{broken}");
    assert!(broken.contains("ended with exit code 7 while `Ended` was loaded; it said last: "), "{broken}");
    assert!(broken.contains("the last word"), "{broken}");
    let late = said("import atexit; atexit.register(os._exit, 3)");
    assert!(late.contains("after its last answer, ") && late.contains("ended with exit code 3"), "{late}");
    assert!(plain(&site).0, "the rows of a run that told its end");
}

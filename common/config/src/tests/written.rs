//! The configuration as a run keeps it.

use super::fixture::{DATASET, Fixture, MODEL};
use crate::{Overrides, load};
use compass_settings::digest;

#[test]
fn flags_includes_and_presets_are_in_the_one_file() {
    let mut fixture = Fixture::new();
    fixture.write("base.toml", &format!("{MODEL}[infer.runner]\ntype = \"none\"\nretry = 7\n"));
    let other = MODEL.replace("abbr = \"m\"", "abbr = \"n\"\nmax_out_len = 7");
    let second = DATASET.replace("abbr = \"d\"", "abbr = \"e\"");
    let combined = "[[combination]]\nmodels = [\"n\", \"m\"]\ndatasets = [\"d\"]\n[[combination]]\nmodels = [\"m\"]\ndatasets = [\"e\"]\n";
    let notify = "[notify]\nwebhook = \"https://example.org/hook/s3cret\"\n";
    let text = format!("include = [\"base.toml\"]\nwork_dir = \"w\"\n{other}{DATASET}{second}{combined}{notify}");
    fixture.flags = Overrides {
        models: Some(vec!["n".into(), "m".into()]),
        limit: Some(3),
        max_num_workers: Some(4),
        max_partition_size: Some(500),
        dataset_num_runs: Some(2),
        ..fixture.flags
    };
    let loaded = fixture.load(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let names: Vec<&str> = loaded.written.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["eval.toml", "base.toml"]);
    let (config, resolved) = (loaded.config, loaded.written.resolved.unwrap());
    let kept = loaded.written.files.iter().map(|(_, text)| text.as_str()).chain([resolved.as_str()]);
    assert!(kept.clone().all(|text| !text.contains("s3cret")), "an address of notices is a secret");
    assert!(loaded.written.files[0].1.contains("webhook = \"(not kept)\""));
    assert!(!resolved.contains("include") && resolved.contains("limit = 3"), "{resolved}");

    fixture.write("elsewhere/kept.toml", &resolved);
    let plain = Overrides { home: fixture.flags.home.clone(), ..Overrides::default() };
    let again = load(Some(&fixture.path("elsewhere/kept.toml")), &plain)
        .unwrap_or_else(|errors| panic!("{errors}\n{resolved}"));
    assert_eq!(digest(&again.config), digest(&config));
    assert_eq!(again.config.models, config.models);
    assert_eq!(again.config.datasets.len(), config.datasets.len());
    for (mut dataset, expected) in again.config.datasets.into_iter().zip(&config.datasets) {
        // It stands in another file.
        dataset.test.origin = expected.test.origin.clone();
        assert_eq!(&dataset, expected);
    }
    assert_eq!(again.config.not_combined, config.not_combined);
    assert_eq!((&again.config.infer, &again.config.work_dir), (&config.infer, &config.work_dir));
    assert_eq!(again.written.resolved.unwrap().lines().count(), resolved.lines().count(), "and so on");
}

#[test]
fn a_limit_of_the_file_holds_unless_a_flag_says_another() {
    let mut fixture = Fixture::new();
    let text = format!("{MODEL}{}", DATASET.replace("abbr = \"d\"", "abbr = \"d\"\nlimit = 5"));
    assert_eq!(fixture.good(&text).datasets[0].limit, Some(5));
    fixture.flags.limit = Some(2);
    assert_eq!(fixture.good(&text).datasets[0].limit, Some(2));
}

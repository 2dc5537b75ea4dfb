//! `[[summary_group]]`.

use super::fixture::{DATASET, Fixture, MODEL};
use compass_plan::summary::{Average, Subset, SummaryGroup};

fn read(groups: &str) -> Vec<SummaryGroup> {
    Fixture::new().good(&format!("{MODEL}{DATASET}{groups}")).summary_groups
}

fn subset(name: &str, metric: Option<&str>) -> Subset {
    Subset { name: name.into(), metric: metric.map(String::from) }
}

#[test]
fn every_kind() {
    assert_eq!(read(""), []);
    let groups = read(
        "[[summary_group]]\nname = \"mean\"\nsubsets = [\"a\", [\"b\", \"f1\"]]\nmetric = \"overall\"
[[summary_group]]\nname = \"by name\"\nsubsets = [\"a\", \"b\"]\nweights = { b = 2, a = 0.5 }
[[summary_group]]\nname = \"in order\"\nsubsets = [\"a\", \"b\"]\nweights = [1, 3]
[[summary_group]]\nname = \"sum\"\nsubsets = [\"a\"]\nsum = true
[[summary_group]]\nname = \"harmonic\"\nsubsets = [\"a\"]\nharmonic_mean = true
[[summary_group]]\nname = \"std\"\nsubsets = [\"a\"]\nstd = true\nsum = false
[[summary_group]]\nname = \"agieval\"
[[summary_group]]\nname = \"transformed\"\nsubsets = [\"a\", [\"b\", \"mae\"]]\ntransforms = { b = \"(2 - x) / 2 * 100\" }
[[summary_group]]\nname = \"by size\"\nsubsets = [\"a\"]\nweight_by_size = true
[[summary_group]]\nname = \"alike\"\nsubsets = [\"a\"]\nweight_by_size = false\n",
    );
    let averages: Vec<&Average> = groups.iter().map(|group| &group.average).collect();
    assert_eq!(
        averages,
        [
            &Average::Naive,
            &Average::Weighted(vec![0.5, 2.0]),
            &Average::Weighted(vec![1.0, 3.0]),
            &Average::Sum,
            &Average::Harmonic,
            &Average::StandardDeviation,
            &Average::Naive,
            &Average::Naive,
            &Average::BySize,
            &Average::ByDataSet,
        ]
    );
    assert_eq!(groups[7].taken("b", 0.5), Ok(75.0));
    assert_eq!(groups[7].taken("a", 0.5), Ok(0.5));
    assert_eq!(groups[0].subsets, [subset("a", None), subset("b", Some("f1"))]);
    assert_eq!(groups[0].metric_name(), "overall");
    assert_eq!(groups[3].metric_name(), "sum");
    assert_eq!(groups[6].subsets, []);
}

#[test]
fn what_is_wrong_is_said_at_its_place() {
    for (lines, place, message) in [
        ("subsets = [\"a\"]", "11:1", "missing key `name` in [[summary_group]]"),
        (
            "name = \"mmlu-sten\"",
            "11:1",
            "missing key `subsets` in [[summary_group]]: no group called `mmlu-sten` is known",
        ),
        ("name = \"g\"\nsubsets = []", "13:11", "`subsets` names no data set"),
        (
            "name = \"g\"\nsubsets = [\"a\", 5]",
            "13:17",
            "`subsets[1]` takes a data set, or a pair of data set and metric, found an integer",
        ),
        (
            "name = \"g\"\nsubsets = [\"a\"]\nweights = { b = 1, a = 1 }",
            "14:13",
            "`weights` has `b`, which is not a subset",
        ),
        ("name = \"g\"\nsubsets = [\"a\", \"b\"]\nweights = { a = 1 }", "14:11", "`weights` lacks the subset `b`"),
        ("name = \"g\"\nsubsets = [\"a\", \"b\"]\nweights = [1]", "14:11", "`weights` has 1 numbers for 2 subsets"),
        ("name = \"g\"\nsubsets = [\"a\"]\nweights = [0]", "14:11", "`weights` are all zero"),
        (
            "name = \"g\"\nsubsets = [\"a\"]\nweights = [-1]",
            "14:12",
            "`weights` takes numbers of 0 or more, found an integer",
        ),
        ("name = \"g\"\nsubsets = [\"a\"]\nsum = 1", "14:7", "`sum` takes a boolean, found an integer"),
        (
            "name = \"g\"\nsubsets = [\"a\"]\nsum = true\nstd = true",
            "11:1",
            "[[summary_group]] has more than one of `weights`, `weight_by_size`, `sum`, `harmonic` and `std`",
        ),
        ("name = \"g\"\nsubsets = [\"a\"]\nsubset = 1", "14:1", "unknown key `subset`"),
        (
            "name = \"g\"\nsubsets = [\"a\"]\ntransforms = { b = \"x\" }",
            "14:16",
            "`transforms` has `b`, which is not a subset",
        ),
        (
            "name = \"g\"\nsubsets = [\"a\"]\ntransforms = { a = \"y\" }",
            "14:20",
            "transform of `a`: `y`: NameError: name 'y' is not defined",
        ),
        (
            "name = \"g\"\nsubsets = [\"a\"]\ntransforms = 1",
            "14:14",
            "`transforms` takes a table of Python expressions of `x`, found an integer",
        ),
        (
            "name = \"g\"\nsubsets = [\"a\"]\n[[summary_group]]\nname = \"g\"\nsubsets = [\"b\"]",
            "15:8",
            "a second [[summary_group]] with `name` `g`",
        ),
    ] {
        let places = Fixture::new().places(&format!("{MODEL}{DATASET}[[summary_group]]\n{lines}\n"));
        assert_eq!(places, [format!("eval.toml:{place}: {message}")], "in\n{lines}");
    }
}

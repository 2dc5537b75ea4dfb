//! Numbers and standard errors of nested groups as lm-eval 0.4.13 makes them of random tasks, to the bit (`goldens/groups.py`
//! drew and ran them).

use compass_plan::summary::{Average, Subset, SummaryGroup};
use serde_json::Value;

#[test]
fn nested_groups_are_lm_evals_to_the_bit() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../goldens/groups.json")).unwrap();
    let (mut nested, mut compared) = (0, 0);
    for case in &cases {
        let tasks = &case["tasks"];
        let is_data_set = |name: &str| tasks.get(name).is_some();
        let group = |(name, subsets): (&String, &Value)| {
            let names = subsets.as_array().unwrap().iter().map(|subset| subset.as_str().unwrap().to_owned());
            SummaryGroup::naive(name.clone(), names)
        };
        let groups: Vec<SummaryGroup> = case["groups"].as_object().unwrap().iter().map(group).collect();
        for found in case["found"].as_array().unwrap() {
            let at = groups.iter().position(|group| group.name == found["group"].as_str().unwrap()).unwrap();
            let average = match found["weight_by_size"].as_bool().unwrap() {
                true => Average::BySize,
                false => Average::ByDataSet,
            };
            let group = SummaryGroup { average, ..groups[at].clone() };
            let whole = group.of_leaves(&groups[..at], &is_data_set);
            let leaves: Vec<&str> = whole.subsets.iter().map(|subset| subset.name.as_str()).collect();
            assert_eq!(serde_json::json!(leaves), found["leaves"], "{case}");
            let numbers = |key: &str| leaves.iter().map(|leaf| tasks[leaf][key].as_f64().unwrap()).collect::<Vec<_>>();
            let sizes: Vec<u64> = leaves.iter().map(|leaf| tasks[leaf]["size"].as_u64().unwrap()).collect();
            let value = whole.average.of(&numbers("value"), &sizes);
            assert_eq!(value, found["value"].as_f64(), "{found} in {case}");
            assert_eq!(whole.average.stderr(&numbers("stderr"), &sizes), found["stderr"].as_f64(), "{found} in {case}");
            nested += usize::from(leaves.len() != group.subsets.len());
            compared += 1;
        }
    }
    assert!(nested > 20 && compared > 100, "{nested} of {compared} groups hold groups");
}

/// A metric that is named for a group within another is one of its data sets', unless it is the inner group's own.
#[test]
fn metrics_of_groups_within_are_those_of_their_data_sets() {
    let subset = |name: &str, metric: Option<&str>| Subset { name: name.into(), metric: metric.map(String::from) };
    let inner =
        SummaryGroup { subsets: vec![subset("a", Some("f1")), subset("b", None)], ..SummaryGroup::naive("in", []) };
    let leaves = |metric| {
        let subsets = vec![subset("in", metric)];
        let outer = SummaryGroup { subsets, average: Average::ByDataSet, ..SummaryGroup::naive("out", []) };
        outer.of_leaves(std::slice::from_ref(&inner), &|name| name != "in").subsets
    };
    assert_eq!(leaves(None), inner.subsets);
    assert_eq!(leaves(Some("naive_average")), inner.subsets);
    assert_eq!(leaves(Some("acc")), [subset("a", Some("acc")), subset("b", Some("acc"))]);
    let circle = SummaryGroup { average: Average::BySize, ..SummaryGroup::naive("in", ["in".to_owned()]) };
    assert_eq!(circle.of_leaves(&[], &|_| false).subsets, circle.subsets, "a group is made of those before it");
}

//! Reading goldens and comparing with them. `METRIC_GOLDENS` names another folder than the committed one, for fresh draws.

use serde_json::Value;

/// The cases of `name`: arguments and expected output; at least `least` of them.
pub(crate) fn cases(name: &str, least: usize) -> Vec<(Vec<Value>, Value)> {
    let ours = || format!("{}/tests/goldens/metric", env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var("METRIC_GOLDENS").unwrap_or_else(|_| ours());
    let path = format!("{folder}/{name}.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(cases.len() >= least, "{name}: only {} cases", cases.len());
    cases.into_iter().map(|case| (case["in"].as_array().unwrap().clone(), case["out"].clone())).collect()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub(crate) fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(text).collect()
}

/// Equal to 1e-12 of the greater of 1 and the expected number; NaN equals NaN.
pub(crate) fn is_close(actual: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap_or(f64::NAN);
    (actual - expected).abs() <= 1e-12 * expected.abs().max(1.0) || (actual.is_nan() && expected.is_nan())
}

/// Runs every case of `name` through `metric`, whose result must be the expected one exactly; says all that differ.
#[track_caller]
pub(crate) fn exactly<T: Into<Value>>(name: &str, least: usize, metric: impl Fn(&[Value]) -> T) {
    let mut differ = Vec::new();
    for (args, expected) in cases(name, least) {
        let actual = metric(&args).into();
        if actual != expected {
            differ.push(format!("{name} {args:?}\n  expected {expected}\n  found    {actual}"));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// Runs every case of `name` through `metric`, whose numbers must be [`is_close`] to the expected ones; says all that are not.
#[track_caller]
pub(crate) fn closely(name: &str, least: usize, metric: impl Fn(&[Value]) -> Vec<f64>) {
    let mut differ = Vec::new();
    for (args, expected) in cases(name, least) {
        let mut flat = Vec::new();
        flatten(&expected, &mut flat);
        let actual = metric(&args);
        let equal =
            actual.len() == flat.len() && actual.iter().zip(flat).all(|(actual, expected)| is_close(*actual, expected));
        if !equal {
            differ.push(format!("{name} {args:?}\n  expected {expected}\n  found    {actual:?}"));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

fn flatten<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| flatten(item, out)),
        other => out.push(other),
    }
}

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
#[track_caller]
pub(crate) fn close(actual: f64, expected: &Value, context: &dyn std::fmt::Debug) {
    let expected = expected.as_f64().unwrap_or(f64::NAN);
    let near = (actual - expected).abs() <= 1e-12 * expected.abs().max(1.0);
    assert!(near || (actual.is_nan() && expected.is_nan()), "{actual} instead of {expected} for {context:?}");
}

/// Runs every case of `name` through `metric`, whose result must be the expected one exactly.
#[track_caller]
pub(crate) fn exactly<T: Into<Value>>(name: &str, least: usize, metric: impl Fn(&[Value]) -> T) {
    for (args, expected) in cases(name, least) {
        assert_eq!(metric(&args).into(), expected, "{name}: {args:?}");
    }
}

/// Runs every case of `name` through `metric`, whose numbers must be [`close`] to the expected ones.
#[track_caller]
pub(crate) fn closely(name: &str, least: usize, metric: impl Fn(&[Value]) -> Vec<f64>) {
    for (args, expected) in cases(name, least) {
        let mut flat = Vec::new();
        flatten(&expected, &mut flat);
        let actual = metric(&args);
        assert_eq!(actual.len(), flat.len(), "{name}: {args:?}");
        for (actual, expected) in actual.into_iter().zip(flat) {
            close(actual, expected, &(name, &args));
        }
    }
}

fn flatten<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| flatten(item, out)),
        other => out.push(other),
    }
}

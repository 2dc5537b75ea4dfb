//! The key of an endpoint, where this worker has it, and the headers that it is sent in.

use compass_common::regular_file;
use compass_plan::engine::EngineFault;
use compass_plan::{Endpoint, KEY_MARK, KeySource};
use compass_types::secret::Secret;
use std::path::Path;

/// Reads the key.
///
/// # Errors
/// [`EngineFault::Missing`]: this worker has none, another one may.
fn key(source: &KeySource) -> Result<Secret, EngineFault> {
    let (what, held) = match source {
        KeySource::Env(name) => {
            let what = format!("the environment variable {name}");
            (what, std::env::var(name).map_err(|_| "is not set".to_owned()))
        }
        KeySource::File(path) => {
            let line = regular_file::read_text(Path::new(path), regular_file::SMALL)
                .map_err(|error| format!("cannot be read: {error}"));
            (format!("the key file {path}"), line.map(|text| text.lines().next().unwrap_or_default().to_owned()))
        }
    };
    let missing = |why: &str| {
        EngineFault::Missing(format!(
            "no key for the endpoint: {what} {why} where this worker runs; help: set it where workers start"
        ))
    };
    let key = held.map_err(|why| missing(&why))?;
    match key.trim() {
        "" => Err(missing("is empty")),
        key if key.contains(|c: char| !('!'..='~').contains(&c)) => Err(missing("holds a character that no key has")),
        key => Ok(Secret::new(key)),
    }
}

/// The headers of every request.
///
/// # Errors
/// As [`key`].
pub(crate) fn headers(endpoint: &Endpoint) -> Result<Vec<(String, Secret)>, EngineFault> {
    let key = endpoint.key.as_ref().map(key).transpose()?;
    let key = key.as_ref().map(Secret::expose);
    let filled = |value: &String| Secret::new(value.replace(KEY_MARK, key.unwrap_or_default()));
    let mut headers: Vec<_> = endpoint.headers.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
    // Where no header of the configuration has it, it is sent as OpenAI takes it.
    if let Some(key) = key.filter(|_| !endpoint.headers.values().any(|value| value.contains(KEY_MARK))) {
        headers.push(("authorization".into(), Secret::new(format!("Bearer {key}"))));
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::{EndpointApi, EndpointBudget};
    use std::collections::BTreeMap;

    fn endpoint(key: Option<KeySource>, headers: &[(&str, &str)]) -> Endpoint {
        Endpoint {
            url: "http://h/v1".into(),
            model: "m".into(),
            api: EndpointApi::Chat,
            key,
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: serde_json::Map::new(),
            scores: false,
            budget: EndpointBudget::default(),
        }
    }

    #[test]
    fn the_key_goes_where_the_configuration_says() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "k-1\nmore\n").unwrap();
        let source = Some(KeySource::File(file.path().display().to_string()));
        let sent = |headers: &[(&str, &str)]| -> BTreeMap<String, String> {
            let sent = super::headers(&endpoint(source.clone(), headers)).unwrap();
            sent.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect()
        };
        assert_eq!(sent(&[])["authorization"], "Bearer k-1");
        let own = sent(&[("api-key", "{key}"), ("x-team", "eval")]);
        assert_eq!((own["api-key"].as_str(), own["x-team"].as_str(), own.len()), ("k-1", "eval", 2));
    }

    #[test]
    fn a_worker_without_the_key_says_what_is_missing_and_shows_none() {
        let missing = |source| super::headers(&endpoint(Some(source), &[])).unwrap_err().to_string();
        let unset = missing(KeySource::Env("COMPASS_TEST_NO_SUCH_KEY".into()));
        assert!(unset.contains("COMPASS_TEST_NO_SUCH_KEY is not set"), "{unset}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "two words").unwrap();
        let broken = missing(KeySource::File(file.path().display().to_string()));
        assert!(broken.contains("no key has") && !broken.contains("two words"), "{broken}");
    }
}

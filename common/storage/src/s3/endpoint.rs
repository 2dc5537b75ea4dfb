//! The endpoint of an object store, and the keys that sign its requests: the variables of AWS.

use crate::fault::{FaultKind, StorageFault};
use crate::variables::Variables;

/// An object store and the right to read from it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// `http://host:port`; without one it is AWS itself.
    pub(crate) url: Option<String>,
    pub(crate) region: String,
    /// Without them requests are not signed.
    pub(crate) keys: Option<Keys>,
    /// The configuration that it comes from, in words.
    pub(crate) named: String,
    /// Things to check when the store refuses the keys.
    pub(crate) check: String,
}

/// A pair of keys.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) access: String,
    pub(crate) secret: String,
    pub(crate) session: Option<String>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("url", &self.url).field("named", &self.named).finish_non_exhaustive()
    }
}

/// The region of stores that have none.
pub(super) const REGION: &str = "us-east-1";

impl Endpoint {
    /// As the variables of AWS say.
    ///
    /// # Errors
    /// What is missing, all of it.
    pub(crate) fn of_variables(variables: &Variables) -> Result<Self, StorageFault> {
        let wrong = |message: String, help: &str| Err(StorageFault::new(FaultKind::Configuration, message, help));
        let missing: Vec<&str> = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
            .into_iter()
            .filter(|name| variables.get(name).is_none())
            .collect();
        let (Some(access), Some(secret)) = (variables.get("AWS_ACCESS_KEY_ID"), variables.get("AWS_SECRET_ACCESS_KEY"))
        else {
            return wrong(
                format!(
                    "a path on `s3://` without a profile needs {}, which the environment lacks",
                    missing.join(" and ")
                ),
                "set the variables (and AWS_ENDPOINT_URL for a store that is not AWS), or write `profile:s3://...` with a \
                 profile of petreloss.conf",
            );
        };
        let url = variables.first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]);
        if let Some((name, url)) = url
            && let Err(reason) = check_url(url)
        {
            return wrong(format!("{name} is not the address of an object store: {reason}"), "write http://HOST:PORT");
        }
        let region = variables.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]).map_or(REGION, |(_, region)| region);
        Ok(Self {
            url: url.map(|(_, url)| url.trim_end_matches('/').to_owned()),
            region: region.to_owned(),
            keys: Some(Keys {
                access: access.to_owned(),
                secret: secret.to_owned(),
                session: variables.get("AWS_SESSION_TOKEN").map(str::to_owned),
            }),
            named: "with the variables of AWS".into(),
            check: "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN".into(),
        })
    }

    /// The address, for messages.
    pub(crate) fn shown(&self) -> &str {
        self.url.as_deref().unwrap_or("AWS")
    }
}

/// Checks that `url` is an address without anything after the port.
pub(super) fn check_url(url: &str) -> Result<(), String> {
    let uri: http::Uri = url.parse().map_err(|_| "it is not a URL".to_owned())?;
    match (uri.scheme_str(), uri.authority()) {
        (_, Some(authority)) if authority.as_str().contains('@') => Err("user and password do not belong there".into()),
        (Some("http" | "https"), Some(_)) if matches!(uri.path(), "" | "/") => Ok(()),
        (Some("http" | "https"), Some(_)) => Err("it has a path".into()),
        _ => Err("it does not begin with http:// or https://".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_missing_is_named_at_once() {
        let fault = Endpoint::of_variables(&variables(&[])).unwrap_err();
        assert!(fault.message.contains("needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{fault}");
        assert!(fault.help.contains("petreloss.conf"), "{}", fault.help);
        let fault = Endpoint::of_variables(&variables(&[("AWS_ACCESS_KEY_ID", "a")])).unwrap_err();
        assert!(fault.message.contains("needs AWS_SECRET_ACCESS_KEY,"), "{fault}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let keys = [("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "hunter2")];
        let endpoint = Endpoint::of_variables(&variables(&keys)).unwrap();
        assert_eq!((endpoint.shown(), endpoint.region.as_str()), ("AWS", REGION));
        assert!(!format!("{endpoint:?}").contains("hunter2"));
        let mut keys = keys.to_vec();
        keys.push(("AWS_ENDPOINT_URL", "http://me:hunter2@host"));
        let fault = Endpoint::of_variables(&variables(&keys)).unwrap_err();
        assert!(fault.message.starts_with("AWS_ENDPOINT_URL is not") && !fault.message.contains("hunter2"), "{fault}");
    }
}

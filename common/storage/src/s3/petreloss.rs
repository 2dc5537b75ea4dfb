//! Profiles: sections of `petreloss.conf`, the file that petrel's client library reads.
//!
//! The keys `host_base`, `access_key` and `secret_key` of a section count. `enable_mc` (a cache of that library's own) has no
//! effect here; `boto = False` (librados in place of S3) is refused. Without keys requests are not signed, as there.

use super::endpoint::{Endpoint, Keys, REGION, check_url};
use super::ini::{Ini, IniValue};
use crate::fault::{FaultKind, StorageFault};
use compass_common::regular_file;
use compass_diagnostic::spelling::suggest;
use std::path::Path;

/// Longest file that is read.
const MOST_BYTES: u64 = 1 << 20;

impl Endpoint {
    /// The store of `profile`, as the file at `path` says.
    ///
    /// # Errors
    /// What is wrong with the file or the section, with the line.
    pub(crate) fn of_profile(profile: &str, path: &Path) -> Result<Self, StorageFault> {
        let shown = path.display();
        let wrong = |message: String, help: String| StorageFault::new(FaultKind::Configuration, message, help);
        let length = std::fs::metadata(path).map_or(0, |file| file.len());
        if length > MOST_BYTES {
            return Err(wrong(format!("{shown} is not a petreloss.conf: it has {length} bytes"), NAME_THE_FILE.into()));
        }
        let text = regular_file::read_text(path, regular_file::SMALL).map_err(|error| {
            let message = format!("cannot read the profile `{profile}` from {shown}: {error}");
            wrong(message, format!("{NAME_THE_FILE}; it holds `[{profile}]` with host_base, access_key and secret_key"))
        })?;
        let ini = Ini::parse(&text).map_err(|faults| {
            let lines: Vec<String> = faults.iter().map(|(line, fault)| format!("line {line}: {fault}")).collect();
            wrong(format!("cannot read {shown}: {}", lines.join("; ")), "write it as an INI file".into())
        })?;
        let Some(section) = ini.section(profile) else {
            let names: Vec<&str> = ini.names().collect();
            let near = suggest(profile, names.iter().copied(), "profiles");
            return Err(wrong(format!("{shown} has no section `[{profile}]`"), near));
        };
        let value = |key: &str| section.get(key).filter(|value| !value.text.is_empty());
        let mut faults = Vec::new();
        let url = value("host_base").and_then(|host| match address(&host.text) {
            Ok(url) => Some(url),
            Err(reason) => {
                faults.push(format!("line {}: host_base is not the address of an object store: {reason}", host.line));
                None
            }
        });
        if value("host_base").is_none() {
            faults.push("host_base is missing".into());
        }
        if let Some(boto) = value("boto").filter(|boto| is_off(boto)) {
            faults.push(format!(
                "line {}: boto = False asks for librados, which is not served: write boto = True",
                boto.line
            ));
        }
        let keys = match (value("access_key"), value("secret_key")) {
            (Some(access), Some(secret)) => {
                Some(Keys { access: access.text.clone(), secret: secret.text.clone(), session: None })
            }
            (None, None) => None,
            (Some(_), None) => {
                faults.push("secret_key is missing".into());
                None
            }
            (None, Some(_)) => {
                faults.push("access_key is missing".into());
                None
            }
        };
        if !faults.is_empty() {
            let message = format!("the profile `{profile}` of {shown} is not usable: {}", faults.join("; "));
            return Err(wrong(message, format!("complete the section `[{profile}]`")));
        }
        Ok(Self {
            url,
            region: REGION.into(),
            keys,
            named: format!("with profile `{profile}`"),
            check: format!("access_key and secret_key of `[{profile}]` in {shown}"),
        })
    }
}

const NAME_THE_FILE: &str = "name the file with --petreloss-conf or PETRELOSS_CONF (default: ~/petreloss.conf)";

/// `host_base` as an address; that library's own files often leave the scheme out.
fn address(host: &str) -> Result<String, String> {
    let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    check_url(&url)?;
    Ok(url.trim_end_matches('/').to_owned())
}

fn is_off(value: &IniValue) -> bool {
    matches!(value.text.to_lowercase().as_str(), "false" | "no" | "off" | "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = "\
[DEFAULT]
enable_mc = True
boto = c_boto

[model_weights]
host_base = http://10.0.0.1:80
access_key = me
secret_key = hunter2

[public]
host_base = store.example

[half]
host_base = http://user:hunter2@a
access_key = me
boto = False
";

    fn profile(name: &str) -> Result<Endpoint, StorageFault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("petreloss.conf");
        std::fs::write(&path, CONF).unwrap();
        Endpoint::of_profile(name, &path)
    }

    #[test]
    fn a_section_is_a_store() {
        let found = profile("model_weights").unwrap();
        assert_eq!((found.shown(), found.named.as_str()), ("http://10.0.0.1:80", "with profile `model_weights`"));
        assert_eq!(found.keys.unwrap().secret, "hunter2");
        let public = profile("public").unwrap();
        assert_eq!((public.shown(), public.keys.is_none()), ("http://store.example", true));
    }

    #[test]
    fn what_is_wrong_is_told_at_once_and_without_a_secret() {
        let fault = profile("model_weight").unwrap_err();
        assert!(fault.message.ends_with("petreloss.conf has no section `[model_weight]`"), "{fault}");
        assert!(fault.help.contains("model_weights"), "{}", fault.help);
        let fault = profile("half").unwrap_err();
        for part in ["line 14: host_base", "line 16: boto = False", "secret_key is missing"] {
            assert!(fault.message.contains(part), "{part}: {fault}");
        }
        assert!(!fault.with_help().contains("hunter2"), "{fault}");
        let fault = Endpoint::of_profile("p", Path::new("/nowhere/petreloss.conf")).unwrap_err();
        assert!(fault.message.contains("cannot read the profile `p` from /nowhere/petreloss.conf"), "{fault}");
        assert!(fault.help.contains("--petreloss-conf") && fault.help.contains("`[p]`"), "{}", fault.help);
    }
}

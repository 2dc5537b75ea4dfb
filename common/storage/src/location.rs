//! Locations as a person writes them for files that are elsewhere: `profile:s3://bucket/prefix/`, `s3://bucket/prefix/` and
//! `hub:owner/name@revision`.

use std::fmt;

/// Location of files that are not in a directory on this host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    S3(S3Location),
    Hub(HubRepository),
}

/// A folder, or one object, in a bucket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct S3Location {
    /// A section of petreloss.conf; without one the variables of AWS name the endpoint and the keys.
    pub profile: Option<String>,
    pub bucket: String,
    /// Without slashes at its ends; empty for the whole bucket.
    pub prefix: String,
}

/// A repository on the Hugging Face hub.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HubRepository {
    pub kind: HubKind,
    /// `owner/name`.
    pub repository: String,
    /// A branch, a tag or a commit.
    pub revision: String,
}

/// Kind of a repository of the hub, by what it holds: the hub has names of their own for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HubKind {
    Model,
    Dataset,
}

const S3: &str = "s3://";
const HUB: &str = "hub:";

impl Location {
    /// Returns whether a path is meant as a place that is not a directory of a host.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(HUB) || text.contains(S3)
    }

    /// The location that `text` names; `None` for a path of a host.
    ///
    /// # Errors
    /// In words: what of it cannot be read, and how it is written.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        if let Some(id) = text.strip_prefix(HUB) {
            return Some(HubRepository::parse(id).map(Self::Hub));
        }
        let (before, rest) = text.split_once(S3)?;
        Some(S3Location::parse(before, rest).map(Self::S3))
    }
}

impl S3Location {
    fn parse(before: &str, rest: &str) -> Result<Self, String> {
        let form = "write `profile:s3://bucket/prefix/`, or `s3://bucket/prefix/` with the variables of AWS";
        let profile = match before.strip_suffix(':') {
            Some(profile) if is_word(profile) => Some(profile.to_owned()),
            None if before.is_empty() => None,
            _ => return Err(format!("`{before}` before `s3://` is not the name of a profile; {form}")),
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() || !bucket.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'))
        {
            return Err(format!("`{bucket}` is not the name of a bucket; {form}"));
        }
        let prefix = prefix.trim_matches('/');
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(char::is_control);
        if !prefix.is_empty() && !prefix.split('/').all(is_plain) {
            return Err(format!("`{prefix}` is not a prefix of keys: an empty part, `.` or `..` is in it; {form}"));
        }
        Ok(Self { profile, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The location of the folder that holds this object, and the object's name in it; `None` at the top of a bucket.
    pub fn parent(&self) -> Option<(Self, &str)> {
        let (prefix, name) = match self.prefix.rsplit_once('/') {
            Some((prefix, name)) => (prefix, name),
            None if self.prefix.is_empty() => return None,
            None => ("", self.prefix.as_str()),
        };
        Some((Self { prefix: prefix.to_owned(), ..self.clone() }, name))
    }

    /// The key of the file called `name` in this folder.
    pub fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }
}

impl HubRepository {
    /// A model's `owner/name` or `owner/name@revision`.
    ///
    /// # Errors
    /// In words: what of it cannot be read, and how it is written.
    pub fn parse(id: &str) -> Result<Self, String> {
        let (repository, revision) = id.split_once('@').unwrap_or((id, "main"));
        let is_name = |name: &str| is_word(name) && name != "." && name != "..";
        let names = repository.split('/').count();
        let is_odd = names > 2 || !repository.split('/').all(is_name) || !revision.split('/').all(is_name);
        if is_odd {
            return Err(format!("`{id}` is not a repository of the hub; write `owner/name` or `owner/name@revision`"));
        }
        Ok(Self { kind: HubKind::Model, repository: repository.to_owned(), revision: revision.to_owned() })
    }
}

impl HubRepository {
    /// A data set's repository.
    ///
    /// # Errors
    /// As [`HubRepository::parse`].
    pub fn dataset(repository: &str, revision: &str) -> Result<Self, String> {
        Ok(Self { kind: HubKind::Dataset, ..Self::parse(&format!("{repository}@{revision}"))? })
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S3(location) => location.fmt(f),
            Self::Hub(HubRepository { kind, repository, revision }) => {
                let kind = if *kind == HubKind::Dataset { "datasets/" } else { "" };
                write!(f, "{HUB}{kind}{repository}@{revision}")
            }
        }
    }
}

impl fmt::Display for S3Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(profile) = &self.profile {
            write!(f, "{profile}:")?;
        }
        write!(f, "{S3}{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s3(text: &str) -> S3Location {
        match Location::parse(text).unwrap().unwrap() {
            Location::S3(location) => location,
            Location::Hub(_) => panic!("{text}"),
        }
    }

    #[test]
    fn the_users_own_path_is_a_profile_a_bucket_and_a_prefix() {
        let location = s3("model_weights:s3://model_weights/0331/1006_pr/5499/");
        assert_eq!(location.profile.as_deref(), Some("model_weights"));
        assert_eq!((location.bucket.as_str(), location.prefix.as_str()), ("model_weights", "0331/1006_pr/5499"));
        assert_eq!(location.key("model_config.pt"), "0331/1006_pr/5499/model_config.pt");
        assert_eq!(location.to_string(), "model_weights:s3://model_weights/0331/1006_pr/5499");
        assert_eq!(s3("s3://b").key("a"), "a");
        let (folder, name) = location.parent().map(|(folder, name)| (folder.to_string(), name.to_owned())).unwrap();
        assert_eq!((folder.as_str(), name.as_str()), ("model_weights:s3://model_weights/0331/1006_pr", "5499"));
        assert!(s3("s3://b").parent().is_none());
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        assert!(Location::parse("/a/directory").is_none() && Location::parse("owner/name").is_none());
        for (text, says) in [
            ("s3://", "`` is not the name of a bucket"),
            ("my profile:s3://b/p", "`my profile:` before `s3://`"),
            ("/a/s3://b/p", "`/a/` before `s3://`"),
            ("s3://b/a//c", "`a//c` is not a prefix"),
            ("p:s3://b/../c", "`../c` is not a prefix"),
            ("hub:a/b/c", "`a/b/c` is not a repository"),
            ("hub:a/..", "`a/..` is not a repository"),
        ] {
            let message = Location::parse(text).unwrap().unwrap_err();
            assert!(message.contains(says) && message.contains("write `"), "{text}: {message}");
        }
    }
}

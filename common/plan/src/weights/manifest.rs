//! The digest of a checkpoint and the marks of its files, from which it follows.

use crate::GenerationDefaults;
use compass_types::ids::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Beginning of the digest: what is digested, and how, may change only together with this.
const DOMAIN: &[u8] = b"compass weights 1\n";

/// Names a checkpoint by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightsDigest {
    /// Follows from `files`, and is all that two copies need compare.
    pub digest: Digest,
    /// Every file that counts, by its canonical name: `weights/...`, `config/...`, `tokenizer/...`.
    pub files: BTreeMap<String, FileMark>,
}

/// Facts about the content of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Its size.
    pub bytes: u64,
    /// Digest of its whole content or of samples of it, see [`super::mark`].
    pub digest: Digest,
}

impl WeightsDigest {
    /// The digest of a checkpoint that consists of these files.
    pub fn new(files: BTreeMap<String, FileMark>) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(DOMAIN);
        for (name, mark) in &files {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(&mark.bytes.to_le_bytes());
            hasher.update(&mark.digest.0);
        }
        Self { digest: Digest(*hasher.finalize().as_bytes()), files }
    }

    /// Describes how `found` differs from this digest, which is the one that holds: both digests, and the first file that
    /// is to blame. `None` where it does not differ. Configuration comes first: it is what people edit.
    pub fn difference(&self, found: &Self) -> Option<String> {
        if self.digest == found.digest {
            return None;
        }
        let names: std::collections::BTreeSet<&String> = self.files.keys().chain(found.files.keys()).collect();
        let first = names.into_iter().find_map(|name| {
            let file = name.split_once('/').map_or(name.as_str(), |(_, file)| file);
            match (self.files.get(name), found.files.get(name)) {
                (Some(held), Some(other)) if held.bytes != other.bytes => {
                    Some(format!("{file} has {} bytes instead of {}", other.bytes, held.bytes))
                }
                (Some(held), Some(other)) if held != other => Some(format!("{file} has other content")),
                (Some(_), None) => Some(format!("{file} is missing")),
                (None, Some(_)) => Some(format!("{file} is one too many")),
                _ => None,
            }
        });
        let first = first.map_or(String::new(), |first| format!(": {first}"));
        let (found, held) = (found.digest.short(), self.digest.short());
        Some(format!("weights digest {found} instead of {held}{first}"))
    }
}

/// Facts that hold of a model for a whole job, on every worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    /// Digest of the weights.
    pub weights: WeightsDigest,
    /// Its makers' choice for a generation where neither data set nor model say otherwise.
    pub generation: GenerationDefaults,
}

impl Pin {
    /// Describes how `found` differs from this one, in words that name what differs; `None` where it does not.
    pub fn difference(&self, found: &Self) -> Option<String> {
        let generation = || {
            (self.generation != found.generation).then(|| {
                format!(
                    "generation_config.json is read as {} instead of {}",
                    found.generation.shown(),
                    self.generation.shown()
                )
            })
        };
        self.weights.difference(&found.weights).or_else(generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(files: &[(&str, &str)]) -> WeightsDigest {
        let mark = |text: &str| FileMark { bytes: text.len() as u64, digest: Digest::of(text.as_bytes()) };
        WeightsDigest::new(files.iter().map(|(name, text)| ((*name).to_owned(), mark(text))).collect())
    }

    #[test]
    fn a_difference_names_both_digests_and_the_first_file() {
        let held = weights(&[("config/config.json", "{}"), ("weights/model.safetensors", "abc")]);
        let says = |files: &[(&str, &str)]| held.difference(&weights(files));
        assert_eq!(says(&[("weights/model.safetensors", "abc"), ("config/config.json", "{}")]), None);
        let other = [("config/config.json", "{ }"), ("weights/model.safetensors", "abd")];
        let expected = format!(
            "weights digest {} instead of {}: config.json has 3 bytes instead of 2",
            weights(&other).digest.short(),
            held.digest.short()
        );
        assert_eq!(says(&other), Some(expected));
        let ends = |files: &[(&str, &str)]| says(files).unwrap().split_once(": ").unwrap().1.to_owned();
        assert_eq!(ends(&[("config/config.json", "{}")]), "model.safetensors is missing");
        let other = [("config/config.json", "{}"), ("weights/model.safetensors", "abd")];
        assert_eq!(ends(&other), "model.safetensors has other content");
    }

    #[test]
    fn what_generations_begin_from_is_compared_beside_the_weights() {
        let pin = |temperature| Pin {
            weights: weights(&[("config/config.json", "{}")]),
            generation: GenerationDefaults { temperature, ..GenerationDefaults::default() },
        };
        assert_eq!(pin(Some(0.5)).difference(&pin(Some(0.5))), None);
        let said = pin(Some(0.5)).difference(&pin(None)).unwrap();
        assert!(said.contains("generation_config.json") && said.contains("temperature 0.5"), "{said}");
    }
}

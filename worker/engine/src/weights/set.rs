//! The weights of one model, in one file or in shards: every expected tensor exactly once, in its shape, and no other.

use super::MappedFile;
use crate::config::read_json;
use crate::fault::{device_fault, file_fault};
use compass_common::engine::EngineFault;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor};

/// An opened checkpoint from which a model takes its tensors by name.
pub(crate) struct Weights {
    /// What to name in messages: the single file, or the index of the shards.
    root: PathBuf,
    files: Vec<MappedFile>,
    /// Tensor name to position in `files`.
    places: BTreeMap<String, usize>,
    taken: BTreeSet<String>,
    /// A prefix that the model's names have and this checkpoint's do not.
    absent_prefix: Option<&'static str>,
    kind: Kind,
    device: Device,
    /// What was passed over although it is not what it ought to be.
    pub(crate) notes: Vec<String>,
}

#[derive(Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

/// The names that transformers looks for, in its order: safetensors first.
const SINGLES: [&str; 2] = ["model.safetensors", "pytorch_model.bin"];

/// What an index of shards has after the single file's name.
const INDEX: &str = ".index.json";

impl Weights {
    /// Opens `model.safetensors`, or the shards that `model.safetensors.index.json` names, or the same of
    /// `pytorch_model.bin`.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when neither is there, or a file is damaged.
    pub(crate) fn open(directory: &Path, kind: Kind, device: Device) -> Result<Self, EngineFault> {
        // When nothing is there, the first name is what is missing.
        let (mut root, mut names) = (directory.join(SINGLES[0]), vec![SINGLES[0].to_owned()]);
        for single in SINGLES {
            if directory.join(single).exists() {
                (root, names) = (directory.join(single), vec![single.to_owned()]);
                break;
            }
            let path = directory.join(format!("{single}{INDEX}"));
            if let Some(index) = read_json::<ShardIndex>(&path)? {
                let shards: BTreeSet<String> = index.weight_map.into_values().collect();
                (root, names) = (path, shards.into_iter().collect());
                break;
            }
        }
        let files: Vec<MappedFile> =
            names.iter().map(|name| MappedFile::open(&directory.join(name))).collect::<Result<_, _>>()?;
        let mut places = BTreeMap::new();
        for (place, file) in files.iter().enumerate() {
            for name in file.names() {
                if places.insert(name.to_owned(), place).is_some() {
                    return Err(file_fault(file.path(), format!("tensor `{name}` also stands in another shard")));
                }
            }
        }
        Ok(Self { root, files, places, taken: BTreeSet::new(), absent_prefix: None, kind, device, notes: Vec::new() })
    }

    /// Accepts names without `prefix`, if this checkpoint has none with it: it was saved from the model without its head.
    pub(crate) fn allow_without(&mut self, prefix: &'static str) {
        self.absent_prefix = (!self.places.keys().any(|name| name.starts_with(prefix))).then_some(prefix);
    }

    /// The name under which this checkpoint has what the model calls `name`.
    fn stored_name<'a>(&self, name: &'a str) -> &'a str {
        self.absent_prefix.and_then(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
    }

    /// Takes a tensor, converted to the model's kind and device.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when it is missing or has another shape than config.json asks for.
    pub(crate) fn take(&mut self, name: &str, shape: &[i64]) -> Result<Tensor, EngineFault> {
        let name = self.stored_name(name);
        let Some(file) = self.places.get(name).and_then(|&place| self.files.get(place)) else {
            let what = format!("tensor `{name}` {shape:?} is missing; config.json and weights do not belong together");
            return Err(file_fault(&self.root, what));
        };
        let stored = file.shape(name).unwrap_or_default();
        if *stored != *shape {
            let what = format!("tensor `{name}` has shape {stored:?}, but config.json asks for {shape:?}");
            return Err(file_fault(file.path(), what));
        }
        let tensor = file.tensor(name, self.kind, self.device)?;
        self.taken.insert(name.to_owned());
        Ok(tensor)
    }

    /// Passes over a tensor that a model has no use for, if it is there: a stored copy of something computed.
    pub(crate) fn skip(&mut self, name: &str) {
        self.taken.insert(self.stored_name(name).to_owned());
    }

    /// Passes over a tensor that ought to be a copy of `original`, which is used in its stead; notes it when it is not.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when the stored tensor cannot be read.
    pub(crate) fn skip_copy(&mut self, name: &str, original: &Tensor) -> Result<(), EngineFault> {
        let name = self.stored_name(name).to_owned();
        if let Some(file) = self.places.get(&name).and_then(|&place| self.files.get(place)) {
            let same = file.shape(&name).unwrap_or_default() == original.size()
                && file.tensor(&name, self.kind, self.device)?.f_equal(original).map_err(|e| device_fault(&e))?;
            if !same {
                self.notes
                    .push(format!("{name} differs from the embeddings and is not used: tie_word_embeddings is true"));
            }
            self.taken.insert(name);
        }
        Ok(())
    }

    /// The mapped files, to be kept as long as the tensors.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when a tensor was never taken: the architecture is not what config.json says. Stored
    /// rotary tables of old checkpoints are harmless.
    pub(crate) fn finish(self) -> Result<Vec<MappedFile>, EngineFault> {
        let left = |name: &&String| !self.taken.contains(*name) && !name.ends_with("rotary_emb.inv_freq");
        let extra: Vec<&String> = self.places.keys().filter(left).collect();
        let Some(first) = extra.first() else {
            return Ok(self.files);
        };
        let file =
            self.places.get(*first).and_then(|&place| self.files.get(place)).map_or(&*self.root, MappedFile::path);
        let more = if extra.len() > 1 { format!(" and {} more", extra.len() - 1) } else { String::new() };
        let what =
            format!("tensor `{first}`{more} has no place in the model; config.json and weights do not belong together");
        Err(file_fault(file, what))
    }
}

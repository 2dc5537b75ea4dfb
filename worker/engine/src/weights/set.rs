//! The weights of one model, in one file or in shards: every expected tensor exactly once, in its shape, finite, and no
//! other.

use super::files::{self, Files};
use super::{MappedFile, finite, merge};
use crate::fault::{device_fault, file_fault, missing_fault};
use crate::placement::Sizes;
use compass_plan::ModelKind;
use compass_plan::engine::EngineFault;
use compass_plan::weights::files::{reading_of, weights_name};
use compass_plan::weights::{FileMark, WeightsDigest};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor};

/// An opened checkpoint from which a model takes its tensors by name.
pub(crate) struct Weights {
    /// What to name in messages when no file is to blame.
    root: PathBuf,
    /// The file that says which tensors there ought to be.
    config: &'static str,
    files: Vec<MappedFile>,
    /// Tensor name to positions in `files`: several where each holds a part.
    places: BTreeMap<String, Vec<usize>>,
    taken: BTreeSet<String>,
    /// A prefix that the model's names have and this checkpoint's do not.
    absent_prefix: Option<&'static str>,
    kind: Kind,
    device: Device,
    /// Of each layer, where they are not all on `device`.
    layers: Vec<Device>,
    /// What was passed over although it is not what it ought to be.
    pub(crate) notes: Vec<String>,
}

/// Beyond this a number in a tensor's name is no layer's.
const MOST_LAYERS: usize = 4096;

/// The number of the layer to which a tensor belongs by its name: the first number in it, in every family.
fn layer_of(name: &str) -> Option<usize> {
    name.split('.').find_map(|part| part.parse().ok()).filter(|&layer| layer < MOST_LAYERS)
}

impl Weights {
    /// Opens the checkpoint of a model of kind `layout`.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when it is not there, or a file is damaged.
    pub(crate) fn open(
        directory: &Path,
        layout: ModelKind,
        config: &'static str,
        (kind, device): (Kind, Device),
    ) -> Result<Self, EngineFault> {
        let Files { root, files, parallel } = files::open(directory, layout)?;
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, file) in files.iter().enumerate() {
            for name in file.names() {
                let places = places.entry(name.to_owned()).or_default();
                if !places.is_empty() && !parallel {
                    return Err(file_fault(file.path(), format!("tensor `{name}` also stands in another shard")));
                }
                places.push(place);
            }
        }
        let (taken, absent_prefix, notes) = (BTreeSet::new(), None, Vec::new());
        Ok(Self { root, config, files, places, taken, absent_prefix, kind, device, layers: Vec::new(), notes })
    }

    /// What the checkpoint is known by, together with `marks`, which are those of its configuration and tokenizer.
    ///
    /// # Errors
    /// [`EngineFault::Missing`] when a file has become shorter since it was opened.
    pub(crate) fn digest(&self, mut marks: BTreeMap<String, FileMark>) -> Result<WeightsDigest, EngineFault> {
        for file in &self.files {
            let name = file.path().file_name().unwrap_or_default().to_string_lossy();
            let mark = file.mark(reading_of(&name));
            let mark = mark.map_err(|error| missing_fault(file.path(), format!("cannot be digested: {error}")))?;
            marks.insert(weights_name(&name), mark);
        }
        Ok(WeightsDigest::new(marks))
    }

    /// Has layers loaded on these devices, and everything else where it would be anyway.
    pub(crate) fn spread(&mut self, layers: Vec<Device>) {
        self.layers = layers;
    }

    /// The devices of the layers; empty where all are on the one.
    pub(crate) fn layer_devices(&self) -> Vec<Device> {
        self.layers.clone()
    }

    fn device_of(&self, name: &str) -> Device {
        layer_of(name).and_then(|layer| self.layers.get(layer)).copied().unwrap_or(self.device)
    }

    /// What the tensors take in the kind in which they will be computed; caches aside.
    pub(crate) fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        for (name, places) in &self.places {
            let shapes = places.iter().filter_map(|&place| self.files.get(place)?.shape(name));
            let elements: i64 = shapes.map(|shape| shape.iter().product::<i64>()).sum();
            let bytes = elements as u64 * self.kind.elt_size_in_bytes() as u64;
            match layer_of(name) {
                None => sizes.outside += bytes,
                Some(layer) => {
                    sizes.layers.resize(sizes.layers.len().max(layer + 1), 0);
                    sizes.layers[layer] += bytes;
                }
            }
        }
        sizes
    }

    /// Accepts names without `prefix`, if this checkpoint has none with it: it was saved from the model without its head.
    pub(crate) fn allow_without(&mut self, prefix: &'static str) {
        self.absent_prefix = (!self.places.keys().any(|name| name.starts_with(prefix))).then_some(prefix);
    }

    /// The name under which this checkpoint has what the model calls `name`.
    fn stored_name<'a>(&self, name: &'a str) -> &'a str {
        self.absent_prefix.and_then(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
    }

    /// The files that hold `name`, or a part of it each.
    fn holders(&self, name: &str) -> Vec<&MappedFile> {
        let places = self.places.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|&place| self.files.get(place)).collect()
    }

    /// Whether there is a tensor of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.places.contains_key(self.stored_name(name))
    }

    /// Rows of a tensor that is cut along them, in all shards together: what no configuration says.
    pub(crate) fn rows(&self, name: &str) -> Option<i64> {
        let holders = self.holders(self.stored_name(name));
        let rows =
            holders.iter().map(|file| file.shape(self.stored_name(name)).and_then(|shape| shape.first().copied()));
        rows.sum::<Option<i64>>().filter(|&rows| rows > 0)
    }

    /// Takes a tensor, converted to the model's kind and device.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when it is missing, has another shape than the configuration asks for, or holds what is no
    /// finite number.
    pub(crate) fn take(&mut self, name: &str, shape: &[i64]) -> Result<Tensor, EngineFault> {
        self.take_blocks(name, shape, 1)
    }

    /// As [`Weights::take`], of a tensor that consists of so many equal blocks of rows, each cut by itself where the
    /// checkpoint is one of model-parallel training.
    ///
    /// # Errors
    /// As [`Weights::take`].
    pub(crate) fn take_blocks(&mut self, name: &str, shape: &[i64], blocks: i64) -> Result<Tensor, EngineFault> {
        let (name, config) = (self.stored_name(name), self.config);
        let holders = self.holders(name);
        let options = (self.kind, self.device_of(name));
        let (path, tensor) = match holders.as_slice() {
            [] => {
                let what = format!("tensor `{name}` {shape:?} is missing; {config} and weights do not belong together");
                return Err(file_fault(&self.root, what));
            }
            [file] => {
                let stored = file.shape(name).unwrap_or_default();
                if *stored != *shape {
                    let what = format!("tensor `{name}` has shape {stored:?}, but {config} asks for {shape:?}");
                    return Err(file_fault(file.path(), what));
                }
                (file.path(), file.tensor(name, options.0, options.1)?)
            }
            shards @ [file, ..] => (file.path(), merge::merged(shards, name, shape, blocks, options)?),
        };
        if !finite::is_finite(&tensor).map_err(|error| device_fault(&error))? {
            let what = format!(
                "tensor `{name}` holds NaN or infinite numbers in {:?}; fetch the file again, or write `dtype = \
                 \"float32\"` if it was float16 that could not hold them",
                self.kind
            );
            return Err(file_fault(path, what));
        }
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
        if let [file, ..] = self.holders(&name).as_slice() {
            let same = file.shape(&name).unwrap_or_default() == original.size() && file.equals(&name, original)?;
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
    /// [`EngineFault::Model`] when a tensor was never taken: the architecture is not what the configuration says. Stored
    /// rotary tables of old checkpoints are harmless.
    pub(crate) fn finish(self) -> Result<Vec<MappedFile>, EngineFault> {
        let left = |name: &&String| !self.taken.contains(*name) && !name.ends_with("rotary_emb.inv_freq");
        let extra: Vec<&String> = self.places.keys().filter(left).collect();
        let Some(first) = extra.first() else {
            return Ok(self.files);
        };
        let file = self.holders(first).first().map_or(self.root.clone(), |file| file.path().to_path_buf());
        let more = if extra.len() > 1 { format!(" and {} more", extra.len() - 1) } else { String::new() };
        let config = self.config;
        let what =
            format!("tensor `{first}`{more} has no place in the model; {config} and weights do not belong together");
        Err(file_fault(&file, what))
    }
}

//! The weights of one model, in one file or in shards: every expected tensor exactly once, in its shape, finite, and no
//! other tensor.

use super::adapter::Adapter;
use super::files::{self, Files};
use super::fp8::Float8;
use super::random::random_tensor;
use super::{MappedFile, UnchangedFile, finite, merge};
use crate::fault::{device_fault, file_fault, missing_fault};
use crate::placement::Sizes;
use compass_plan::ModelKind;
use compass_plan::engine::EngineFault;
use compass_plan::weights::files::{reading_of, weights_name};
use compass_plan::weights::{FileMark, Fp8, WeightsDigest, shown_size};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor};

/// An opened checkpoint from which a model takes its tensors by name.
pub(crate) struct Weights {
    /// Path for messages that do not concern a single file.
    root: PathBuf,
    /// The file that defines the expected tensors.
    config: &'static str,
    files: Vec<MappedFile>,
    /// Indices in `files` by tensor name: several if each file has a part.
    places: BTreeMap<String, Vec<usize>>,
    taken: BTreeSet<String>,
    /// Adapter that is merged into tensors as they are loaded.
    adapter: Option<Adapter>,
    /// Tensors that are stored in eight bits.
    float8: Option<Float8>,
    /// Prefixes of the model's names, each with what this checkpoint's names have in its place; the first that matches holds.
    renamed: Vec<(&'static str, &'static str)>,
    /// Set if tensors are made in place of being read.
    is_random: bool,
    kind: Kind,
    device: Device,
    /// Device of each layer, if not all are on `device`.
    layers: Vec<Device>,
    /// Set if a head counts as tied that differs from the embeddings in the files.
    ties_as_configured: bool,
    /// Notes on ignored irregularities.
    pub(crate) notes: Vec<String>,
    /// Facts that change numbers and that peers read in different ways.
    pub(crate) remarks: Vec<String>,
}

/// Larger numbers in a tensor's name are not layer numbers.
const MAX_LAYERS: usize = 4096;

/// Returns the number of a tensor's layer: the first number in its name, in every family.
fn layer_of(name: &str) -> Option<usize> {
    name.split('.').find_map(|part| part.parse().ok()).filter(|&layer| layer < MAX_LAYERS)
}

impl Weights {
    /// Opens the checkpoint of a model of kind `layout`.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if it is missing, or a file is damaged.
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
                    return Err(file_fault(file.path(), format!("tensor `{name}` is also in another shard")));
                }
                places.push(place);
            }
        }
        let (taken, renamed, notes) = (BTreeSet::new(), Vec::new(), Vec::new());
        Ok(Self {
            root,
            config,
            files,
            places,
            taken,
            adapter: None,
            float8: None,
            renamed,
            is_random: false,
            kind,
            device,
            layers: Vec::new(),
            ties_as_configured: false,
            notes,
            remarks: Vec::new(),
        })
    }

    /// A checkpoint without files, whose tensors are drawn from `seed` as they are taken.
    pub(crate) fn random(directory: &Path, config: &'static str, (kind, device): (Kind, Device), seed: i64) -> Self {
        tch::manual_seed(seed);
        Self {
            root: directory.to_owned(),
            config,
            files: Vec::new(),
            places: BTreeMap::new(),
            taken: BTreeSet::new(),
            adapter: None,
            float8: None,
            renamed: Vec::new(),
            is_random: true,
            kind,
            device,
            layers: Vec::new(),
            ties_as_configured: false,
            notes: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Lets a head count as tied wherever the configuration says so, as transformers 4.57 does.
    pub(crate) fn tie_as_configured(&mut self) {
        self.ties_as_configured = true;
    }

    /// Merges the adapter in `directory` into the tensors that are loaded from now on.
    ///
    /// # Errors
    /// As [`Adapter::open`].
    pub(crate) fn adapt(&mut self, directory: &Path) -> Result<(), EngineFault> {
        self.adapter = Some(Adapter::open(directory)?);
        Ok(())
    }

    /// Dequantises the tensors that are stored in eight bits as they are loaded from now on; adds a note on the memory.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if one has no scale.
    pub(crate) fn dequantise(&mut self, fp8: Fp8) -> Result<(), EngineFault> {
        let float8 = Float8::find(fp8, &self.files, &mut self.places)?;
        if !float8.is_empty() {
            let on_disk = self.files.iter().map(MappedFile::bytes).sum();
            let in_memory = self.sizes().all();
            let note = format!(
                "fp8 weights are dequantised as they are loaded: {} on disk, {} in memory as {:?}",
                shown_size(on_disk),
                shown_size(in_memory),
                self.kind
            );
            tracing::info!(weights = %self.root.display(), "{note}");
            self.notes.push(note);
        }
        self.float8 = Some(float8);
        Ok(())
    }

    /// Returns the digest of the checkpoint, including `marks`, the marks of its configuration and tokenizer.
    ///
    /// # Errors
    /// [`EngineFault::Missing`] if a file became shorter since it was opened.
    pub(crate) fn digest(&self, mut marks: BTreeMap<String, FileMark>) -> Result<WeightsDigest, EngineFault> {
        for file in &self.files {
            let name = file.path().file_name().unwrap_or_default().to_string_lossy();
            let mark = file.mark(reading_of(&name));
            let mark = mark.map_err(|error| missing_fault(file.path(), format!("cannot digest it: {error}")))?;
            marks.insert(weights_name(&name), mark);
        }
        Ok(WeightsDigest::new(marks))
    }

    /// The files of weights as they were before they were mapped.
    ///
    /// # Errors
    /// [`EngineFault::Device`] if this process may open no more files.
    pub(crate) fn unchanged(&self) -> Result<Vec<UnchangedFile>, EngineFault> {
        let files = self.files.iter().map(|file| file.unchanged().again());
        files
            .collect::<std::io::Result<_>>()
            .map_err(|error| EngineFault::Device(format!("cannot watch the weights: {error}")))
    }

    /// Sets the devices of the layers; everything else stays on its device.
    pub(crate) fn spread(&mut self, layers: Vec<Device>) {
        self.layers = layers;
    }

    /// Returns the devices of the layers; empty if all are on one device.
    pub(crate) fn layer_devices(&self) -> Vec<Device> {
        self.layers.clone()
    }

    fn device_of(&self, name: &str) -> Device {
        layer_of(name).and_then(|layer| self.layers.get(layer)).copied().unwrap_or(self.device)
    }

    /// Returns the sizes of the tensors in the computing kind, without caches.
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

    /// Accepts names without `prefix` if this checkpoint has none with it: it was saved from the model without its
    /// head.
    pub(crate) fn allow_without(&mut self, prefix: &'static str) {
        if !self.has_prefix(prefix) {
            self.renamed.push((prefix, ""));
        }
    }

    /// Accepts names that begin with `stored` in place of `name`, if this checkpoint has any.
    pub(crate) fn rename_prefix(&mut self, stored: &'static str, name: &'static str) {
        if self.has_prefix(stored) {
            self.renamed.push((name, stored));
        }
    }

    fn has_prefix(&self, prefix: &str) -> bool {
        self.places.keys().any(|name| name.starts_with(prefix))
    }

    /// Returns the checkpoint's name of the model's tensor `name`.
    fn stored_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let other =
            |(prefix, stored): &(&str, &str)| Some(Cow::Owned(format!("{stored}{}", name.strip_prefix(prefix)?)));
        self.renamed.iter().find_map(other).unwrap_or(Cow::Borrowed(name))
    }

    /// Returns the files that have `name`, or a part of it each.
    fn holders(&self, name: &str) -> Vec<&MappedFile> {
        let places = self.places.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|&place| self.files.get(place)).collect()
    }

    /// Returns whether a tensor has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.places.contains_key(self.stored_name(name).as_ref())
    }

    /// Returns the total number of rows of a tensor that is split along them: no configuration has it.
    pub(crate) fn rows(&self, name: &str) -> Option<i64> {
        let name = self.stored_name(name);
        let holders = self.holders(&name);
        let rows = holders.iter().map(|file| file.shape(&name).and_then(|shape| shape.first().copied()));
        rows.sum::<Option<i64>>().filter(|&rows| rows > 0)
    }

    /// Loads a tensor, converted to the model's kind and device.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if it is missing, has another shape than in the configuration, or has a non-finite
    /// number.
    pub(crate) fn take(&mut self, name: &str, shape: &[i64]) -> Result<Tensor, EngineFault> {
        self.take_blocks(name, shape, 1)
    }

    /// Loads a tensor in f32, whatever the model's kind.
    ///
    /// # Errors
    /// As [`Weights::take`].
    pub(crate) fn take_wide(&mut self, name: &str, shape: &[i64]) -> Result<Tensor, EngineFault> {
        let kind = std::mem::replace(&mut self.kind, Kind::Float);
        let tensor = self.take(name, shape);
        self.kind = kind;
        tensor
    }

    /// Loads a tensor of `blocks` equal blocks of rows, each of which is split separately in a checkpoint of
    /// model-parallel training.
    ///
    /// # Errors
    /// As [`Weights::take`].
    pub(crate) fn take_blocks(&mut self, name: &str, shape: &[i64], blocks: i64) -> Result<Tensor, EngineFault> {
        if self.is_random {
            return random_tensor(name, shape, (self.kind, self.device_of(name)));
        }
        let stored = self.stored_name(name);
        let (named, name, config) = (name, stored.as_ref(), self.config);
        let holders = self.holders(name);
        let options = (self.kind, self.device_of(name));
        let (path, tensor) = match holders.as_slice() {
            [] => {
                let what = format!("tensor `{name}` {shape:?} is missing; {config} and weights do not match");
                return Err(file_fault(&self.root, what));
            }
            [file] => {
                let stored = file.shape(name).unwrap_or_default();
                if *stored != *shape {
                    let what = format!("tensor `{name}` has shape {stored:?}, but {config} asks for {shape:?}");
                    return Err(file_fault(file.path(), what));
                }
                let dequantised = self.float8.as_ref().and_then(|all| all.tensor(name, file, &self.files, options));
                (file.path(), dequantised.unwrap_or_else(|| file.tensor(name, options.0, options.1))?)
            }
            shards @ [file, ..] => (file.path(), merge::merged(shards, name, shape, blocks, options)?),
        };
        let path = path.to_path_buf();
        let tensor = match &mut self.adapter {
            Some(adapter) => adapter.merge(named, tensor)?,
            None => tensor,
        };
        if !finite::is_finite(&tensor).map_err(|error| device_fault(&error))? {
            let what = format!(
                "tensor `{name}` holds NaN or infinite numbers in {:?}; fetch the file again, or write `dtype = \
                 \"float32\"` if it was float16 that could not hold them",
                self.kind
            );
            return Err(file_fault(&path, what));
        }
        self.taken.insert(name.to_owned());
        Ok(tensor)
    }

    /// Skips a tensor that the model does not use, if it exists: a stored copy of something computed.
    pub(crate) fn skip(&mut self, name: &str) {
        self.taken.insert(self.stored_name(name).into_owned());
    }

    /// Skips all tensors whose stored names begin with `prefix`: a part of the checkpoint that the model does not have.
    pub(crate) fn skip_prefix(&mut self, prefix: &str) {
        self.taken.extend(self.places.keys().filter(|name| name.starts_with(prefix)).cloned());
    }

    /// Returns whether the files have a head `name` that differs from the `embeddings` to which the configuration ties it:
    /// transformers 5 and vLLM load it. A head that is a copy is skipped. The tensors of the files are compared, without an adapter.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if one of the two cannot be read.
    pub(crate) fn unties(&mut self, name: &str, embeddings: &str) -> Result<bool, EngineFault> {
        let (name, embeddings) = (self.stored_name(name).into_owned(), self.stored_name(embeddings));
        let is_other = match (self.holders(&name).as_slice(), self.holders(&embeddings).as_slice()) {
            ([head, ..], [file, ..]) => {
                let alike = head.shape(&name) == file.shape(&embeddings);
                !alike || !head.equals(&name, &file.tensor(&embeddings, self.kind, Device::Cpu)?)?
            }
            _ => false,
        };
        let unties = is_other && !self.ties_as_configured;
        if is_other {
            let (used, as_peers, others) = match unties {
                true => ("used", "transformers 5 and vLLM", "transformers 4.57 uses the embeddings"),
                false => ("not used", "transformers 4.57", "transformers 5 and vLLM use it"),
            };
            self.remarks.push(format!(
                "{name} differs from the embeddings although tie_word_embeddings is true, and is {used}, as by {as_peers}; {others}"
            ));
        }
        if !unties {
            self.taken.insert(name);
        }
        Ok(unties)
    }

    /// Notes that an adapter of the `embeddings` changes the head, too, which is tied to them.
    pub(crate) fn note_tied(&mut self, embeddings: &str) {
        if self.adapter.as_ref().is_some_and(|adapter| adapter.adds_to(embeddings)) {
            self.notes.push(format!(
                "the adapter changes {embeddings}, and so the head that is tied to it, as after peft's merge_and_unload; an adapter \
                 that is not merged leaves the head as it was"
            ));
        }
    }

    /// Returns the mapped files, to be kept as long as the tensors.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if a tensor was not loaded: the architecture is not that of the configuration. Stored
    /// rotary tables of old checkpoints are ignored.
    pub(crate) fn finish(mut self) -> Result<Vec<MappedFile>, EngineFault> {
        let left = |name: &&String| !self.taken.contains(*name) && !name.ends_with("rotary_emb.inv_freq");
        let extra: Vec<&String> = self.places.keys().filter(left).collect();
        let Some(first) = extra.first() else {
            if let Some(adapter) = self.adapter.take() {
                self.files.push(adapter.finish()?);
            }
            return Ok(self.files);
        };
        let file = self.holders(first).first().map_or(self.root.clone(), |file| file.path().to_path_buf());
        let more = if extra.len() > 1 { format!(" and {} more", extra.len() - 1) } else { String::new() };
        let config = self.config;
        let what = format!("tensor `{first}`{more} is not part of the model; {config} and weights do not match");
        Err(file_fault(&file, what))
    }
}

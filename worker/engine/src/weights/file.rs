//! One memory-mapped file of weights. `set` combines the files of a model; the formats have their own files.

use super::UnchangedFile;
use super::stored::{Directory, StoredKind, StoredTensor};
use super::{fused_experts, safetensors_file, torch_file};
use crate::fault::{device_fault, file_fault, missing_fault};
use compass_common::regular_file;
use compass_plan::engine::EngineFault;
use compass_plan::weights::{DigestExtent, FileMark, mark};
use memmap2::{Advice, Mmap, UncheckedAdvice};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tch::{Device, Kind, TchError, Tensor};

/// A mapped file and its directory of tensors. It must outlive every tensor made from it.
pub(crate) struct MappedFile {
    path: PathBuf,
    unchanged: UnchangedFile,
    map: Mmap,
    tensors: Directory,
}

impl MappedFile {
    /// Maps `path` and reads its directory of tensors: safetensors, or by its ending (`.bin`, `.pth`, `.pt`) a file of
    /// `torch.save`.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when the file is missing, cut short or of another format.
    pub(crate) fn open(path: &Path) -> Result<Self, EngineFault> {
        let file = open(path)?;
        let unchanged = UnchangedFile::new(path, file).map_err(|error| missing_fault(path, error))?;
        let map = map_file(path, unchanged.file())?;
        if map.starts_with(b"version https://git-lfs") {
            return Err(missing_fault(path, "this is a Git LFS pointer, not the weights; run `git lfs pull` there"));
        }
        let pickled = path.extension().is_some_and(|ending| ["bin", "pth", "pt"].iter().any(|&known| ending == known));
        let tensors = if pickled { torch_file::directory(&map) } else { safetensors_file::directory(&map) };
        let tensors = fused_experts::split(tensors.map_err(|what| file_fault(path, what))?);
        Ok(Self { path: path.to_path_buf(), unchanged, map, tensors })
    }

    /// Renames every tensor by `name`.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if two tensors get the same name.
    pub(crate) fn rename(&mut self, name: impl Fn(&str) -> String) -> Result<(), EngineFault> {
        for (old, tensor) in std::mem::take(&mut self.tensors) {
            let new = name(&old);
            if self.tensors.insert(new.clone(), tensor).is_some() {
                return Err(file_fault(&self.path, format!("two of its tensors are both `{new}`")));
            }
        }
        Ok(())
    }

    /// Digests the file from the map: from the bytes that are loaded, whatever file the path names by now.
    ///
    /// # Errors
    /// The file became shorter since it was mapped.
    pub(super) fn mark(&self, reading: DigestExtent) -> io::Result<FileMark> {
        mark(&self.map[..], reading)
    }

    /// The file as it was before it was mapped.
    pub(crate) fn unchanged(&self) -> &UnchangedFile {
        &self.unchanged
    }

    /// The file's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Names of the tensors, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns the stored shape of a tensor.
    pub(crate) fn shape(&self, name: &str) -> Option<&[i64]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// Returns a tensor in the given kind on the given device. On the CPU, in the stored kind, it is the mapped file
    /// itself.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if the tensor is missing or not stored as a float, [`EngineFault::Device`] if libtorch
    /// cannot convert or move it.
    pub(crate) fn tensor(&self, name: &str, kind: Kind, device: Device) -> Result<Tensor, EngineFault> {
        let mapped = self.mapped(name)?;
        let tensor = mapped.f_to_kind(kind).and_then(|tensor| tensor.f_to_device(device));
        let tensor = tensor.map_err(|error| device_fault(&error))?;
        if mapped.kind() != kind || device != Device::Cpu {
            drop(mapped);
            self.release(name);
        }
        Ok(tensor)
    }

    /// Copies a tensor over `target`, of the same shape, converting it on the way.
    ///
    /// # Errors
    /// As [`MappedFile::tensor`].
    pub(crate) fn copy(&self, name: &str, target: &mut Tensor, blocks: i64) -> Result<(), EngineFault> {
        let mapped = self.mapped(name)?;
        in_blocks(&mapped, blocks).and_then(|source| target.f_copy_(&source)).map_err(|error| device_fault(&error))?;
        drop(mapped);
        self.release(name);
        Ok(())
    }

    /// Returns whether a tensor equals `other`, which has its shape, after conversion to its kind. Compares some rows at a
    /// time: a copy of a whole embedding would be a large part of a model.
    ///
    /// # Errors
    /// As [`MappedFile::tensor`].
    pub(crate) fn equals(&self, name: &str, other: &Tensor) -> Result<bool, EngineFault> {
        let mapped = self.mapped(name)?;
        let same = |first: i64, count: i64| {
            let rows = mapped.f_narrow(0, first, count)?.f_to_kind(other.kind())?.f_to_device(other.device())?;
            rows.f_equal(&other.f_narrow(0, first, count)?)
        };
        for (first, count) in super::finite::slabs(&mapped.size()) {
            if !same(first, count).map_err(|error| device_fault(&error))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether a tensor is stored in eight bits, which mean nothing without their scales.
    pub(super) fn is_float8(&self, name: &str) -> bool {
        matches!(self.tensors.get(name).map(|tensor| &tensor.kind), Some(StoredKind::Float8(_)))
    }

    /// Size of the file in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Passes a tensor that is stored in eight bits to `dequantise`, unscaled.
    ///
    /// # Errors
    /// As [`MappedFile::tensor`]; the errors of `dequantise`.
    pub(super) fn float8(
        &self,
        name: &str,
        dequantise: impl FnOnce(&Tensor) -> Result<Tensor, EngineFault>,
    ) -> Result<Tensor, EngineFault> {
        let stored = self.view(name)?;
        let tensor = dequantise(&stored)?;
        drop(stored);
        self.release(name);
        Ok(tensor)
    }

    /// Returns a view of the file, in the stored kind.
    fn mapped(&self, name: &str) -> Result<Tensor, EngineFault> {
        if self.is_float8(name) {
            let what = format!(
                "tensor `{name}` is stored in eight bits, and config.json has no quantization_config that says how they are scaled"
            );
            return Err(file_fault(&self.path, what));
        }
        self.view(name)
    }

    fn view(&self, name: &str) -> Result<Tensor, EngineFault> {
        let missing = || file_fault(&self.path, format!("tensor `{name}` is missing"));
        let tensor = self.tensors.get(name).ok_or_else(missing)?;
        let bytes = self.map.get(tensor.bytes.clone()).ok_or_else(missing)?;
        let stored = match &tensor.kind {
            StoredKind::Float(stored) | StoredKind::Float8(stored) => *stored,
            StoredKind::Other(other) => {
                let what = format!("tensor `{name}` is stored as {other}; supported are F64, F32, F16, BF16 and fp8");
                return Err(file_fault(&self.path, what));
            }
        };
        self.fetch(tensor);
        view(bytes, tensor, stored).map_err(|error| device_fault(&error))
    }

    /// Makes the kernel read a tensor's pages at once and map them all, rather than a few at every first access.
    fn fetch(&self, tensor: &StoredTensor) {
        #[cfg(target_os = "linux")]
        for advice in [Advice::WillNeed, Advice::PopulateRead] {
            if let Err(error) = self.map.advise_range(advice, tensor.bytes.start, tensor.bytes.len()) {
                // Kernels before 5.14 do not support `PopulateRead`.
                tracing::debug!(%error, "the kernel reads weights page by page");
            }
        }
    }

    /// Tells the kernel that the file's pages of a copied tensor need not stay in memory.
    fn release(&self, name: &str) {
        let Some(range) = self.tensors.get(name).map(|tensor| tensor.bytes.clone()) else { return };
        // SAFETY: the map is a read-only view of a file: pages that are let go are read again from it when touched. The
        // range lies within the map, and the library widens it to whole pages.
        let advised = unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len()) };
        if let Err(error) = advised {
            tracing::debug!(%error, "the kernel keeps the pages of weights that were copied");
        }
    }
}

/// Maps a file.
///
/// # Errors
/// [`EngineFault::Missing`] if it does not exist or is not a file.
pub(super) fn map(path: &Path) -> Result<Mmap, EngineFault> {
    map_file(path, &open(path)?)
}

/// Opens a file to be mapped.
fn open(path: &Path) -> Result<File, EngineFault> {
    let fault = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => missing_fault(path, "no such weights file (safetensors or pytorch_model.bin)"),
        _ => missing_fault(path, error),
    };
    regular_file::open(path).map_err(fault)
}

fn map_file(path: &Path, file: &File) -> Result<Mmap, EngineFault> {
    // SAFETY: the map is read-only. A file that is written to while a job runs gives a bus error, which ends the engine, or
    // other numbers, which `UnchangedFile` detects: no result of them is returned.
    unsafe { Mmap::map(file) }.map_err(|error| missing_fault(path, error))
}

/// Creates a tensor over its bytes.
fn view(bytes: &[u8], tensor: &StoredTensor, stored: Kind) -> Result<Tensor, TchError> {
    let size = stored.elt_size_in_bytes();
    if !bytes.as_ptr().addr().is_multiple_of(size) {
        // Copied by libtorch: vector loads on a misaligned address would fault.
        let copy = Tensor::f_from_data_size(bytes, &[(bytes.len() / size) as i64], stored)?;
        return copy.f_as_strided(&tensor.shape, &tensor.strides, None);
    }
    // SAFETY: `bytes` holds every element that shape and strides reach (checked when the directory was read), is
    // aligned for the kind, and outlives the tensor, since the model keeps its maps until its tensors are gone.
    // Nothing writes to weights in place.
    unsafe { Tensor::f_from_blob(bytes.as_ptr(), &tensor.shape, &tensor.strides, stored, Device::Cpu) }
}

/// Reshapes `x`, `[blocks * rows, ...]`, to `[blocks, rows, ...]`; unchanged if `blocks` is 1.
pub(super) fn in_blocks(x: &Tensor, blocks: i64) -> Result<Tensor, TchError> {
    if blocks == 1 {
        return Ok(x.shallow_clone());
    }
    let mut size = x.size();
    if let Some(rows) = size.first_mut() {
        *rows /= blocks;
    }
    size.insert(0, blocks);
    x.f_view(size.as_slice())
}

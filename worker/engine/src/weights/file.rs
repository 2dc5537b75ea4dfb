//! One memory-mapped file of weights. What belongs to which model is `set`'s business, the formats are their own files'.

use super::stored::{Directory, StoredKind};
use super::{safetensors_file, torch_file};
use crate::fault::{device_fault, file_fault};
use compass_common::engine::EngineFault;
use memmap2::Mmap;
use std::fs::File;
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor};

/// A mapped file and its directory of tensors. It must outlive every tensor made from it.
pub(crate) struct MappedFile {
    path: PathBuf,
    map: Mmap,
    tensors: Directory,
}

impl MappedFile {
    /// Maps `path` and reads where its tensors stand: safetensors, or by its ending (`.bin`, `.pth`, `.pt`) what
    /// `torch.save` wrote.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when the file is missing, cut short or of another format.
    pub(crate) fn open(path: &Path) -> Result<Self, EngineFault> {
        let fault = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => file_fault(path, "no such weights file (safetensors or pytorch_model.bin)"),
            _ => file_fault(path, error),
        };
        let file = File::open(path).map_err(fault)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(file_fault(path, "this is a directory, not a weights file"));
        }
        // SAFETY: the map is read-only. Model directories are not written to while a job runs; who does so anyway gets
        // wrong numbers or a bus error, as with every program that maps its weights.
        let map = unsafe { Mmap::map(&file) }.map_err(fault)?;
        if map.starts_with(b"version https://git-lfs") {
            return Err(file_fault(path, "this is a Git LFS pointer, not the weights; run `git lfs pull` there"));
        }
        let pickled = path.extension().is_some_and(|ending| ["bin", "pth", "pt"].iter().any(|&known| ending == known));
        let tensors = if pickled { torch_file::directory(&map) } else { safetensors_file::directory(&map) };
        let tensors = tensors.map_err(|what| file_fault(path, what))?;
        Ok(Self { path: path.to_path_buf(), map, tensors })
    }

    /// The file's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Names of its tensors, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The stored shape of a tensor.
    pub(crate) fn shape(&self, name: &str) -> Option<&[i64]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// A tensor in the given kind on the given device. On the CPU, in the stored kind, it is the mapped file itself.
    ///
    /// # Errors
    /// [`EngineFault::Model`] for a tensor that is not there or is stored in a kind that is no float,
    /// [`EngineFault::Device`] when libtorch cannot convert or move it.
    pub(crate) fn tensor(&self, name: &str, kind: Kind, device: Device) -> Result<Tensor, EngineFault> {
        let missing = || file_fault(&self.path, format!("tensor `{name}` is missing"));
        let tensor = self.tensors.get(name).ok_or_else(missing)?;
        let bytes = self.map.get(tensor.bytes.clone()).ok_or_else(missing)?;
        let stored = match &tensor.kind {
            StoredKind::Float(stored) => *stored,
            StoredKind::Other(other) => {
                let what = format!("tensor `{name}` is stored as {other}; supported are F64, F32, F16 and BF16");
                return Err(file_fault(&self.path, what));
            }
        };
        let convert = |tensor: Tensor| tensor.f_to_kind(kind)?.f_to_device(device);
        let size = stored.elt_size_in_bytes();
        if !bytes.as_ptr().addr().is_multiple_of(size) {
            // Copied by libtorch: vector loads on a misaligned address would fault.
            let copy = Tensor::f_from_data_size(bytes, &[(bytes.len() / size) as i64], stored);
            let copy = copy.and_then(|copy| copy.f_as_strided(&tensor.shape, &tensor.strides, None));
            return copy.and_then(convert).map_err(|error| device_fault(&error));
        }
        // SAFETY: `bytes` holds every element that shape and strides reach (checked when the directory was read), is
        // aligned for the kind, and outlives the tensor, since the model keeps its maps until its tensors are gone.
        // Nothing writes to weights in place.
        let mapped =
            unsafe { Tensor::f_from_blob(bytes.as_ptr(), &tensor.shape, &tensor.strides, stored, Device::Cpu) };
        mapped.and_then(convert).map_err(|error| device_fault(&error))
    }
}

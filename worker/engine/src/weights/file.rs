//! One memory-mapped safetensors file. What belongs to which model is `set`'s business.

use crate::fault::file_fault;
use compass_common::engine::EngineFault;
use memmap2::Mmap;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorInfo};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor};

/// A mapped file and its directory of tensors. It must outlive every tensor made from it.
pub(crate) struct MappedFile {
    path: PathBuf,
    map: Mmap,
    /// Where the tensors' bytes begin: after the length and the header.
    data_start: usize,
    tensors: BTreeMap<String, TensorInfo>,
}

impl MappedFile {
    /// Maps `path` and reads its header.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when the file is missing, cut short or no safetensors file.
    pub(crate) fn open(path: &Path) -> Result<Self, EngineFault> {
        let fault = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => file_fault(path, "no such weights file; only safetensors can be loaded"),
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
        let (header, metadata) = SafeTensors::read_metadata(&map).map_err(|error| {
            let size = map.len();
            file_fault(
                path,
                format!("damaged or incomplete safetensors file of {size} bytes ({error}); fetch it again"),
            )
        })?;
        let tensors = metadata.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
        Ok(Self { path: path.to_path_buf(), map, data_start: header + size_of::<u64>(), tensors })
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
    pub(crate) fn shape(&self, name: &str) -> Option<Vec<i64>> {
        self.tensors.get(name).map(|info| info.shape.iter().map(|&size| size as i64).collect())
    }

    /// The stored bytes of a tensor.
    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        let (start, end) = self.tensors.get(name)?.data_offsets;
        self.map.get(self.data_start + start..self.data_start + end)
    }

    /// A tensor in the given kind on the given device. On the CPU, in the stored kind, it is the mapped file itself.
    ///
    /// # Errors
    /// [`EngineFault::Model`] for a tensor that is not there or is stored in a kind that is no float,
    /// [`EngineFault::Device`] when libtorch cannot convert or move it.
    pub(crate) fn tensor(&self, name: &str, kind: Kind, device: Device) -> Result<Tensor, EngineFault> {
        let missing = || file_fault(&self.path, format!("tensor `{name}` is missing"));
        let (info, bytes) = self.tensors.get(name).zip(self.bytes(name)).ok_or_else(missing)?;
        let stored = match info.dtype {
            Dtype::F32 => Kind::Float,
            Dtype::F16 => Kind::Half,
            Dtype::BF16 => Kind::BFloat16,
            Dtype::F64 => Kind::Double,
            other => {
                let what = format!("tensor `{name}` is stored as {other:?}; supported are F64, F32, F16 and BF16");
                return Err(file_fault(&self.path, what));
            }
        };
        let shape = self.shape(name).unwrap_or_default();
        let device_fault = |error: tch::TchError| crate::fault::device_fault(&error);
        let aligned = bytes.as_ptr().addr().is_multiple_of(stored.elt_size_in_bytes());
        if !aligned {
            // Copied by libtorch: vector loads on a misaligned address would fault.
            let copy = Tensor::f_from_data_size(bytes, &shape, stored).map_err(device_fault)?;
            return copy.f_to_kind(kind).and_then(|copy| copy.f_to_device(device)).map_err(device_fault);
        }
        // SAFETY: `bytes` holds exactly shape x kind (checked by safetensors), is aligned for it, and outlives the tensor,
        // since the model keeps its maps until its tensors are gone. Nothing writes to weights in place.
        let mapped = unsafe { Tensor::f_from_blob(bytes.as_ptr(), &shape, &[], stored, Device::Cpu) };
        mapped.and_then(|tensor| tensor.f_to_kind(kind)?.f_to_device(device)).map_err(device_fault)
    }
}

//! The digest of one file, by its kind: of the whole content, or of samples of it.

use super::manifest::FileMark;
use super::sampled::{ends, header, tensor_middles};
use compass_types::ids::Digest;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// Extent to which a file is digested beside its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestExtent {
    /// All of it: configurations and tokenizers.
    Whole,
    /// The header of a safetensors file and 4 KiB from the middle of every tensor.
    Tensors,
    /// 4 KiB from its beginning, middle and end: weights of other formats.
    Ends,
}

/// The bytes of a file: on a disk, or mapped.
pub trait Content {
    /// Returns the number of bytes.
    ///
    /// # Errors
    /// Errors of the disk.
    fn size(&self) -> io::Result<u64>;

    /// Returns the bytes of a range that lies within the file.
    ///
    /// # Errors
    /// Errors of the disk, or the file has become shorter.
    fn bytes(&self, range: Range<u64>) -> io::Result<Vec<u8>>;
}

impl Content for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn bytes(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }
}

impl Content for [u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn bytes(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let bytes = self.get(range.start as usize..range.end as usize);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Marks a file by its content. Reads some kilobytes for each tensor, whatever the file's size.
///
/// # Errors
/// Those of [`Content`].
pub fn mark<C: Content + ?Sized>(content: &C, reading: DigestExtent) -> io::Result<FileMark> {
    let bytes = content.size()?;
    let mut hasher = blake3::Hasher::new();
    let samples = match reading {
        DigestExtent::Whole => std::iter::once(0..bytes).collect(),
        DigestExtent::Ends => ends(bytes),
        DigestExtent::Tensors => match tensors(content, bytes)? {
            Some(tensors) => {
                hasher.update(&tensors.header);
                tensors.middles
            }
            // Damaged, or something else under this name: loading it says so.
            None => ends(bytes),
        },
    };
    for sample in samples {
        hasher.update(&content.bytes(sample)?);
    }
    Ok(FileMark { bytes, digest: Digest(*hasher.finalize().as_bytes()) })
}

/// Parts of a safetensors file that are read.
struct Tensors {
    header: Vec<u8>,
    /// The places of the samples, one of each tensor.
    middles: Vec<Range<u64>>,
}

/// Finds the header of a safetensors file and the places of its samples; `None` where it has no header.
fn tensors<C: Content + ?Sized>(content: &C, length: u64) -> io::Result<Option<Tensors>> {
    if length < 8 {
        return Ok(None);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&content.bytes(0..8)?);
    let Some(range) = header(first, length) else { return Ok(None) };
    let header = content.bytes(range)?;
    Ok(tensor_middles(&header, length).map(|middles| Tensors { header, middles }))
}

//! Writes state dicts as `torch.save` does: an uncompressed zip archive of a pickle and one member per storage.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

/// A tensor to write: row by row, with little-endian numbers.
pub(crate) struct Stored<'a> {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    /// torch's class for the storage, for example `HalfStorage`.
    pub(crate) class: &'static str,
    pub(crate) bytes: &'a [u8],
}

/// Writes `path`.
pub(crate) fn torch_save(path: &Path, tensors: &[Stored<'_>]) {
    let mut file = File::create(path).unwrap();
    let mut directory = Vec::new();
    let pickled = pickle(tensors);
    let mut members = vec![("archive/data.pkl".to_owned(), pickled.as_slice())];
    members.extend(tensors.iter().enumerate().map(|(key, tensor)| (format!("archive/data/{key}"), tensor.bytes)));
    let count = members.len() as u16;
    for (name, bytes) in members {
        let at = file.stream_position().unwrap();
        // Storages start at multiples of 64, by means of an extra field.
        let before = at as usize + 30 + name.len() + 4;
        let padding = before.next_multiple_of(64) - before;
        let size = (bytes.len() as u32).to_le_bytes();
        let fixed = [[20u8, 0, 0, 0, 0, 0, 0, 0, 0, 0].as_slice(), &[0; 4], &size, &size].concat();
        let lengths = |extra: usize| [(name.len() as u16).to_le_bytes(), (extra as u16).to_le_bytes()].concat();
        let padding = [b"FB".as_slice(), &(padding as u16).to_le_bytes(), &vec![b'Z'; padding]].concat();
        file.write_all(&[b"PK\x03\x04", fixed.as_slice(), &lengths(padding.len()), name.as_bytes(), &padding].concat())
            .unwrap();
        file.write_all(bytes).unwrap();
        let entry = [b"PK\x01\x02\x14\0", fixed.as_slice(), &lengths(0), &[0; 10], &(at as u32).to_le_bytes()].concat();
        directory.extend(entry);
        directory.extend(name.as_bytes());
    }
    let at = file.stream_position().unwrap() as u32;
    let (count, size) = (count.to_le_bytes(), (directory.len() as u32).to_le_bytes());
    directory.extend([b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &size, &at.to_le_bytes(), &[0; 2]].concat());
    file.write_all(&directory).unwrap();
}

fn pickle(tensors: &[Stored<'_>]) -> Vec<u8> {
    let text = |text: &str| [b"X".as_slice(), &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let integer = |number: usize| [b"J".as_slice(), &(number as i32).to_le_bytes()].concat();
    let tuple = |numbers: &[usize]| {
        let numbers = numbers.iter().flat_map(|&number| integer(number)).collect::<Vec<u8>>();
        [b"(".as_slice(), &numbers, b"t"].concat()
    };
    let mut out = b"\x80\x02}(".to_vec();
    for (key, tensor) in tensors.iter().enumerate() {
        let strides: Vec<usize> = (1..=tensor.shape.len()).map(|from| tensor.shape[from..].iter().product()).collect();
        out.extend(text(&tensor.name));
        out.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
        out.extend(text("storage"));
        out.extend(format!("ctorch\n{}\n", tensor.class).into_bytes());
        out.extend([text(&key.to_string()), text("cpu"), integer(tensor.shape.iter().product())].concat());
        out.extend([b"tQK\0".as_slice(), &tuple(&tensor.shape), &tuple(&strides)].concat());
        out.extend(b"\x89ccollections\nOrderedDict\n)RtR");
    }
    out.extend(b"u.");
    out
}

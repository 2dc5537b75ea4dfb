//! The directory of a state dict written by `torch.save`: a zip archive with a pickle and one member per storage, or,
//! before torch 1.6, consecutive pickles followed by the storages.

use super::pickle;
use super::pickled::{PickledTensor, Value};
use super::stored::{Directory, StoredKind, StoredTensor};
use super::zip;
use std::collections::BTreeMap;
use std::ops::Range;
use tch::Kind;

/// Ranges of storages in the file, by key.
type Storages = BTreeMap<String, Range<usize>>;

/// The first bytes of the old format: a pickled magic number.
const OLD: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// Reads the locations of a state dict's tensors.
///
/// # Errors
/// A message that says what is wrong.
pub(super) fn directory(file: &[u8]) -> Result<Directory, String> {
    let (state, storages) = read(file)?;
    let Value::Pairs(pairs) = state else { return Err("it has no state dict".into()) };
    let tensors = pairs.into_iter().map(|(name, value)| match (name, value) {
        (Value::Text(name), Value::Tensor(tensor)) => {
            let stored = place(&tensor, &storages).map_err(|what| format!("tensor `{name}`: {what}"))?;
            Ok((name, stored))
        }
        (Value::Text(name), _) => Err(format!("its entry `{name}` is not a tensor: it has more than a state dict")),
        _ => Err("it has an entry without a name: it is not a state dict".into()),
    });
    tensors.collect()
}

/// Reads the object that `torch.save` wrote.
///
/// # Errors
/// A message that says what is wrong.
pub(super) fn object(file: &[u8]) -> Result<Value, String> {
    read(file).map(|(object, _)| object)
}

fn read(file: &[u8]) -> Result<(Value, Storages), String> {
    let read = if file.starts_with(OLD) { old_format(file) } else { archive(file) };
    read.map_err(|what| {
        let size = file.len();
        format!("not a readable torch.save file of {size} bytes: {what}; fetch it again, or convert it to safetensors")
    })
}

fn archive(file: &[u8]) -> Result<(Value, Storages), String> {
    let members = zip::members(file)?;
    let pickled = members.iter().find(|(name, _)| name.ends_with("/data.pkl"));
    let (name, range) = pickled.ok_or("it has no member data.pkl")?;
    let folder = name.trim_end_matches("data.pkl");
    if members.get(&format!("{folder}byteorder")).and_then(|range| file.get(range.clone())) == Some(b"big") {
        return Err("it was written on a big-endian machine".into());
    }
    let state = pickle::read(file.get(range.clone()).unwrap_or_default());
    let (state, _) = state.map_err(|error| error.to_string())?;
    let data = format!("{folder}data/");
    let storages =
        members.iter().filter_map(|(name, range)| Some((name.strip_prefix(&data)?.to_owned(), range.clone())));
    Ok((state, storages.collect()))
}

/// Reads the old format: magic number, version, facts of the machine, state dict, keys of the storages; then each
/// storage in that order: its number of elements in 8 bytes, and the elements.
fn old_format(file: &[u8]) -> Result<(Value, Storages), String> {
    let mut at = 0;
    let mut next = || {
        let (value, length) = pickle::read(&file[at..]).map_err(|error| error.to_string())?;
        at += length;
        Ok::<_, String>(value)
    };
    for _ in 0..3 {
        next()?;
    }
    let (state, keys) = (next()?, next()?);
    let classes = classes(&state);
    let Value::Sequence(keys) = keys else { return Err("it has no list of storages".into()) };
    let mut storages = Storages::new();
    for key in keys {
        let Value::Text(key) = key else { return Err("a storage has no key".into()) };
        let count = file.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        let class = classes.get(&key).ok_or_else(|| format!("no tensor uses storage {key}"))?;
        let size = element(class).1.ok_or_else(|| format!("storage {key} is a {class}, whose size is not known"))?;
        let bytes = count.and_then(|count| usize::try_from(count).ok()).and_then(|count| count.checked_mul(size));
        let end = bytes.and_then(|bytes| (at + 8).checked_add(bytes)).filter(|&end| end <= file.len());
        let end = end.ok_or_else(|| format!("storage {key} is cut short"))?;
        storages.insert(key, at + 8..end);
        at = end;
    }
    Ok((state, storages))
}

/// Returns the class of each storage that a state dict refers to.
fn classes(state: &Value) -> BTreeMap<String, String> {
    let Value::Pairs(pairs) = state else { return BTreeMap::new() };
    let class = |(_, value): &(Value, Value)| match value {
        Value::Tensor(PickledTensor { storage, .. }) => Some((storage.key.clone(), storage.class.clone())),
        _ => None,
    };
    pairs.iter().filter_map(class).collect()
}

/// Returns the kind of a storage's numbers, and the bytes per number if known.
fn element(class: &str) -> (StoredKind, Option<usize>) {
    let float = |kind: Kind| (StoredKind::Float(kind), Some(kind.elt_size_in_bytes()));
    let other = |size| (StoredKind::Other(class.to_owned()), size);
    match class {
        "FloatStorage" => float(Kind::Float),
        "HalfStorage" => float(Kind::Half),
        "BFloat16Storage" => float(Kind::BFloat16),
        "DoubleStorage" => float(Kind::Double),
        "LongStorage" => other(Some(8)),
        "IntStorage" => other(Some(4)),
        "ShortStorage" => other(Some(2)),
        "CharStorage" | "ByteStorage" | "BoolStorage" => other(Some(1)),
        _ => other(None),
    }
}

/// Returns the location of a tensor, and checks that its storage holds all of it.
fn place(tensor: &PickledTensor, storages: &Storages) -> Result<StoredTensor, String> {
    let PickledTensor { storage, offset, shape, strides } = tensor;
    let range = storages.get(&storage.key).ok_or_else(|| format!("its storage {} is missing", storage.key))?;
    let (kind, size) = element(&storage.class);
    let Some(size) = size else {
        return Ok(StoredTensor { kind, shape: shape.clone(), strides: strides.clone(), bytes: 0..0 });
    };
    let absurd = || format!("shape {shape:?} and strides {strides:?} do not fit its storage");
    if shape.len() != strides.len() || shape.iter().chain(strides).chain([offset]).any(|&number| number < 0) {
        return Err(absurd());
    }
    // One beyond the last element, from the first.
    let reach = if shape.contains(&0) {
        Some(0)
    } else {
        shape
            .iter()
            .zip(strides)
            .try_fold(1i64, |reach, (&size, &stride)| reach.checked_add((size - 1).checked_mul(stride)?))
    };
    let end = reach.and_then(|reach| offset.checked_add(reach)).and_then(|end| end.checked_mul(size as i64));
    let end = end.filter(|&end| end as usize <= range.len()).ok_or_else(|| {
        format!(
            "{}; its storage {} holds {} bytes: the file is cut short or damaged",
            absurd(),
            storage.key,
            range.len()
        )
    })?;
    let bytes = range.start + *offset as usize * size..range.start + end as usize;
    Ok(StoredTensor { kind, shape: shape.clone(), strides: strides.clone(), bytes })
}

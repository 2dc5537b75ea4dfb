//! Members of an uncompressed zip archive, with 64-bit sizes: the container of `torch.save`.
//!
//! Limited to that use; nothing is unpacked. Offsets and layouts follow PKWARE's APPNOTE.

use std::collections::BTreeMap;
use std::ops::Range;

/// Returns members by name, as ranges of the archive.
///
/// # Errors
/// A message that says what is wrong: not an archive, truncated, or compressed.
pub(super) fn members(archive: &[u8]) -> Result<BTreeMap<String, Range<usize>>, String> {
    let end = end_of_directory(archive).ok_or("its directory, which is at the end, is missing: it is cut short")?;
    let (mut count, mut at) = (u64::from(u16_at(archive, end + 10)?), u64::from(u32_at(archive, end + 16)?));
    // A 64-bit record precedes it, found through a locator of 20 bytes.
    if let Some(locator) = end.checked_sub(20).filter(|&at| archive[at..].starts_with(b"PK\x06\x07")) {
        let record = offset(u64_at(archive, locator + 8)?)?;
        (count, at) = (u64_at(archive, record + 32)?, u64_at(archive, record + 48)?);
    }
    let mut at = offset(at)?;
    let mut members = BTreeMap::new();
    for _ in 0..count {
        let (next, name, range) = member(archive, at)?;
        members.insert(name, range);
        at = next;
    }
    Ok(members)
}

/// Reads the entry at `at` of the directory: position of the next one, name, and range.
fn member(archive: &[u8], at: usize) -> Result<(usize, String, Range<usize>), String> {
    if slice(archive, at, 4)? != b"PK\x01\x02" {
        return Err("its directory is damaged".into());
    }
    let [name_length, extra_length, comment] = [28, 30, 32].map(|field| u16_at(archive, at + field).map(usize::from));
    let (name_length, extra_length, comment) = (name_length?, extra_length?, comment?);
    let name = String::from_utf8_lossy(slice(archive, at + 46, name_length)?).into_owned();
    if u16_at(archive, at + 10)? != 0 {
        return Err(format!("its member `{name}` is compressed, which torch.save never does"));
    }
    let mut size = u64::from(u32_at(archive, at + 24)?);
    let mut header = u64::from(u32_at(archive, at + 42)?);
    let packed = u32_at(archive, at + 20)?;
    let extra = slice(archive, at + 46 + name_length, extra_length)?;
    // Values that do not fit in 32 bits are in an extra field, in this order.
    let mut wide = wide_fields(extra)?.into_iter();
    let mut widen = |narrow: u64| if narrow == u64::from(u32::MAX) { wide.next() } else { Some(narrow) };
    let missing = || format!("the size of its member `{name}` is missing");
    size = widen(size).ok_or_else(missing)?;
    widen(u64::from(packed)).ok_or_else(missing)?;
    header = widen(header).ok_or_else(missing)?;
    let header = offset(header)?;
    if slice(archive, header, 4)? != b"PK\x03\x04" {
        return Err(format!("its member `{name}` is damaged"));
    }
    let before = usize::from(u16_at(archive, header + 26)?) + usize::from(u16_at(archive, header + 28)?);
    let start = header + 30 + before;
    let size = offset(size)?;
    slice(archive, start, size).map_err(|_| format!("its member `{name}` is cut short"))?;
    Ok((at + 46 + name_length + extra_length + comment, name, start..start + size))
}

/// Reads the numbers of the extra field of kind 1.
fn wide_fields(mut extra: &[u8]) -> Result<Vec<u64>, String> {
    while extra.len() >= 4 {
        let length = usize::from(u16_at(extra, 2)?);
        let field = slice(extra, 4, length)?;
        if u16_at(extra, 0)? == 1 {
            return (0..length / 8).map(|number| u64_at(field, number * 8)).collect();
        }
        extra = &extra[4 + length..];
    }
    Ok(Vec::new())
}

/// Finds the record that ends an archive; only a comment may follow it.
fn end_of_directory(archive: &[u8]) -> Option<usize> {
    let last = archive.len().checked_sub(22)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    (first..=last).rev().find(|&at| archive[at..].starts_with(b"PK\x05\x06"))
}

fn slice(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], String> {
    let end = at.checked_add(length).ok_or("an offset in it is absurd")?;
    bytes.get(at..end).ok_or_else(|| "it is cut short".to_owned())
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], String> {
    slice(bytes, at, N)?.try_into().map_err(|_| "it is cut short".to_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, String> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, String> {
    array(bytes, at).map(u64::from_le_bytes)
}

fn offset(value: u64) -> Result<usize, String> {
    // The largest offset in a file; offsets beyond the end are detected when read.
    usize::try_from(value).ok().filter(|&value| value <= isize::MAX as usize).ok_or("an offset in it is absurd".into())
}

//! Texts as bytes and back: the encodings that are known, with CPython's errors.

use crate::error::{Result, Stop};

/// An encoding that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Ascii,
    Latin1,
}

fn encoding(name: &str) -> Result<Encoding> {
    match name.to_ascii_lowercase().replace(['_', ' '], "-").as_str() {
        "utf-8" | "utf8" | "u8" => Ok(Encoding::Utf8),
        "ascii" | "us-ascii" => Ok(Encoding::Ascii),
        "latin-1" | "latin1" | "iso-8859-1" | "l1" => Ok(Encoding::Latin1),
        known
            if ["utf-16", "utf-32", "gbk", "gb2312", "gb18030", "big5", "cp1252", "utf-8-sig", "utf-7"]
                .iter()
                .any(|other| known.starts_with(other)) =>
        {
            Err(Stop::unsupported(format!("the encoding {name} is not evaluated here")))
        }
        _ => Err(Stop::new("LookupError", format!("unknown encoding: {name}"))),
    }
}

/// `text.encode(encoding, errors)`.
///
/// # Errors
/// `UnicodeEncodeError` for a character that the encoding does not have; `LookupError` for an encoding that is not known.
pub(super) fn encode(text: &str, name: &str, errors: &str) -> Result<Vec<u8>> {
    let (shown, most) = match encoding(name)? {
        Encoding::Utf8 => return Ok(text.as_bytes().to_vec()),
        Encoding::Ascii => ("ascii", 0x80),
        Encoding::Latin1 => ("latin-1", 0x100),
    };
    let mut bytes = Vec::with_capacity(text.len());
    for (at, c) in text.chars().enumerate() {
        match (u8::try_from(u32::from(c)), errors) {
            (Ok(byte), _) if u32::from(c) < most => bytes.push(byte),
            (_, "ignore") => {}
            (_, "replace") => bytes.push(b'?'),
            (_, "strict") => return Err(not_encoded(shown, text, at, most)),
            _ => return Err(Stop::unsupported(format!("`errors='{errors}'` is not evaluated here"))),
        }
    }
    Ok(bytes)
}

fn not_encoded(shown: &str, text: &str, at: usize, most: u32) -> Stop {
    let run = text.chars().skip(at).take_while(|c| u32::from(*c) >= most).count();
    let what = match (run, text.chars().nth(at).map_or(0, u32::from)) {
        (1, code @ ..0x100) => format!("character '\\x{code:02x}' in position {at}"),
        (1, code @ ..0x1_0000) => format!("character '\\u{code:04x}' in position {at}"),
        (1, code) => format!("character '\\U{code:08x}' in position {at}"),
        _ => format!("characters in position {at}-{}", at + run - 1),
    };
    Stop::new("UnicodeEncodeError", format!("'{shown}' codec can't encode {what}: ordinal not in range({most})"))
}

/// `bytes.decode(encoding, errors)`.
///
/// # Errors
/// `UnicodeDecodeError` for bytes that are no text of the encoding; `LookupError` for an encoding that is not known.
pub(super) fn decode(bytes: &[u8], name: &str, errors: &str) -> Result<String> {
    match encoding(name)? {
        Encoding::Latin1 => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
        Encoding::Ascii => {
            let mut text = String::with_capacity(bytes.len());
            for (at, byte) in bytes.iter().enumerate() {
                match errors {
                    _ if byte.is_ascii() => text.push(char::from(*byte)),
                    "ignore" => {}
                    "replace" => text.push('\u{fffd}'),
                    "strict" => {
                        let why = "ordinal not in range(128)";
                        return Err(not_decoded("ascii", *byte, at, 1, why));
                    }
                    _ => return Err(Stop::unsupported(format!("`errors='{errors}'` is not evaluated here"))),
                }
            }
            Ok(text)
        }
        Encoding::Utf8 => match (std::str::from_utf8(bytes), errors) {
            (Ok(text), _) => Ok(text.to_owned()),
            (Err(_), "ignore") => Ok(bytes.utf8_chunks().map(|chunk| chunk.valid()).collect()),
            (Err(_), "replace") => Ok(String::from_utf8_lossy(bytes).into_owned()),
            (Err(error), "strict") => {
                let at = error.valid_up_to();
                let first = bytes.get(at).copied().unwrap_or(0);
                let is_start = matches!(first, 0xc2..=0xf4);
                let (length, why) = match error.error_len() {
                    None => (bytes.len() - at, "unexpected end of data"),
                    Some(length) if is_start => (length, "invalid continuation byte"),
                    Some(_) => (1, "invalid start byte"),
                };
                Err(not_decoded("utf-8", first, at, length, why))
            }
            _ => Err(Stop::unsupported(format!("`errors='{errors}'` is not evaluated here"))),
        },
    }
}

fn not_decoded(shown: &str, byte: u8, at: usize, length: usize, why: &str) -> Stop {
    let what = match length {
        1 => format!("byte 0x{byte:02x} in position {at}"),
        _ => format!("bytes in position {at}-{}", at + length - 1),
    };
    Stop::new("UnicodeDecodeError", format!("'{shown}' codec can't decode {what}: {why}"))
}

//! `SentencePieceProcessor::Decode`: ids back to text.

use super::model::SentencePiece;
use super::normalize::SPACE;
use super::vocabulary::PieceKind;

impl SentencePiece {
    /// Returns the text of ids as the library does: control pieces are invisible, the unknown piece is `unk_surface`
    /// (by default ` ⁇ `), bytes that are not UTF-8 become U+FFFD one by one, and the dummy prefix is removed.
    ///
    /// # Errors
    /// The id that is not a piece.
    pub fn decode(&self, ids: &[u32]) -> Result<String, String> {
        let (mut text, mut bytes) = (String::new(), Vec::new());
        let (mut at_beginning, mut space_seen) = (true, false);
        for &id in ids {
            let piece = self.vocabulary.get(id).ok_or_else(|| format!("id {id} is not a piece"))?;
            if piece.kind == PieceKind::Byte {
                bytes.extend(byte_of(&piece.text));
                continue;
            }
            flush(&mut bytes, &mut text);
            if space_seen || !text.is_empty() {
                at_beginning = false;
            }
            space_seen = false;
            match piece.kind {
                PieceKind::Control => {}
                PieceKind::Unknown => text.push_str(&self.unk_surface),
                _ => {
                    let mut shown = piece.text.as_str();
                    let normalizer = &self.normalizer;
                    let strips = normalizer.add_dummy_prefix || normalizer.remove_extra_whitespaces;
                    if at_beginning
                        && strips
                        && let Some(rest) = shown.strip_prefix(SPACE)
                    {
                        shown = rest;
                        // If extra whitespace is removed, every leading space is removed, not only the first.
                        space_seen = !normalizer.remove_extra_whitespaces;
                    }
                    text.push_str(&shown.replace(SPACE, " "));
                }
            }
        }
        flush(&mut bytes, &mut text);
        Ok(match &self.denormalizer {
            Some(denormalizer) => denormalizer.normalize(&text),
            None => text,
        })
    }
}

/// The byte of a piece `<0xNN>`.
fn byte_of(piece: &str) -> Option<u8> {
    u8::from_str_radix(piece.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok()
}

/// Appends collected bytes; each one that is not part of a character becomes U+FFFD.
fn flush(bytes: &mut Vec<u8>, text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    bytes.clear();
}

//! The pieces of a model: texts, scores and kinds by id.

use super::proto::PieceProto;
use super::trie::PieceTrie;
use std::collections::HashMap;

/// Kind of a piece; names and numbers are taken from sentencepiece_model.proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

/// One piece.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

/// All pieces, with the lookups of `ModelInterface`.
#[derive(Debug)]
pub(super) struct Vocabulary {
    pieces: Vec<Piece>,
    /// Normal, user-defined and unused pieces, into which a text can be split.
    matched: HashMap<String, u32>,
    /// Unknown, control and byte pieces: never matched in a text.
    reserved: HashMap<String, u32>,
    unknown: u32,
    /// Ids of the pieces `<0x00>` to `<0xFF>` if the model falls back to bytes.
    bytes: Option<Vec<u32>>,
}

impl Vocabulary {
    /// Checks the same as `ModelInterface::InitializePieces`.
    ///
    /// # Errors
    /// A message with the invalid piece.
    pub(super) fn new(protos: Vec<PieceProto>, byte_fallback: bool) -> Result<Self, String> {
        let (mut matched, mut reserved, mut unknown) = (HashMap::new(), HashMap::new(), None);
        let mut pieces = Vec::with_capacity(protos.len());
        for (id, proto) in (0u32..).zip(protos) {
            let kind = kind(proto.kind())?;
            let piece = Piece { score: proto.score(), text: proto.piece.unwrap_or_default(), kind };
            if piece.text.is_empty() {
                return Err(format!("piece {id} is empty"));
            }
            let map = match kind {
                PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused => &mut matched,
                PieceKind::Unknown | PieceKind::Control | PieceKind::Byte => &mut reserved,
            };
            if map.insert(piece.text.clone(), id).is_some() {
                return Err(format!("piece `{}` is a duplicate", piece.text));
            }
            if kind == PieceKind::Byte && !byte_fallback {
                return Err(format!("piece `{}` is a byte, but byte_fallback is not set", piece.text));
            }
            if kind == PieceKind::Unknown && unknown.replace(id).is_some() {
                return Err("there are two unknown pieces".into());
            }
            pieces.push(piece);
        }
        let byte = |byte: u8| {
            let text = format!("<0x{byte:02X}>");
            reserved.get(&text).copied().ok_or_else(|| format!("byte_fallback is set, but piece {text} is missing"))
        };
        let bytes = byte_fallback.then(|| (0..=255).map(byte).collect::<Result<_, _>>()).transpose()?;
        Ok(Self { pieces, matched, unknown: unknown.ok_or("the unknown piece is missing")?, reserved, bytes })
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn get(&self, id: u32) -> Option<&Piece> {
        self.pieces.get(id as usize)
    }

    pub(super) fn kind(&self, id: u32) -> Option<PieceKind> {
        self.get(id).map(|piece| piece.kind)
    }

    pub(super) fn score(&self, id: u32) -> f32 {
        self.get(id).map_or(0.0, |piece| piece.score)
    }

    pub(super) fn unknown(&self) -> u32 {
        self.unknown
    }

    pub(super) fn bytes(&self) -> Option<&[u32]> {
        self.bytes.as_deref()
    }

    /// Returns the id of a piece that a text can be split into.
    pub(super) fn matched(&self, text: &str) -> Option<u32> {
        self.matched.get(text).copied()
    }

    /// `PieceToId` without its fallback to the unknown piece.
    pub(super) fn id_of(&self, text: &str) -> Option<u32> {
        self.reserved.get(text).or_else(|| self.matched.get(text)).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Piece)> {
        (0..).zip(&self.pieces)
    }

    /// Returns the user-defined symbols, if there are any.
    pub(super) fn user_defined(&self) -> Option<PieceTrie> {
        let symbols = || self.iter().filter(|(_, piece)| piece.kind == PieceKind::UserDefined);
        symbols().next()?;
        Some(PieceTrie::new(symbols().map(|(id, piece)| (piece.text.as_str(), id))))
    }

    /// Returns all pieces that a text can be split into.
    pub(super) fn matched_trie(&self) -> PieceTrie {
        PieceTrie::new(self.matched.iter().map(|(text, &id)| (text.as_str(), id)))
    }
}

fn kind(number: i32) -> Result<PieceKind, String> {
    Ok(match number {
        1 => PieceKind::Normal,
        2 => PieceKind::Unknown,
        3 => PieceKind::Control,
        4 => PieceKind::UserDefined,
        5 => PieceKind::Unused,
        6 => PieceKind::Byte,
        other => return Err(format!("a piece is of the unknown kind {other}")),
    })
}

//! A SentencePiece model: read from its file, encodes text to ids.

use super::bpe;
use super::charsmap::Charsmap;
use super::normalize::Normalizer;
use super::proto::{ModelProto, NormalizerSpec};
use super::trie::PieceTrie;
use super::unigram::Unigram;
use super::vocabulary::{PieceKind, Vocabulary};
use prost::Message as _;

/// Text of an unknown piece if the model does not define it.
const UNKNOWN_SURFACE: &str = " \u{2047} ";

/// A model of kind BPE or unigram. Byte-exact with the SentencePiece library.
#[derive(Debug)]
pub struct SentencePiece {
    pub(super) vocabulary: Vocabulary,
    pub(super) normalizer: Normalizer,
    pub(super) denormalizer: Option<Normalizer>,
    pub(super) unk_surface: String,
    algorithm: Algorithm,
    bos_piece: String,
    eos_piece: String,
}

#[derive(Debug)]
enum Algorithm {
    Unigram(Unigram),
    Bpe { user_defined: Option<PieceTrie> },
}

impl SentencePiece {
    /// Reads the bytes of a `.model` file.
    ///
    /// # Errors
    /// A message that the file is invalid, or that its algorithm (`word`, `char`) is not supported.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let proto = ModelProto::decode(bytes).map_err(|error| format!("is not a SentencePiece model: {error}"))?;
        let trainer = proto.trainer_spec.unwrap_or_default();
        let vocabulary = Vocabulary::new(proto.pieces, trainer.byte_fallback())?;
        let algorithm = match trainer.model_type() {
            1 => Algorithm::Unigram(Unigram::new(&vocabulary)),
            2 => Algorithm::Bpe { user_defined: vocabulary.user_defined() },
            other => {
                let name = match other {
                    3 => "word",
                    4 => "char",
                    _ => "unknown",
                };
                return Err(format!(
                    "SentencePiece models of type `{name}` are not supported; supported: unigram, bpe"
                ));
            }
        };
        let suffix = trainer.treat_whitespace_as_suffix();
        let normalizer = normalizer(&proto.normalizer_spec.unwrap_or_default(), suffix, vocabulary.user_defined())?;
        // As in the library, a denormaliser counts only if it has rules.
        let denormalizer = match proto.denormalizer_spec {
            Some(spec) if !spec.precompiled_charsmap().is_empty() => Some(normalizer_of_output(&spec)?),
            _ => None,
        };
        let or = |text: Option<String>, otherwise: &str| text.unwrap_or_else(|| otherwise.to_owned());
        Ok(Self {
            vocabulary,
            normalizer,
            denormalizer,
            unk_surface: or(trainer.unk_surface, UNKNOWN_SURFACE),
            algorithm,
            bos_piece: or(trainer.bos_piece, "<s>"),
            eos_piece: or(trainer.eos_piece, "</s>"),
        })
    }

    /// Returns the model with the dummy prefix switched on or off, as LlamaTokenizer's `legacy = false` does.
    #[must_use]
    pub fn with_dummy_prefix(mut self, add: bool) -> Self {
        self.normalizer.add_dummy_prefix = add;
        self
    }

    /// Returns whether a space is put before a text.
    pub fn adds_dummy_prefix(&self) -> bool {
        self.normalizer.add_dummy_prefix
    }

    /// Encodes a text, `SentencePieceProcessor::EncodeAsIds`: no BOS, no EOS, control symbols never matched.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let normalized = self.normalizer.normalize(text);
        let pieces = match &self.algorithm {
            Algorithm::Unigram(unigram) => unigram.encode(&normalized, &self.vocabulary),
            Algorithm::Bpe { user_defined } => bpe::encode(&normalized, &self.vocabulary, user_defined.as_ref()),
        };
        let mut ids = Vec::with_capacity(pieces.len());
        let mut after_unknown = false;
        for (piece, id) in pieces {
            let unknown = id == self.vocabulary.unknown();
            match self.vocabulary.bytes() {
                Some(bytes) if unknown => ids.extend(piece.bytes().filter_map(|byte| bytes.get(usize::from(byte)))),
                // A run of unknown pieces is one piece.
                _ if unknown && after_unknown => {}
                _ => ids.push(id),
            }
            after_unknown = unknown;
        }
        ids
    }

    /// Number of pieces; ids are below it.
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// Always false: a model without an unknown piece cannot be read.
    pub fn is_empty(&self) -> bool {
        self.vocabulary.len() == 0
    }

    /// Returns the id of a piece of any kind.
    pub fn id_of(&self, piece: &str) -> Option<u32> {
        self.vocabulary.id_of(piece)
    }

    /// Returns text and kind of a piece.
    pub fn piece(&self, id: u32) -> Option<(&str, PieceKind)> {
        self.vocabulary.get(id).map(|piece| (piece.text.as_str(), piece.kind))
    }

    /// Returns the id of the unknown piece.
    pub fn unknown(&self) -> u32 {
        self.vocabulary.unknown()
    }

    /// Returns the piece that the model itself calls BOS, if it is a control symbol.
    pub fn bos(&self) -> Option<&str> {
        self.control(&self.bos_piece)
    }

    /// Returns the piece that the model itself calls EOS, if it is a control symbol.
    pub fn eos(&self) -> Option<&str> {
        self.control(&self.eos_piece)
    }

    fn control<'a>(&self, piece: &'a str) -> Option<&'a str> {
        let id = self.vocabulary.id_of(piece)?;
        (self.vocabulary.kind(id) == Some(PieceKind::Control)).then_some(piece)
    }
}

fn normalizer(spec: &NormalizerSpec, suffix: bool, user_defined: Option<PieceTrie>) -> Result<Normalizer, String> {
    Ok(Normalizer {
        charsmap: Charsmap::parse(spec.precompiled_charsmap())?,
        add_dummy_prefix: spec.add_dummy_prefix(),
        remove_extra_whitespaces: spec.remove_extra_whitespaces(),
        escape_whitespaces: spec.escape_whitespaces(),
        treat_whitespace_as_suffix: suffix,
        user_defined,
    })
}

fn normalizer_of_output(spec: &NormalizerSpec) -> Result<Normalizer, String> {
    normalizer(spec, false, None)
}

//! A SentencePiece model as used by transformers: added tokens are cut out first, the model runs on the text between
//! them.
//!
//! The `tokenizers` library cuts; only the model behind it is ours. Behaviour is that of the fast classes, which
//! `AutoTokenizer` makes of a `.model` file (convert_slow_tokenizer.py).

use super::class::Class;
use super::sentencepiece::{PieceKind, SentencePiece};
use super::settings::TokenizerSettings;
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tokenizers::models::wordlevel::WordLevelTrainer;
use tokenizers::{
    AddedToken, DecoderWrapper, Model, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Token,
    TokenizerImpl,
};

/// The tokenizer around a SentencePiece model.
pub(super) type SpmTokenizer =
    TokenizerImpl<SegmentModel, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>;

/// A SentencePiece model that encodes one segment at a time.
pub(super) struct SegmentModel(SentencePiece);

impl Model for SegmentModel {
    // The trait requires a trainer; nothing is trained here.
    type Trainer = WordLevelTrainer;

    fn tokenize(&self, sequence: &str) -> tokenizers::Result<Vec<Token>> {
        let piece = |id: u32| self.0.piece(id).map_or_else(String::new, |(text, _)| text.to_owned());
        // Offsets are not used.
        Ok(self.0.encode(sequence).into_iter().map(|id| Token::new(id, piece(id), (0, 0))).collect())
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.0.id_of(token)
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        self.0.piece(id).map(|(text, _)| text.to_owned())
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        let ids = 0..self.0.len() as u32;
        ids.filter_map(|id| self.0.piece(id).map(|(text, _)| (text.to_owned(), id))).collect()
    }

    fn get_vocab_size(&self) -> usize {
        self.0.len()
    }

    fn save(&self, _: &Path, _: Option<&str>) -> tokenizers::Result<Vec<PathBuf>> {
        Err("cannot write a SentencePiece model".into())
    }

    fn get_trainer(&self) -> WordLevelTrainer {
        WordLevelTrainer::default()
    }
}

/// Builds the tokenizer from the bytes of a `.model` file, and sets BOS and EOS in the settings if they are not set.
///
/// # Errors
/// A message that the file is invalid.
pub(super) fn build(bytes: &[u8], class: Class, settings: &mut TokenizerSettings) -> Result<SpmTokenizer, String> {
    let model = SentencePiece::from_bytes(bytes)?;
    for (role, piece) in [("bos_token", model.bos()), ("eos_token", model.eos())] {
        if let (Some(piece), None) = (piece, settings.class.as_ref()) {
            settings.default_role(role, piece);
        }
    }
    class.name_tokens(settings);
    let llama = class == Class::Llama && settings.class.is_some();
    let prefixed = if llama { settings.add_prefix_space.unwrap_or(true) } else { model.adds_dummy_prefix() };
    // With `legacy = false`, only the very first segment of a text gets the dummy prefix, and never a doubled one.
    let first_only = class == Class::Llama && settings.legacy == Some(false);
    let symbols = symbols(&model, class);
    let mut tokenizer = TokenizerImpl::new(SegmentModel(model.with_dummy_prefix(prefixed && !first_only)));
    if first_only {
        let scheme = if prefixed { "first" } else { "never" };
        let metaspace = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": false});
        tokenizer.with_pre_tokenizer(Some(part::<PreTokenizerWrapper>(metaspace)?));
    }
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    if prefixed {
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    let decoder = part::<DecoderWrapper>(json!({"type": "Sequence", "decoders": decoders}))?;
    tokenizer.with_decoder(Some(decoder));
    tokenizer.add_tokens(symbols).map_err(|error| error.to_string())?;
    Ok(tokenizer)
}

/// Control and user-defined symbols: the fast classes match both in the text before the model sees it. Remote code uses
/// the library itself, which never matches control symbols.
fn symbols(model: &SentencePiece, class: Class) -> Vec<AddedToken> {
    let turns = ["<start_of_turn>", "<end_of_turn>"];
    let symbol = |id: u32| {
        let (text, kind) = model.piece(id)?;
        let added = |special: bool| Some(AddedToken::from(text, special).normalized(false));
        match kind {
            PieceKind::Control => added(true),
            PieceKind::UserDefined => added(class == Class::Gemma && turns.contains(&text)),
            _ => None,
        }
    };
    if class == Class::Remote { Vec::new() } else { (0..model.len() as u32).filter_map(symbol).collect() }
}

/// Creates a part of a tokenizer from its form in tokenizer.json.
pub(super) fn part<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

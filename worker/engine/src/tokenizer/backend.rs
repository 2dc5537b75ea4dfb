//! The library behind a tokenizer, and the file from which it is read.

use super::anchors::match_at_lines;
use super::class::Class;
use super::settings::TokenizerSettings;
use super::spm_backend::SpmTokenizer;
use super::{gpt2_backend, spm_backend, tiktoken_backend};
use crate::config::read_json;
use crate::fault::{file_fault, missing_fault};
use compass_common::regular_file;
use compass_plan::engine::EngineFault;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, Tokenizer};

/// A tokenizer with its vocabulary complete.
pub(super) enum Backend {
    /// tokenizer.json, or vocab.json and merges.txt.
    Json(Box<Tokenizer>),
    /// tokenizer.model.
    Spm(Box<SpmTokenizer>),
}

/// Names of vocabulary and merges, in order of precedence; transformers' fast classes prefer tokenizer.json to both.
const PAIRS: [(&str, &str); 2] = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")];
const SPM_NAMES: [&str; 4] = ["tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.spm"];

/// Calls a method of either variant.
macro_rules! either {
    ($backend:expr, $tokenizer:ident => $body:expr) => {
        match $backend {
            Backend::Json($tokenizer) => $body,
            Backend::Spm($tokenizer) => $body,
        }
    };
}

impl Backend {
    /// Reads the tokenizer of a directory with everything that `settings` and the class add to it. Returns the file
    /// that was read, and whether the class adds BOS if no file says so.
    ///
    /// # Errors
    /// [`EngineFault::Missing`] when the tokenizer is missing, [`EngineFault::Model`] when a file of it is malformed.
    pub(super) fn read(
        directory: &Path,
        settings: &mut TokenizerSettings,
    ) -> Result<(Self, PathBuf, Option<bool>), EngineFault> {
        let named = settings.class.as_deref().map(Class::of);
        let class = match named {
            Some(class) => class,
            None => class_of_model(directory)?,
        };
        let path = directory.join("tokenizer.json");
        if path.is_file() {
            class.name_tokens_of(named, settings);
            let bytes = regular_file::read(&path, regular_file::LARGE).map_err(|error| missing_fault(&path, error))?;
            let damaged = |what| file_fault(&path, format!("not a tokenizer: {what}; fetch the file again"));
            let mut backend = from_json(&bytes).map_err(damaged)?;
            // Without a named class the files decide; the class of the model's type only sets the default.
            let frame = named.and_then(|class| class.frame(settings));
            backend.complete(settings, frame).map_err(|what| file_fault(&path, what))?;
            return Ok((backend, path, class.frame(settings).map(|(bos, _)| bos)));
        }
        if let Some(path) = spm_file(directory) {
            let class = if named.is_none() && class == Class::Files { Class::Llama } else { class };
            let bytes = regular_file::read(&path, regular_file::LARGE).map_err(|error| missing_fault(&path, error))?;
            if tiktoken_backend::is_ranks(&bytes) {
                let tokenizer = tiktoken_backend::build(&bytes, settings).map_err(|what| file_fault(&path, what))?;
                let mut backend = Self::Json(Box::new(tokenizer));
                let frame = (settings.add_bos_token.unwrap_or(true), settings.add_eos_token.unwrap_or(false));
                backend.complete(settings, Some(frame)).map_err(|what| file_fault(&path, what))?;
                return Ok((backend, path, None));
            }
            let tokenizer = spm_backend::build(&bytes, class, settings).map_err(|what| file_fault(&path, what))?;
            let mut backend = Self::Spm(Box::new(tokenizer));
            backend.complete(settings, class.frame(settings)).map_err(|what| file_fault(&path, what))?;
            return Ok((backend, path, None));
        }
        for (vocab, merges) in PAIRS {
            let (path, merges) = (directory.join(vocab), directory.join(merges));
            if path.is_file() && merges.is_file() {
                let class = if class == Class::Qwen2 { class } else { Class::Gpt2 };
                class.name_tokens(settings);
                let text = |path: &Path| {
                    regular_file::read_text(path, regular_file::LARGE).map_err(|error| missing_fault(path, error))
                };
                let tokenizer = gpt2_backend::build(&text(&path)?, &text(&merges)?, class, settings);
                let mut backend = Self::Json(Box::new(tokenizer.map_err(|what| file_fault(&path, what))?));
                let frame = Some((class == Class::Gpt2 && settings.add_bos_token == Some(true), false));
                backend.complete(settings, frame).map_err(|what| file_fault(&path, what))?;
                return Ok((backend, path, None));
            }
        }
        Err(missing_fault(
            &path,
            "no such file, nor tokenizer.model, nor vocab.json with merges.txt; one of them is needed (transformers' \
             `save_pretrained` writes tokenizer.json), or `tokenizer_path` must name a directory that has it",
        ))
    }

    /// Adds the settings' tokens, and BOS and EOS around every text if `frame` says so.
    fn complete(&mut self, settings: &TokenizerSettings, frame: Option<(bool, bool)>) -> Result<(), String> {
        self.add(settings.tokens_to_add())?;
        either!(self, tokenizer => tokenizer.set_encode_special_tokens(settings.split_special_tokens));
        let Some((bos, eos)) = frame else { return Ok(()) };
        let token = |wanted: bool, role: &str| -> Result<Option<(String, u32)>, String> {
            if !wanted {
                return Ok(None);
            }
            let text = settings.text(role).ok_or_else(|| {
                format!("add_{role} is set, but no {role} is named; set add_{role} = false in tokenizer_config.json")
            })?;
            let id = self.token_to_id(text).ok_or_else(|| format!("{role} `{text}` is in no vocabulary"))?;
            Ok(Some((text.to_owned(), id)))
        };
        let (bos, eos) = (token(bos, "bos_token")?, token(eos, "eos_token")?);
        let named = |token: &Option<(String, u32)>| token.as_ref().map(|(text, _)| text.clone());
        let parts = [named(&bos), Some("$A".to_owned()), named(&eos)].into_iter().flatten().collect::<Vec<_>>();
        let template = TemplateProcessing::builder()
            .try_single(parts)
            .map(|builder| builder.special_tokens(bos.into_iter().chain(eos).collect::<Vec<_>>()).build())
            .map_err(|error| error.to_string())?;
        let template = template.map_err(|error| error.to_string())?;
        either!(self, tokenizer => { tokenizer.with_post_processor(Some(template)); });
        Ok(())
    }

    fn add(&mut self, tokens: Vec<AddedToken>) -> Result<(), String> {
        either!(self, tokenizer => tokenizer.add_tokens(tokens)).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Encodes a text, with the tokens of the post-processor if `special`.
    pub(super) fn encode(&self, text: &str, special: bool) -> Result<Vec<u32>, String> {
        let encoding = either!(self, tokenizer => tokenizer.encode_fast(text, special));
        encoding.map(|encoding| encoding.get_ids().to_vec()).map_err(|error| format!("cannot be tokenized: {error}"))
    }

    /// Decodes ids; special tokens are left out if `skips_special`.
    pub(super) fn decode(&self, ids: &[u32], skips_special: bool) -> Result<String, String> {
        either!(self, tokenizer => tokenizer.decode(ids, skips_special))
            .map_err(|error| format!("cannot be decoded: {error}"))
    }

    pub(super) fn token_to_id(&self, token: &str) -> Option<u32> {
        either!(self, tokenizer => tokenizer.token_to_id(token))
    }

    pub(super) fn id_to_token(&self, id: u32) -> Option<String> {
        either!(self, tokenizer => tokenizer.id_to_token(id))
    }
}

fn from_json(bytes: &[u8]) -> Result<Backend, String> {
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| error.to_string())?;
    match_at_lines(&mut tokenizer, bytes)?;
    // A length stored in the file is ignored; transformers resets both for every call.
    tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);
    Ok(Backend::Json(Box::new(tokenizer)))
}

/// Returns the SentencePiece file of a directory: by its usual names, otherwise the only one that ends in `.model`.
fn spm_file(directory: &Path) -> Option<PathBuf> {
    if let Some(found) = SPM_NAMES.iter().map(|name| directory.join(name)).find(|path| path.is_file()) {
        return Some(found);
    }
    let entries = std::fs::read_dir(directory).ok()?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let models: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "model")).collect();
    match models.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// Returns the class implied by config.json if tokenizer_config.json names none.
fn class_of_model(directory: &Path) -> Result<Class, EngineFault> {
    let config: Map<String, Value> = read_json(&directory.join("config.json"))?.unwrap_or_default();
    let text = |key: &str| config.get(key).and_then(Value::as_str);
    let class = text("tokenizer_class").map(|name| Class::of(name.strip_suffix("Fast").unwrap_or(name)));
    Ok(class.or_else(|| text("model_type").map(Class::of_model_type)).unwrap_or(Class::Files))
}

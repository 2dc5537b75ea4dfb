//! `vocab.json` + `merges.txt` (OpenAI's own names: `encoder.json` + `vocab.bpe`): byte-level BPE of GPT-2 and Qwen2.

use super::class::Class;
use super::settings::TokenizerSettings;
use super::spm_backend::part;
use serde_json::{Map, Value, json};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{DecoderWrapper, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};

/// Qwen2's split into words (tokenization_qwen2.py, `PRETOKENIZE_REGEX`).
const QWEN2_WORDS: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Builds the tokenizer from the texts of the two files.
///
/// # Errors
/// A message about invalid content.
pub(super) fn build(
    vocab: &str,
    merges: &str,
    class: Class,
    settings: &TokenizerSettings,
) -> Result<Tokenizer, String> {
    let vocab: Map<String, Value> = serde_json::from_str(vocab).map_err(|error| format!("vocabulary: {error}"))?;
    let id = |(token, id): (String, Value)| {
        let number = id.as_u64().and_then(|id| u32::try_from(id).ok());
        number.map(|number| (token, number)).ok_or_else(|| format!("vocabulary: {id} is not a token id"))
    };
    let vocab: Vec<(String, u32)> = vocab.into_iter().map(id).collect::<Result<_, _>>()?;
    let merges = if class == Class::Qwen2 { qwen2_merges(merges) } else { gpt2_merges(merges) }?;
    let vocab: Vocab = vocab.into_iter().collect();
    // The library would panic.
    let unknown = |(left, right): &&(String, String)| !vocab.contains_key(&format!("{left}{right}"));
    if let Some((left, right)) = merges.iter().find(unknown) {
        return Err(format!("merges: `{left}{right}` is not in the vocabulary; do both files belong to one model?"));
    }
    let model = BPE::builder().vocab_and_merges(vocab, merges);
    let mut tokenizer = Tokenizer::new(model.build().map_err(|error| error.to_string())?);
    let add_prefix_space = settings.add_prefix_space.unwrap_or(false);
    let byte_level = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex});
    let words = if class == Class::Qwen2 {
        let normalizer = part::<NormalizerWrapper>(json!({"type": "NFC"}))?;
        tokenizer.with_normalizer(Some(normalizer)).map_err(|error| error.to_string())?;
        let split =
            json!({"type": "Split", "pattern": {"Regex": QWEN2_WORDS}, "behavior": "Isolated", "invert": false});
        json!({"type": "Sequence", "pretokenizers": [split, byte_level(false)]})
    } else {
        byte_level(true)
    };
    tokenizer.with_pre_tokenizer(Some(part::<PreTokenizerWrapper>(words)?));
    tokenizer.with_decoder(Some(part::<DecoderWrapper>(byte_level(true))?));
    Ok(tokenizer)
}

/// Reads merges as tokenization_gpt2.py does, by `split(" ")[1:-1]`: the first line never is a merge, nor is text after
/// the last line break.
fn gpt2_merges(text: &str) -> Result<Vec<(String, String)>, String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let lines = lines.get(1..lines.len().saturating_sub(1)).unwrap_or_default();
    lines.iter().filter(|line| !line.trim().is_empty()).map(|line| pair(line)).collect()
}

/// Reads merges as tokenization_qwen2.py does, which skips a version line and empty lines.
fn qwen2_merges(text: &str) -> Result<Vec<(String, String)>, String> {
    let kept = |(index, line): &(usize, &str)| !(line.is_empty() || *index == 0 && line.starts_with("#version:"));
    let lines = text.lines().map(str::trim).enumerate().filter(kept);
    lines.map(|(_, line)| pair(line)).collect()
}

fn pair(line: &str) -> Result<(String, String), String> {
    let mut parts = line.split_whitespace();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(left), Some(right), None) => Ok((left.to_owned(), right.to_owned())),
        _ => Err(format!("merges: `{line}` is not two parts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_merges() {
        let pairs = |left: &str, right: &str| (left.to_owned(), right.to_owned());
        assert_eq!(gpt2_merges("#version: 0.2\na b\nab c\n").unwrap(), [pairs("a", "b"), pairs("ab", "c")]);
        assert_eq!(qwen2_merges("a b\n\nab c").unwrap(), [pairs("a", "b"), pairs("ab", "c")]);
        assert!(gpt2_merges("#v\na b c\n").unwrap_err().contains("a b c"));
        assert!(gpt2_merges("").unwrap().is_empty());
    }
}

//! Llama 3's `tokenizer.model`: tiktoken's list of byte strings in order of rank, and Meta's special tokens after it.
//!
//! Special tokens in a text are matched, as by transformers with the same vocabulary; Meta's `encode` spells them out.

use super::settings::TokenizerSettings;
use super::spm_backend::part;
use serde_json::json;
use std::collections::HashMap;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{AddedToken, DecoderWrapper, PreTokenizerWrapper, Tokenizer};

/// Llama 3's split into words (`pat_str` of Meta's tokenizer.py).
const WORDS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Special tokens with a name (Llama 3.1's; Llama 3 had reserved ones instead of some).
const NAMED: [&str; 12] = [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|reserved_special_token_0|>",
    "<|reserved_special_token_1|>",
    "<|finetune_right_pad_id|>",
    "<|step_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
    "<|image|>",
];
const SPECIAL: usize = 256;

/// Returns whether a file is a list of ranks and not a SentencePiece model: its first line is base64 and a number.
pub(super) fn is_ranks(bytes: &[u8]) -> bool {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    std::str::from_utf8(line).is_ok_and(|line| rank(line).is_ok())
}

/// Builds the tokenizer from the bytes of the file, and sets BOS and EOS in the settings if they are not set.
///
/// # Errors
/// A message that the file is invalid.
pub(super) fn build(bytes: &[u8], settings: &mut TokenizerSettings) -> Result<Tokenizer, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not a list of tokens: it is not text")?;
    let mut ranks: HashMap<Vec<u8>, u32> = HashMap::new();
    for (number, line) in text.lines().filter(|line| !line.is_empty()).enumerate() {
        let (token, rank) = rank(line).map_err(|what| format!("line {}: {what}", number + 1))?;
        if rank as usize != number || ranks.insert(token, rank).is_some() {
            return Err(format!("line {}: ranks must count up from 0, each token once", number + 1));
        }
    }
    let spelt: HashMap<&[u8], String> = ranks.keys().map(|token| (token.as_slice(), spelling(token))).collect();
    let vocab: Vocab = ranks.iter().map(|(token, &rank)| (spelt[token.as_slice()].clone(), rank)).collect();
    let merges = merges(&ranks).into_iter().map(|(left, right)| (spelt[left].clone(), spelt[right].clone())).collect();
    // tiktoken looks a whole word up before it splits it.
    let model = BPE::builder().vocab_and_merges(vocab, merges).ignore_merges(true);
    let mut tokenizer = Tokenizer::new(model.build().map_err(|error| error.to_string())?);
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let split = json!({"type": "Split", "pattern": {"Regex": WORDS}, "behavior": "Isolated", "invert": false});
    let words = json!({"type": "Sequence", "pretokenizers": [split, byte_level]});
    tokenizer.with_pre_tokenizer(Some(part::<PreTokenizerWrapper>(words)?));
    tokenizer.with_decoder(Some(part::<DecoderWrapper>(byte_level)?));
    let reserved = (NAMED.len()..SPECIAL).map(|place| format!("<|reserved_special_token_{}|>", place - 10));
    let special = NAMED.map(str::to_owned).into_iter().chain(reserved);
    let special = special.map(|content| AddedToken::from(content, true).normalized(false));
    tokenizer.add_special_tokens(special.collect::<Vec<_>>()).map_err(|error| error.to_string())?;
    settings.default_role("bos_token", NAMED[0]);
    settings.default_role("eos_token", NAMED[1]);
    Ok(tokenizer)
}

/// Returns every way to compose a token from two others; tokens in order of rank, and the ways of one in order of their
/// parts' ranks (transformers' `TikTokenConverter`).
fn merges(ranks: &HashMap<Vec<u8>, u32>) -> Vec<(&[u8], &[u8])> {
    let mut tokens: Vec<(&[u8], u32)> = ranks.iter().map(|(token, &rank)| (token.as_slice(), rank)).collect();
    tokens.sort_unstable_by_key(|&(_, rank)| rank);
    let ways = tokens.into_iter().flat_map(|(token, _)| {
        let cuts = (1..token.len()).map(|at| token.split_at(at));
        let known = cuts.filter_map(|(left, right)| Some(((ranks.get(left)?, ranks.get(right)?), (left, right))));
        let mut known: Vec<_> = known.collect();
        known.sort_unstable_by_key(|&(ranks, _)| ranks);
        known.into_iter().map(|(_, parts)| parts)
    });
    ways.collect()
}

/// Reads the token and the rank on a line.
fn rank(line: &str) -> Result<(Vec<u8>, u32), String> {
    let parts = line.trim_end().split_once(' ');
    let read = parts.and_then(|(token, rank)| Some((base64(token)?, rank.parse().ok()?)));
    read.filter(|(token, _)| !token.is_empty()).ok_or_else(|| "not a token in base64 and its rank".to_owned())
}

/// Decodes RFC 4648's standard alphabet, padded.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (groups, []) = text.as_bytes().as_chunks::<4>() else { return None };
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for (place, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|&&byte| byte == b'=').count();
        if padding > 2 || padding > 0 && place + 1 < groups.len() {
            return None;
        }
        let mut digits = group.iter().take(4 - padding).map(|&byte| digit(byte));
        let bits = digits.try_fold(0u32, |bits, digit| Some(bits << 6 | u32::from(digit?)))?;
        let wide = (bits << (6 * padding)).to_be_bytes();
        bytes.extend_from_slice(&wide[1..4 - padding]);
    }
    Some(bytes)
}

/// Spells bytes as GPT-2 does: printable ones are themselves, the others are U+0100 and up.
fn spelling(bytes: &[u8]) -> String {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let letter = |&byte: &u8| {
        let hidden = (0..byte).filter(|&byte| !printable(byte)).count() as u32;
        if printable(byte) { Some(char::from(byte)) } else { char::from_u32(256 + hidden) }
    };
    bytes.iter().filter_map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_and_spellings() {
        assert_eq!(base64("SGVsbG8=").unwrap(), b"Hello");
        assert_eq!(base64("SGVsbA==").unwrap(), b"Hell");
        assert_eq!(base64("SGVs").unwrap(), b"Hel");
        for wrong in ["SGV", "S===", "SG=s", "====", "SG==SGVs", "SG\u{e9}s"] {
            assert_eq!(base64(wrong), None, "{wrong}");
        }
        assert_eq!(spelling(b" a\n\xff\x00\x7f"), "\u{120}a\u{10a}\u{ff}\u{100}\u{121}");
    }

    #[test]
    fn files_other_than_lists_are_rejected() {
        let mut settings = TokenizerSettings::default();
        let mut error_of = |bytes: &[u8]| build(bytes, &mut settings).unwrap_err();
        assert!(error_of(b"IQ== 0\nIg== 2\n").contains("line 2: ranks must count up"));
        assert!(error_of(b"IQ== 0\nIQ== 1\n").contains("line 2"));
        assert!(error_of(b"IQ== 0\nIg==\n").contains("line 2: not a token"));
        assert!(is_ranks(b"IQ== 0\nIg== 1") && !is_ranks(b"\n\x0b\x05<unk>") && !is_ranks(b""));
    }
}

//! `tokenizer_kwargs` of configurations: sides of padding and truncation; ignored keys are noted.

use compass_plan::BosPolicy;
use serde_json::{Map, Value};

/// A side of a row of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// The supported part of `tokenizer_kwargs`, with notes on the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenizerKwargs {
    /// Side on which shorter rows are padded. Samples are never padded here; the side matters for peers' profiles.
    pub padding_side: Side,
    /// Side on which long prompts are truncated; `None` is that of tokenizer_config.json.
    pub truncation_side: Option<Side>,
    /// Set if a BOS token starts every text; the tokenizer's own rule if absent.
    pub add_bos_token: Option<bool>,
    /// Notes on keys that are ignored or have no effect.
    pub notes: Vec<String>,
}

impl Default for TokenizerKwargs {
    /// Padding and truncation on the left: a prompt keeps its end, which the model continues.
    fn default() -> Self {
        Self { padding_side: Side::Left, truncation_side: Some(Side::Left), add_bos_token: None, notes: Vec::new() }
    }
}

impl TokenizerKwargs {
    /// Returns the BOS policy if the model's plan has `policy`, which takes precedence unless it is `Auto`.
    pub fn bos_policy(&self, policy: BosPolicy) -> BosPolicy {
        match (policy, self.add_bos_token) {
            (BosPolicy::Auto, Some(true)) => BosPolicy::Always,
            (BosPolicy::Auto, Some(false)) => BosPolicy::Never,
            _ => policy,
        }
    }

    /// Reads the table. OpenCompass's old `truncation = "left"` means `truncation_side = "left"`.
    ///
    /// # Errors
    /// The key with an invalid value.
    pub fn parse(kwargs: &Map<String, Value>) -> Result<Self, String> {
        let mut parsed = Self::default();
        for (key, value) in kwargs {
            match (key.as_str(), value) {
                ("padding_side", value) => parsed.padding_side = side(key, value)?,
                ("truncation_side", Value::String(text)) if text == "own" => parsed.truncation_side = None,
                ("truncation_side", value) => parsed.truncation_side = Some(side(key, value)?),
                ("truncation", Value::String(text)) if text == "left" || text == "right" => {
                    parsed.truncation_side = Some(side(key, value)?);
                }
                ("add_bos_token", Value::Bool(add)) => parsed.add_bos_token = Some(*add),
                ("add_bos_token", _) => {
                    return Err(format!("tokenizer_kwargs.{key} is {value}; it must be true or false"));
                }
                // Prompts that are too long are truncated anyway.
                ("truncation", Value::Bool(true)) => {}
                ("use_fast", Value::Bool(true)) | ("trust_remote_code", Value::Bool(false)) => {}
                ("use_fast", _) => parsed.notes.push(
                    "tokenizer_kwargs.use_fast = false has no effect: there is one tokenizer, which gives the fast \
                     class's tokens"
                        .into(),
                ),
                ("trust_remote_code", _) => {
                    parsed
                        .notes
                        .push("tokenizer_kwargs.trust_remote_code has no effect: code of a model never runs".into());
                }
                _ => parsed.notes.push(format!("tokenizer_kwargs.{key} is not known and has no effect")),
            }
        }
        Ok(parsed)
    }
}

fn side(key: &str, value: &Value) -> Result<Side, String> {
    match value.as_str() {
        Some("left") => Ok(Side::Left),
        Some("right") => Ok(Side::Right),
        _ => Err(format!("tokenizer_kwargs.{key} is {value}; it must be \"left\" or \"right\"")),
    }
}

/// Removes tokens at a side until at most `limit` are left; returns the number before.
pub fn truncate(ids: &mut Vec<u32>, limit: usize, side: Side) -> usize {
    let length = ids.len();
    match side {
        Side::Left => drop(ids.drain(..length.saturating_sub(limit))),
        Side::Right => ids.truncate(limit),
    }
    length
}

/// Pads rows to the longest with `pad`; returns, per row, the start of its own tokens.
pub fn pad(rows: &mut [Vec<u32>], pad: u32, side: Side) -> Vec<usize> {
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let fill = |row: &mut Vec<u32>| {
        let missing = longest - row.len();
        match side {
            Side::Left => {
                row.splice(..0, std::iter::repeat_n(pad, missing));
                missing
            }
            Side::Right => {
                row.resize(longest, pad);
                0
            }
        }
    };
    rows.iter_mut().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: &Value) -> Result<TokenizerKwargs, String> {
        TokenizerKwargs::parse(value.as_object().unwrap())
    }

    #[test]
    fn old_spelling_of_truncation_is_supported() {
        let seed = json!({"padding_side": "left", "truncation": "left", "use_fast": false, "trust_remote_code": true});
        let parsed = parse(&seed).unwrap();
        assert_eq!(
            (parsed.padding_side, parsed.truncation_side, parsed.notes.len()),
            (Side::Left, Some(Side::Left), 2)
        );
        let parsed = parse(&json!({"truncation_side": "right", "use_fast": true, "odd": 1})).unwrap();
        assert_eq!(parsed.truncation_side, Some(Side::Right));
        assert_eq!(parse(&json!({"truncation_side": "own"})).unwrap().truncation_side, None);
        assert!(parsed.notes[0].contains("odd"), "{:?}", parsed.notes);
        assert!(parse(&json!({"padding_side": "up"})).unwrap_err().contains("padding_side"));
        assert_eq!(parse(&json!({})).unwrap(), TokenizerKwargs::default());
        let bos = parse(&json!({"add_bos_token": true, "truncation": true})).unwrap();
        assert_eq!((bos.bos_policy(BosPolicy::Auto), bos.notes.len()), (BosPolicy::Always, 0));
        assert_eq!(bos.bos_policy(BosPolicy::Never), BosPolicy::Never, "the model's own key takes precedence");
        assert_eq!(parse(&json!({"add_bos_token": false})).unwrap().bos_policy(BosPolicy::Auto), BosPolicy::Never);
        assert!(parse(&json!({"add_bos_token": "yes"})).unwrap_err().contains("add_bos_token"));
    }

    #[test]
    fn sides() {
        let mut ids = vec![1, 2, 3];
        assert_eq!((truncate(&mut ids, 2, Side::Left), ids.clone()), (3, vec![2, 3]));
        assert_eq!((truncate(&mut ids, 1, Side::Right), ids.clone()), (2, vec![2]));
        let rows = || vec![vec![1], vec![2, 3]];
        let (mut left, mut right) = (rows(), rows());
        assert_eq!((pad(&mut left, 0, Side::Left), left), (vec![1, 0], vec![vec![0, 1], vec![2, 3]]));
        assert_eq!((pad(&mut right, 0, Side::Right), right), (vec![0, 0], vec![vec![1, 0], vec![2, 3]]));
    }
}

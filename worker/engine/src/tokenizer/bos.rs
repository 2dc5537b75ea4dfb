//! Rule for the BOS token before an encoded text.

use compass_plan::BosPolicy;

/// Rule for encoding a text, fixed per model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BosRule {
    /// Only the tokens of tokenizer.json's post-processor.
    Tokenizer,
    /// As `Tokenizer`, then this id in front unless it is there already.
    Prepend(u32),
    /// No special tokens.
    None,
}

/// Returns the rule for a policy.
///
/// `adds` is set if the post-processor itself adds BOS; `add_bos_token` is the setting of tokenizer_config.json,
/// which the tokenizer class obeys if the post-processor has no rule.
///
/// # Errors
/// The remedy, if BOS is required for a model without one.
pub(super) fn bos_rule(
    policy: BosPolicy,
    adds: bool,
    add_bos_token: Option<bool>,
    bos: Option<u32>,
) -> Result<BosRule, String> {
    let prepend = |asked_by: &str| match bos {
        Some(id) => Ok(BosRule::Prepend(id)),
        None => Err(format!(
            "{asked_by} asks for a BOS token, but neither tokenizer_config.json nor config.json names one; \
             set add_bos_token = false"
        )),
    };
    match policy {
        BosPolicy::Never => Ok(BosRule::None),
        BosPolicy::Always => prepend("add_bos_token = true"),
        BosPolicy::Auto if adds => Ok(BosRule::Tokenizer),
        BosPolicy::Auto if add_bos_token == Some(true) => prepend("add_bos_token of tokenizer_config.json"),
        BosPolicy::Auto => Ok(BosRule::Tokenizer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        assert_eq!(bos_rule(BosPolicy::Never, true, Some(true), Some(1)), Ok(BosRule::None));
        assert_eq!(bos_rule(BosPolicy::Always, false, None, Some(1)), Ok(BosRule::Prepend(1)));
        assert_eq!(bos_rule(BosPolicy::Auto, true, Some(true), Some(1)), Ok(BosRule::Tokenizer));
        assert_eq!(bos_rule(BosPolicy::Auto, false, Some(true), Some(1)), Ok(BosRule::Prepend(1)));
        assert_eq!(bos_rule(BosPolicy::Auto, false, None, Some(1)), Ok(BosRule::Tokenizer));
        assert!(bos_rule(BosPolicy::Always, false, None, None).unwrap_err().contains("add_bos_token = false"));
    }
}

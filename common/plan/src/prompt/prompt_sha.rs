//! Digest of a rendered prompt, and what a failed sample keeps of it.

use compass_types::result::{MOST_RENDERED, PromptSha};
use ring::digest::{Context, SHA256};

/// Digest of the texts that a sample was asked with, joined by a zero byte where they are several.
pub fn prompt_sha<'t>(texts: impl IntoIterator<Item = &'t str>) -> PromptSha {
    let mut context = Context::new(&SHA256);
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            context.update(&[0]);
        }
        context.update(text.as_bytes());
    }
    let digest = context.finish();
    PromptSha(digest.as_ref().iter().take(8).fold(0, |prefix, byte| prefix << 8 | u64::from(*byte)))
}

/// Returns a rendered prompt as a failed sample keeps it: whole, or its first bytes and a mark.
pub fn kept_prompt(mut text: String) -> String {
    if text.len() > MOST_RENDERED {
        let end = (0..=MOST_RENDERED).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_beginning_of_sha256sums() {
        // printf 'user: 1+1=\n' | sha256sum
        assert_eq!(prompt_sha(["user: 1+1=\n"]).to_string(), "1bf4d19effa1f681");
        // printf 'a\0b' | sha256sum
        assert_eq!(prompt_sha(["a", "b"]).to_string(), "59b271ae1bbcb1d3");
    }

    #[test]
    fn long_prompts_are_cut_between_characters() {
        assert_eq!(kept_prompt("é".into()), "é");
        let long = kept_prompt("é".repeat(MOST_RENDERED));
        assert_eq!(long.len(), MOST_RENDERED + '…'.len_utf8());
    }
}

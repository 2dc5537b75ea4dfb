//! `_strip_string`: the two normalisers of OpenCompass's `MATHEvaluator`, of which AGIEval and lm-eval keep the first.

use super::fraction::{Peer, Raised, fix_a_slash_b, fix_fracs, fix_sqrt, remove_right_units};
use crate::text::{Pattern, strip};

/// Version 1, as a peer has it.
pub(super) fn strip_v1(text: &str, peer: Peer) -> Result<String, Raised> {
    let text = replace_all(text, &[("\n", ""), ("\\!", ""), ("\\\\", "\\"), ("tfrac", "frac"), ("dfrac", "frac")]);
    let text = replace_all(&text, &[("\\left", ""), ("\\right", ""), ("^{\\circ}", ""), ("^\\circ", ""), ("\\$", "")]);
    let text = remove_right_units(&text)?;
    let text = replace_all(text, &[("\\%", ""), (" .", " 0."), ("{.", "{0.")]);
    if text.is_empty() {
        return Ok(text);
    }
    let text = fix_sqrt(&right_of_equals(leading_zero(text)))?;
    let text = fix_fracs(&text.replace(' ', ""), peer)?;
    let text = if text == "0.5" { "\\frac{1}{2}".into() } else { text };
    fix_a_slash_b(&text, peer)
}

/// Version 2, which is OpenCompass's own.
pub(super) fn strip_v2(text: &str, peer: Peer) -> Result<String, Raised> {
    static UNIT: Pattern = Pattern::new(r"\\text\{.*?\}$");
    static BOX: Pattern = Pattern::new(r"\\mbox\{.*?\}");
    static ZEROS_INSIDE: Pattern = Pattern::new(r"(\d+)\.0+([^\d])");
    static ZEROS_AT_END: Pattern = Pattern::new(r"(\d+)\.0+$");
    static ROOT: Pattern = Pattern::new(r"\\sqrt([\p{L}\p{N}_]+)");

    let text = strip(text).replace('\n', "");
    let text = text.trim_end_matches('.');
    let text = replace_all(text, &[("\\!", ""), ("\\ ", ""), ("\\\\", "\\"), ("\\\\", "\\"), ("tfrac", "frac")]);
    let text = replace_all(&text, &[("dfrac", "frac"), ("\\left", ""), ("\\right", "")]);
    let without_unit = UNIT.replace_all(&text, "").into_owned();
    let without_unit = strip(&without_unit);
    let text = if without_unit.is_empty() { text.as_str() } else { without_unit };
    let text = replace_all(text, &[("^{\\circ}", ""), ("^\\circ", ""), ("\\$", ""), ("$", ""), ("\\text", "")]);
    let text =
        replace_all(&text, &[("x\\in", ""), ("\\%", ""), ("%", ""), (" .", " 0."), ("{.", "{0."), ("\\cdot", "")]);
    let text = text.replace("infinity", "\\infty");
    let text = if text.contains("\\infty") { text } else { text.replace("inf", "\\infty") };
    let text = replace_all(&text, &[("+\\inity", "\\infty"), ("and", ""), ("\\mathbf", "")]);
    let text = BOX.replace_all(&text, "").into_owned();
    let text = if text.contains('j') && !text.contains('i') { text.replace('j', "i") } else { text };
    let text = ZEROS_INSIDE.replace_all(&text, "$1$2");
    let text = ZEROS_AT_END.replace_all(&text, "$1").into_owned();
    if text.is_empty() {
        return Ok(text);
    }
    let text = right_of_equals(leading_zero(text));
    let text = ROOT.replace_all(&text, r"\sqrt{$1}").replace(' ', "");
    fix_a_slash_b(&fix_fracs(&text, peer)?, peer)
}

/// Each pair (from, to) in turn.
pub(super) fn replace_all(text: &str, pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

fn leading_zero(text: String) -> String {
    if text.starts_with('.') { format!("0{text}") } else { text }
}

/// `k = 5` as ` 5`, when what names the number has at most two characters.
fn right_of_equals(text: String) -> String {
    match text.split_once('=') {
        Some((name, value)) if !value.contains('=') && name.chars().count() <= 2 => value.into(),
        _ => text,
    }
}

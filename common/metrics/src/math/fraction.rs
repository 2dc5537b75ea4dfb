//! The rewritings of Hendrycks et al. 2021 (`math_equivalence.py`): fractions, roots, units.
//!
//! The copies that peers keep of it differ in what raises an exception, and an exception decides the comparison.

use compass_pyfmt::int;

/// Python raised: the caller compares otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raised;

/// Behaviour of a peer on texts that its copy was not made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// A `\frac` at the very end raises; else it leaves the text as it was.
    pub(super) bare_frac_raises: bool,
    /// Words on either side of a slash raise; else they leave the text as it was.
    pub(super) slash_words_raise: bool,
}

/// `\frac12` as `\frac{1}{2}`.
pub(super) fn fix_fracs(text: &str, peer: Peer) -> Result<String, Raised> {
    let mut parts = text.split("\\frac");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        out.push_str("\\frac");
        if part.starts_with('{') {
            out.push_str(part);
            continue;
        }
        let mut letters = part.chars();
        let Some(over) = letters.next() else {
            return if peer.bare_frac_raises { Err(Raised) } else { Ok(text.into()) };
        };
        let Some(under) = letters.next() else { return Ok(text.into()) };
        let under = if under == '{' { "{".into() } else { format!("{{{under}}}") };
        out.push_str(&format!("{{{over}}}{under}{}", letters.as_str()));
    }
    Ok(out)
}

/// `a/b` as `\frac{a}{b}` when both are plainly written integers.
pub(super) fn fix_a_slash_b(text: &str, peer: Peer) -> Result<String, Raised> {
    let parts: Vec<&str> = text.split('/').collect();
    let [over, under] = parts[..] else { return Ok(text.into()) };
    if int(over).is_none() || int(under).is_none() {
        return if peer.slash_words_raise { Err(Raised) } else { Ok(text.into()) };
    }
    if plain(over) && plain(under) { Ok(format!("\\frac{{{over}}}{{{under}}}")) } else { Ok(text.into()) }
}

/// Returns whether `str(int(text)) == text`.
fn plain(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text == "0" || (digits.starts_with(|c: char| matches!(c, '1'..='9')) && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the text before `\text{ `, which only units begin with.
pub(super) fn remove_right_units(text: &str) -> Result<&str, Raised> {
    let mut parts = text.split("\\text{ ");
    match (parts.next(), parts.next(), parts.next()) {
        (Some(before), Some(_), None) => Ok(before),
        (_, None, _) => Ok(text),
        _ => Err(Raised),
    }
}

/// `\sqrt3` as `\sqrt{3}`; a root of nothing raises.
pub(super) fn fix_sqrt(text: &str) -> Result<String, Raised> {
    let mut parts = text.split("\\sqrt");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let mut letters = part.chars();
        match letters.next().ok_or(Raised)? {
            '{' => out.push_str(&format!("\\sqrt{part}")),
            under => out.push_str(&format!("\\sqrt{{{under}}}{}", letters.as_str())),
        }
    }
    Ok(out)
}

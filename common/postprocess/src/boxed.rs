//! The answer in the last `\boxed{...}` of a LaTeX text.

/// The last `\boxed` (or else the last `\fbox`) up to the brace that closes its first one; `None` where none closes.
///
/// `last_boxed_only_string` of the MATH data set, as OpenCompass and lm-eval have it.
pub fn last_boxed(text: &str) -> Option<&str> {
    let start = text.rfind("\\boxed").or_else(|| text.rfind("\\fbox"))?;
    let mut depth = 0_i64;
    for (at, c) in text[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(&text[start..=start + at]);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the content of [`last_boxed`]; `None` when it is not of the form `\boxed{...}`.
pub fn boxed_answer(text: &str) -> Option<&str> {
    last_boxed(text)?.strip_prefix("\\boxed{")?.strip_suffix('}')
}

/// [`boxed_answer`], without a second pair of braces around it.
///
/// OpenCompass's `extract_boxed_answer(..., strip_double_curly_brace=True)`. Only a text of one line is unwrapped; a
/// newline after the closing brace goes with it.
pub fn unwrapped_boxed_answer(text: &str) -> Option<&str> {
    let answer = boxed_answer(text)?;
    let unwrapped =
        answer.strip_suffix('\n').unwrap_or(answer).strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    Some(unwrapped.filter(|inside| !inside.contains('\n')).unwrap_or(answer))
}

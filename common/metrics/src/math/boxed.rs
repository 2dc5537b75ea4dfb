//! The contents of `\boxed{...}`.

/// OpenCompass's `last_boxed_only_string`: the last `\boxed` (else `\fbox`) up to its closing brace.
pub fn last_boxed(text: &str) -> Option<&str> {
    let start = text.rfind("\\boxed").or_else(|| text.rfind("\\fbox"))?;
    let mut open = 0;
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            b'{' => open += 1,
            b'}' => {
                open -= 1;
                if open == 0 {
                    return Some(&text[start..=at]);
                }
            }
            _ => {}
        }
    }
    None
}

/// lm-eval's `last_boxed_only_string`: where `\boxed ` stands anywhere, what follows the last of them up to a dollar.
pub fn last_boxed_lm_eval(text: &str) -> Option<&str> {
    match text.rfind("\\boxed ") {
        Some(start) => text[start..].split('$').next(),
        None => last_boxed(text),
    }
}

/// OpenCompass's `remove_boxed`: what is inside `\boxed{...}`; `None` for anything else.
pub fn remove_boxed(boxed: &str) -> Option<&str> {
    boxed.strip_prefix("\\boxed{")?.strip_suffix('}')
}

/// lm-eval's `remove_boxed`, which also knows `\boxed ` without braces; `None` where it fails.
pub fn remove_boxed_lm_eval(boxed: &str) -> Option<&str> {
    if boxed.contains("\\boxed ") { boxed.strip_prefix("\\boxed ") } else { remove_boxed(boxed) }
}

/// OpenCompass's `extract_boxed_answer`; with `strip_double_braces` one more pair of braces around the answer is removed.
pub fn extract_boxed_answer(text: &str, strip_double_braces: bool) -> Option<&str> {
    let answer = remove_boxed(last_boxed(text)?)?;
    // `^\{(.*)\}$`: within one line, but for a newline at the very end.
    let inner = answer.strip_suffix('\n').unwrap_or(answer).strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match inner {
        Some(inner) if strip_double_braces && !inner.contains('\n') => Some(inner),
        _ => Some(answer),
    }
}

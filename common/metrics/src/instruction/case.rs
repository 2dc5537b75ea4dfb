//! `str.isupper()` and `str.islower()`.

/// Whether there are cased characters and all of them are upper case.
pub(super) fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(|c| c.is_lowercase() || is_title(c))
}

/// Whether there are cased characters and all of them are lower case.
pub(super) fn is_lower(text: &str) -> bool {
    text.chars().any(char::is_lowercase) && !text.chars().any(|c| c.is_uppercase() || is_title(c))
}

/// The few digraphs with a capital first letter, such as ǅ: neither upper nor lower case.
fn is_title(c: char) -> bool {
    !c.is_ascii()
        && !c.is_uppercase()
        && !c.is_lowercase()
        && c.to_lowercase().ne([c])
        && matches!(c, '\u{1c5}'..='\u{1f2}' | '\u{1f88}'..='\u{1ffc}')
}

//! Numbers with the things that they count, as people say them.

/// `1 task`, `3 tasks`.
pub(super) fn some(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// `is` of one, `are` of more.
pub(super) fn are(number: impl Into<u64>) -> &'static str {
    if number.into() == 1 { "is" } else { "are" }
}

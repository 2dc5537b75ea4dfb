//! Durations on the command line: `90s`, `10m`, `2h`.

use std::time::Duration;

/// Reads a whole number with its unit.
///
/// # Errors
/// The text is not a number with a unit.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and s, m or h, such as 90s, 10m or 2h".to_owned();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let count: u64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    Ok(Duration::from_secs(count.saturating_mul(seconds)))
}

//! Times as people write them: `90s`, `10m`, `24h`, `7d`.

use std::time::Duration;

/// What to write instead of what is not a time.
pub const DURATION_HELP: &str = "write a number and s, m, h or d, such as 90s, 10m, 24h or 7d";

/// Reads a time; `None` for anything else.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let count: u64 = digits.parse().ok()?;
    let seconds = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    count.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("24h", 86_400), ("7d", 604_800), ("0s", 0)] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in ["", "10", "h", "-1h", "1.5h", "1 h", "1w", "99999999999999999999d", "18446744073709551615d"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}

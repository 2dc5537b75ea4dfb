//! Times as people write them: `90s`, `10m`, `24h`, `7d`, and as programs show them: `1h 30m`.

use std::time::Duration;

/// Help for a text that is not a time.
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

/// Reads a time of one unit or of several, the larger ones first: `90s`, `1h30m`, `1h 30m`; `None` for anything else.
pub fn parse_long_duration(text: &str) -> Option<Duration> {
    let (mut total, mut least, mut rest) = (Duration::ZERO, Duration::MAX, text);
    loop {
        let end = rest.find(|c: char| c.is_ascii_alphabetic())? + 1;
        let (part, behind) = rest.split_at(end);
        let unit = parse_duration(&format!("1{}", &part[end - 1..]))?;
        if unit >= least {
            return None;
        }
        total = total.checked_add(parse_duration(part)?)?;
        least = unit;
        if behind.is_empty() {
            return Some(total);
        }
        rest = behind.strip_prefix(' ').unwrap_or(behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_several_units() {
        for (text, seconds) in [
            ("90s", 90),
            ("1h30m", 5_400),
            ("1h 30m", 5_400),
            ("2m 05s", 125),
            ("1d 02h", 93_600),
            ("1d2h3m4s", 93_784),
        ] {
            assert_eq!(parse_long_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in ["", "10", "h", "-1h", "1.5h", "1 h", "1w", "1h ", "1h  30m", "30m1h", "1h1h", "1h30", "\u{e9}h"] {
            assert_eq!(parse_long_duration(wrong), None, "{wrong}");
        }
    }

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

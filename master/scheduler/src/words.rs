//! Numbers with the things that they count, and times, as people say them.

/// `1 task`, `3 tasks`.
pub(super) fn some(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// `45s`, `2m 40s`, `1h 36m`: as everywhere else on the screen; part of a second counts as one.
pub(super) fn lasting(milliseconds: u64) -> String {
    let seconds = milliseconds.div_ceil(1_000);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// `is` of one, `are` of more.
pub(super) fn are(number: impl Into<u64>) -> &'static str {
    if number.into() == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        let shown = [0, 1, 59_000, 600_000, 5_810_000].map(lasting);
        assert_eq!(shown, ["0s", "1s", "59s", "10m 00s", "1h 36m"]);
    }
}

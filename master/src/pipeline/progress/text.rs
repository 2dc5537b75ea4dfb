//! Numbers and times of progress as people read them.

use compass_common::words::duration;

/// `1,234,567`.
pub(in crate::pipeline) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// When the samples that are left will be through at this rate.
pub(super) fn eta(left: u64, rate: f64) -> String {
    match left {
        0 => "done".to_owned(),
        _ if rate > 0.0 => format!("eta {}", duration(left as f64 / rate)),
        _ => "eta unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_as_people_read_them() {
        let shown = [0, 999, 1_000, 13_212, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "13,212", "1,234,567"]);
        assert_eq!(eta(0, 0.0), "done");
        assert_eq!(eta(480, 0.0), "eta unknown");
        assert_eq!(eta(480, 3.0), "eta 2m 40s");
    }
}

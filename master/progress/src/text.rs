//! Numbers and times of progress as people read them.

use compass_common::words::{duration, grouped};

/// Says when the samples that are left will be through at this rate.
pub(super) fn eta(left: u64, rate: f64) -> String {
    match left {
        0 => "done".to_owned(),
        _ if rate > 0.0 => format!("eta {}", duration(left as f64 / rate)),
        _ => "eta unknown".to_owned(),
    }
}

/// `14,890.7 samples/s`.
pub(super) fn speed(rate: f64) -> String {
    let tenths = (rate.max(0.0) * 10.0).round() as u64;
    format!("{}.{} samples/s", grouped(tenths / 10), tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_as_people_read_them() {
        let shown = [0.0, 0.04, 0.96, 225.47, 999.96, 14_890.7, f64::NAN].map(speed);
        let expected = ["0.0", "0.0", "1.0", "225.5", "1,000.0", "14,890.7", "0.0"];
        assert_eq!(shown, expected.map(|number| format!("{number} samples/s")));
    }

    #[test]
    fn times_as_people_read_them() {
        assert_eq!(eta(0, 0.0), "done");
        assert_eq!(eta(480, 0.0), "eta unknown");
        assert_eq!(eta(480, 3.0), "eta 2m 40s");
    }
}

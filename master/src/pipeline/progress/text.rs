//! Numbers and times of progress as people read them.

use compass_common::words::duration;

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
    fn times_as_people_read_them() {
        assert_eq!(eta(0, 0.0), "done");
        assert_eq!(eta(480, 0.0), "eta unknown");
        assert_eq!(eta(480, 3.0), "eta 2m 40s");
    }
}

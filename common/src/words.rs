//! Numbers and times as people read them.

/// `45s`, `2m 40s`, `1h 36m`, `2d 03h`: the two largest units.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let (minutes, hours, days) = (whole / 60, whole / 3_600, whole / 86_400);
    match whole {
        0..60 => format!("{whole}s"),
        60..3_600 => format!("{minutes}m {:02}s", whole % 60),
        3_600..86_400 => format!("{hours}h {:02}m", minutes % 60),
        _ => format!("{days}d {:02}h", hours % 24),
    }
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
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

/// `1 task`, `4 tasks`, `24,000 samples`.
pub fn counted(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Lists the names of a kind: `the only job is a`, `the jobs are a, b`.
pub fn those(noun: &str, names: &[impl AsRef<str>]) -> String {
    match names {
        [one] => format!("the only {noun} is {}", one.as_ref()),
        names => {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            format!("the {noun}s are {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_list() {
        assert_eq!([those("job", &["a"]), those("job", &["a", "b"])], ["the only job is a", "the jobs are a, b"]);
    }

    #[test]
    fn times_have_two_units_and_nouns_their_number() {
        assert_eq!([0, 999, 1_000, 13_212, 1_234_567].map(grouped), ["0", "999", "1,000", "13,212", "1,234,567"]);
        let shown = [0.4, 59.4, 160.0, 5810.0, 90_000.0, -1.0].map(duration);
        assert_eq!(shown, ["0s", "59s", "2m 40s", "1h 36m", "1d 01h", "0s"]);
        assert_eq!(
            [counted(0u32, "task"), counted(1u32, "task"), counted(24_000u64, "task")],
            ["0 tasks", "1 task", "24,000 tasks"]
        );
    }
}

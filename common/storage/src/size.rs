//! Sizes as people write them.

const UNITS: [(&str, u64); 4] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];

/// `500G` and the like in bytes.
///
/// # Errors
/// In words: how it is written.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "write a number and K, M, G or T, such as 500G".to_owned();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let count: u64 = digits.parse().map_err(|_| wrong())?;
    let ending = text.get(digits.len()..).unwrap_or_default().trim_end_matches("iB").trim_end_matches('B');
    let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(ending)).map(|(_, unit)| *unit);
    let unit = unit.or((ending.is_empty()).then_some(1)).ok_or_else(wrong)?;
    count.checked_mul(unit).filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("1", 1), ("2K", 2048), ("3g", 3 << 30), ("1TiB", 1 << 40), ("5MB", 5 << 20)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "G", "5X", "-1G", "99999999999T"] {
            assert!(parse_size(text).unwrap_err().contains("such as 500G"), "{text}");
        }
    }
}

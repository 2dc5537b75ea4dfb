//! Whole numbers of the command line, refused in plain words.

/// A whole number.
pub(super) fn whole(text: &str) -> Result<u32, String> {
    within::<0, { u32::MAX }>(text)
}

/// A whole number above 0.
pub(super) fn above_zero(text: &str) -> Result<u32, String> {
    within::<1, { u32::MAX }>(text)
}

/// A whole number from `LEAST` to `MOST`.
pub(super) fn within<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, String> {
    let number = read(text, LEAST.into(), MOST.into())?;
    u32::try_from(number).map_err(|_| at_most(MOST.into()))
}

/// A whole number above 0 that may be a large one.
pub(super) fn large_above_zero(text: &str) -> Result<u64, String> {
    read(text, 1, u64::MAX)
}

fn read(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let is_whole = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(number) if number < least => Err(format!("write a whole number of at least {least}")),
        Ok(number) if number <= most => Ok(number),
        _ if is_whole => Err(at_most(most)),
        _ => Err("write a whole number, such as 2".to_owned()),
    }
}

fn at_most(most: u64) -> String {
    format!("write a whole number of at most {most}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_or_out_of_bounds_is_told_in_words() {
        assert_eq!((whole("0"), above_zero("7"), large_above_zero("5000000000")), (Ok(0), Ok(7), Ok(5_000_000_000)));
        for text in ["x", "", "1.5", "2 "] {
            assert_eq!(whole(text), Err("write a whole number, such as 2".to_owned()), "{text}");
        }
        assert_eq!(above_zero("0"), Err("write a whole number of at least 1".to_owned()));
        for text in ["1001", "99999999999999999999"] {
            assert_eq!(within::<1, 1_000>(text), Err("write a whole number of at most 1000".to_owned()));
        }
        assert_eq!(whole("4294967296"), Err("write a whole number of at most 4294967295".to_owned()));
    }
}

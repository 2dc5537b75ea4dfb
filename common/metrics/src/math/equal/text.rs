//! Words: answers that are no formula, and units.

/// Units of measure under one name each. Other words behind a number (`square units`, `apples`) say nothing that is compared.
const UNITS: [(&str, &[&str]); 28] = [
    ("mm", &["mm", "millimeter", "millimetre"]),
    ("cm", &["cm", "centimeter", "centimetre"]),
    ("dm", &["dm", "decimeter", "decimetre"]),
    ("m", &["m", "meter", "metre"]),
    ("km", &["km", "kilometer", "kilometre"]),
    ("in", &["in", "inch", "inche"]),
    ("ft", &["ft", "foot", "feet"]),
    ("yd", &["yd", "yard"]),
    ("mi", &["mi", "mile"]),
    ("mg", &["mg", "milligram"]),
    ("g", &["g", "gram"]),
    ("kg", &["kg", "kilogram"]),
    ("lb", &["lb", "pound"]),
    ("ml", &["ml", "milliliter", "millilitre"]),
    ("l", &["l", "liter", "litre"]),
    ("s", &["s", "sec", "second"]),
    ("min", &["min", "minute"]),
    ("h", &["h", "hr", "hour"]),
    ("day", &["day"]),
    ("week", &["week"]),
    ("month", &["month"]),
    ("year", &["yr", "year"]),
    ("degree", &["degree", "deg"]),
    ("radian", &["rad", "radian"]),
    ("cent", &["cent"]),
    ("dollar", &["dollar"]),
    ("mi/h", &["mph"]),
    ("km/h", &["kph"]),
];

/// A unit's one name.
fn unit(word: &str) -> Option<&'static str> {
    let word = word.trim().to_ascii_lowercase();
    let word = word.trim_end_matches('.');
    let singular = word.strip_suffix('s').filter(|rest| rest.len() > 1).unwrap_or(word);
    let known = UNITS.iter().find(|(_, names)| names.contains(&word) || names.contains(&singular));
    known.map(|(name, _)| *name)
}

/// Returns whether a word of several letters behind a number is a unit.
pub(super) fn is_unit(word: &str) -> bool {
    unit(word).is_some()
}

/// The number that the first of these words multiplies by: `million dollars`.
pub(super) fn scale(words: &str) -> Option<i64> {
    Some(match words.split_whitespace().next()?.to_ascii_lowercase().as_str() {
        "dozen" => 12,
        "hundred" => 100,
        "thousand" => 1000,
        "million" => 1_000_000,
        "billion" => 1_000_000_000,
        "trillion" => 1_000_000_000_000,
        _ => return None,
    })
}

/// A unit of measure as it is compared, with its power: `square centimeters` is `cm^2`; none of any other words.
pub(super) fn measure(words: &str) -> Option<String> {
    let words = words.trim();
    if let Some((over, under)) = words.split_once('/').or_else(|| words.split_once(" per ")) {
        return Some(format!("{}/{}", measure(over)?, measure(under)?));
    }
    let lower = words.to_ascii_lowercase();
    for (prefix, power) in [("square ", "^2"), ("sq ", "^2"), ("sq. ", "^2"), ("cubic ", "^3"), ("cu ", "^3")] {
        if let Some(rest) = lower.strip_prefix(prefix) {
            return unit(rest).map(|name| format!("{name}{power}"));
        }
    }
    let (word, power) = words.split_once('^').unwrap_or((words, ""));
    let name = unit(word)?;
    Some(if power.is_empty() { name.to_owned() } else { format!("{name}^{}", power.trim()) })
}

/// Words as they are compared: without case, spaces, outer brackets and points.
pub(super) fn plain(words: &str) -> String {
    let letters: String = words.chars().filter(|letter| !letter.is_whitespace() && *letter != '\\').collect();
    let lower = letters.to_lowercase();
    lower.trim_matches(['(', ')', '.', ',', ':', '\'', '"', '{', '}']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{measure, plain};

    #[test]
    fn units_have_one_name_each() {
        assert_eq!(measure(" square centimeters"), measure("cm^2"));
        assert_eq!(measure("inches"), measure("in"));
        assert_ne!(measure("m"), measure("cm"));
        assert_eq!(measure("miles per hour"), measure("mph"));
        assert_ne!(measure("m/s"), measure("km/h"));
        assert_eq!(measure("square units"), None);
        assert_eq!(measure("apples"), None);
    }

    #[test]
    fn words_are_compared_without_case_and_brackets() {
        assert_eq!(plain("(B)"), plain("b"));
        assert_eq!(plain("No  solution."), plain("no solution"));
    }
}

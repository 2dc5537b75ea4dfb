//! Numbers as people write them: signs, currencies, thousands, percents, powers of ten, fractions.

use super::folded::is_latin;

/// A number at the beginning of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number<'t> {
    /// Plain digits with a sign and a point, or a fraction `a/b`.
    pub(super) text: String,
    pub(super) rest: &'t str,
}

/// A number in digits: `-12.50` is `{ negative, "12", "50" }`.
struct Digits {
    whole: String,
    fraction: String,
}

const MINUS: [&str; 6] = ["-", "−", "–", "minus ", "negative ", "负"];
#[rustfmt::skip]
const CURRENCIES: [&str; 18] = [
    "\\$", "$", "€", "£", "¥", "￥", "₹", "US$", "HK$", "NT$", "A$", "C$", "USD ", "RMB ", "EUR ", "Rs. ", "Rs ", "\\pounds",
];
const THOUSANDS: [&str; 12] =
    [",", "{,}", "\\,", "\\!", ",\\!", "\\ ", " ", "\u{A0}", "\u{2009}", "\u{202F}", "'", "’"];
#[rustfmt::skip]
const SCALES: [(&str, i32); 10] = [
    (" million", 6), (" billion", 9), (" trillion", 12), (" thousand", 3), ("万亿", 12), ("百万", 6), ("千万", 7), ("万", 4), ("亿", 8),
    ("千", 3),
];
/// Units that begin with the Chinese word for a thousand.
const KILO: [&str; 8] = ["克", "米", "瓦", "卡", "字", "帕", "赫", "伏"];
/// Largest power of ten that is written out.
const MAX_POWER: i32 = 40;

/// Reads a number at the beginning of a text.
pub(super) fn number_at(text: &str) -> Option<Number<'_>> {
    let (negative, rest) = sign(text);
    let rest = currency(rest);
    let (again, rest) = sign(rest);
    let negative = negative != again;
    let signed = |text: String| match text.strip_prefix('-') {
        Some(positive) if negative => positive.to_owned(),
        _ if negative && text != "0" => format!("-{text}"),
        _ => text,
    };
    if let Some(found) = latex_fraction(rest) {
        return Some(Number { text: signed(found.text), rest: found.rest });
    }
    let (digits, rest) = digits(rest)?;
    if let Some(found) = latex_fraction(rest).filter(|_| digits.fraction.is_empty()) {
        return Some(Number { text: signed(mixed(&digits.whole, &found.text)?), rest: found.rest });
    }
    if let Some(found) = vulgar(rest).filter(|_| digits.fraction.is_empty()) {
        return Some(Number { text: signed(mixed(&digits.whole, &found.text)?), rest: found.rest });
    }
    if let Some((below, rest)) = slash(rest).filter(|_| digits.fraction.is_empty()) {
        return Some(Number { text: signed(format!("{}/{below}", shifted(&digits, 0))), rest });
    }
    let (power, rest) = power_of_ten(rest);
    let (scale, rest) = scale(rest);
    let text = match power.checked_add(scale).filter(|power| power.abs() <= MAX_POWER) {
        Some(power) => shifted(&digits, power),
        None => format!("{}e{power}", shifted(&digits, scale)),
    };
    Some(Number { text: signed(text), rest: percent(rest) })
}

fn sign(text: &str) -> (bool, &str) {
    let inner = text.trim_start_matches(' ');
    match MINUS.iter().find_map(|sign| inner.strip_prefix(sign)) {
        Some(rest) => (true, rest.trim_start_matches(' ')),
        None => (false, inner.strip_prefix('+').unwrap_or(inner)),
    }
}

fn currency(text: &str) -> &str {
    CURRENCIES.iter().find_map(|currency| text.strip_prefix(currency)).unwrap_or(text).trim_start_matches(' ')
}

fn digit_run(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Reads digits with groups and a decimal point; a comma between other groups than thousands ends them.
fn digits(text: &str) -> Option<(Digits, &str)> {
    let (first, rest) = digit_run(text);
    if first.is_empty() {
        let (fraction, rest) = digit_run(rest.strip_prefix('.')?);
        return (!fraction.is_empty()).then(|| (Digits { whole: "0".into(), fraction: fraction.into() }, rest));
    }
    if let Some(found) = with_points(text) {
        return Some(found);
    }
    let grouped = THOUSANDS.iter().find_map(|separator| groups(first, rest, separator)).or_else(|| indian(first, rest));
    let (whole, rest) = grouped.unwrap_or_else(|| (first.to_owned(), rest));
    let (fraction, rest) = match rest.strip_prefix('.').map(digit_run) {
        Some((fraction, rest)) if !fraction.is_empty() => (fraction, rest),
        _ => ("", rest),
    };
    Some((Digits { whole, fraction: fraction.to_owned() }, rest))
}

/// Reads `,234,567` behind up to three digits.
fn groups<'t>(first: &str, mut rest: &'t str, separator: &str) -> Option<(String, &'t str)> {
    let mut whole = first.to_owned();
    while let Some((group, after)) = rest.strip_prefix(separator).map(digit_run) {
        if group.len() != 3 {
            break;
        }
        whole.push_str(group);
        rest = after;
    }
    (first.len() <= 3 && whole.len() > first.len()).then_some((whole, rest))
}

/// Reads `,23,456` behind one or two digits: lakhs and crores.
fn indian<'t>(first: &str, mut rest: &'t str) -> Option<(String, &'t str)> {
    let mut whole = first.to_owned();
    // More digits than any amount has.
    while let Some((group, after)) = rest.strip_prefix(',').map(digit_run).filter(|_| whole.len() < 20) {
        match group.len() {
            2 => (whole, rest) = (whole + group, after),
            3 if whole.len() > first.len() && first.len() <= 2 => return Some((whole + group, after)),
            _ => return None,
        }
    }
    None
}

/// Reads `1.234.567` and `1.234,56`; `1.234` is a decimal.
fn with_points(text: &str) -> Option<(Digits, &str)> {
    let (first, rest) = digit_run(text);
    let (whole, rest) = groups(first, rest, ".")?;
    let (fraction, after) = rest.strip_prefix(',').map(digit_run).unwrap_or(("", rest));
    let is_decimal = (1..=2).contains(&fraction.len());
    let several = whole.len() - first.len() >= 6;
    if is_decimal {
        return Some((Digits { whole, fraction: fraction.to_owned() }, after));
    }
    several.then(|| (Digits { whole, fraction: String::new() }, rest))
}

/// Reads the denominator of `3/4`.
fn slash(rest: &str) -> Option<(&str, &str)> {
    let (below, rest) = digit_run(rest.trim_start_matches(' ').strip_prefix('/')?.trim_start_matches(' '));
    let is_zero = below.bytes().all(|digit| digit == b'0');
    (!is_zero && !rest.starts_with('/')).then_some((below, rest))
}

/// Reads `½` and ` 1/2` behind a whole number.
fn vulgar(rest: &str) -> Option<Number<'_>> {
    const SIGNS: [(&str, &str); 5] = [("½", "1/2"), ("¼", "1/4"), ("¾", "3/4"), ("⅓", "1/3"), ("⅔", "2/3")];
    if let Some((rest, text)) = SIGNS.iter().find_map(|(sign, text)| Some((rest.strip_prefix(sign)?, *text))) {
        return Some(Number { text: text.into(), rest });
    }
    let (above, inner) = digit_run(rest.strip_prefix(' ')?);
    let (below, inner) = slash(inner).filter(|_| !above.is_empty())?;
    let is_proper = above.len() < below.len() || above.len() == below.len() && above < below;
    is_proper.then(|| Number { text: format!("{above}/{below}"), rest: inner })
}

fn latex_fraction(text: &str) -> Option<Number<'_>> {
    let inner =
        ["\\frac", "\\dfrac", "\\tfrac"].iter().find_map(|name| text.trim_start_matches(' ').strip_prefix(name))?;
    let (sign, (above, rest)) = match inner.strip_prefix("{-").map(digit_run) {
        Some((above, rest)) if !above.is_empty() => ("-", (above, rest.strip_prefix('}')?)),
        _ => ("", argument(inner)?),
    };
    let (below, rest) = argument(rest)?;
    Some(Number { text: format!("{sign}{above}/{below}"), rest })
}

/// Reads `{12}` or one digit.
fn argument(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('{') {
        Some(inner) => {
            let (number, rest) = digit_run(inner);
            Some((number, rest.strip_prefix('}')?)).filter(|(number, _)| !number.is_empty())
        }
        None => text.bytes().next().filter(u8::is_ascii_digit).map(|_| text.split_at(1)),
    }
}

/// Adds a whole number to a fraction: 2 and `1/3` are `7/3`.
fn mixed(whole: &str, fraction: &str) -> Option<String> {
    let (above, below) = fraction.split_once('/')?;
    let (whole, above, below): (u64, u64, u64) = (whole.parse().ok()?, above.parse().ok()?, below.parse().ok()?);
    Some(format!("{}/{below}", whole.checked_mul(below)?.checked_add(above)?))
}

/// Reads `e5`, `× 10^5`.
fn power_of_ten(rest: &str) -> (i32, &str) {
    let read = || {
        let (sign, digits) = match rest.strip_prefix(['e', 'E']) {
            Some(power) => (power.starts_with('-'), power.trim_start_matches(['-', '+'])),
            None => {
                let inner = rest.trim_start_matches(' ');
                let inner =
                    ["\\times", "\\cdot", "×", "x", "*", "·"].iter().find_map(|times| inner.strip_prefix(times))?;
                let inner = inner.trim_start_matches(' ').strip_prefix("10")?;
                let power = inner
                    .strip_prefix("^{")
                    .or_else(|| inner.strip_prefix('^'))
                    .or_else(|| inner.strip_prefix("**"))?;
                (power.starts_with(['-', '−']), power.trim_start_matches(['-', '−', '+']))
            }
        };
        let (digits, after) = digit_run(digits);
        let power: i32 = digits.parse().ok()?;
        let power = if sign { -power } else { power };
        Some((power, after.strip_prefix('}').unwrap_or(after)))
    };
    read().unwrap_or((0, rest))
}

fn scale(rest: &str) -> (i32, &str) {
    let spaced = rest.strip_prefix(' ').filter(|next| next.starts_with(['万', '亿'])).unwrap_or(rest);
    let found = SCALES.iter().find_map(|(word, power)| Some((*word, *power, spaced.strip_prefix(word)?)));
    match found {
        Some(("千", _, after)) if KILO.iter().any(|unit| after.starts_with(unit)) => (0, rest),
        Some((_, power, after)) if !after.starts_with(is_latin) => (power, after),
        _ => (0, rest),
    }
}

fn percent(rest: &str) -> &str {
    let inner = rest.trim_start_matches(' ');
    ["%", "\\%", "percent"].iter().find_map(|sign| inner.strip_prefix(sign)).unwrap_or(rest)
}

/// Moves the point by `power` places; without zeros that say nothing.
fn shifted(digits: &Digits, power: i32) -> String {
    let all = format!("{}{}", digits.whole, digits.fraction);
    let places = power.unsigned_abs() as usize;
    let point = digits.whole.len();
    let zeros = "0".repeat(places);
    let (all, point) = if power < 0 { (zeros + &all, point) } else { (all + &zeros, point + places) };
    let (whole, fraction) = all.split_at(point);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_they_are_written() {
        for (text, number, rest) in [
            ("70,000.", "70000", "."),
            ("\\$70{,}000", "70000", ""),
            ("1,234", "1234", ""),
            ("12,345,678 x", "12345678", " x"),
            ("12\\,345", "12345", ""),
            ("12 345 678", "12345678", ""),
            ("1'234.50", "1234.5", ""),
            ("1.234.567", "1234567", ""),
            ("1.234,56 €", "1234.56", " €"),
            ("1.234", "1.234", ""),
            ("1,23,456", "123456", ""),
            ("1,2", "1", ",2"),
            ("1,2,345", "1", ",2,345"),
            ("2020 100", "2020", " 100"),
            ("-$5", "-5", ""),
            ("$-5", "-5", ""),
            ("−3.50", "-3.5", ""),
            ("-0.0", "0", ""),
            ("033", "33", ""),
            (".5", "0.5", ""),
            ("50\\%", "50", ""),
            ("12 percent", "12", ""),
            ("3/4", "3/4", ""),
            ("-\\frac{1}{2}", "-1/2", ""),
            ("2\\frac13", "7/3", ""),
            ("1.5\\times 10^{3}", "1500", ""),
            ("6.02e23", "602000000000000000000000", ""),
            ("1e-3", "0.001", ""),
            ("1e99", "1e99", ""),
            ("2 million.", "2000000", "."),
            ("3.5万元", "35000", "元"),
            ("5千克", "5", "千克"),
            ("12. Since", "12", ". Since"),
        ] {
            assert_eq!(number_at(text), Some(Number { text: number.to_owned(), rest }), "{text}");
        }
        assert_eq!(number_at("x"), None);
        assert_eq!(number_at("."), None);
    }
}

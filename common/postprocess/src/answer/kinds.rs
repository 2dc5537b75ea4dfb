//! Values of each kind at the head of a text: behind a marker, or all of a box, a tag or a line.

use super::candidate::{Read, Reading};
use super::dress::{Denial, denial, head, strip_variable, undress};
use super::exclusions::EXCLUDES;
use super::folded::{WINDOW, after_closers, beginning, constant, ending, ends_clause, is_latin, sentence};
use super::found::AnswerKind;
use super::letters::letters_at;
use super::math::{self, formula_at, spelt};
use super::number::{Number, number_at};
use super::options_list::begins_list;
use super::text::{self, phrase_at};
use regex::Regex;
use std::sync::LazyLock;

/// Extent of a text that may hold a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Its head alone.
    Head,
    /// Its head, or else its first sentence.
    Sentence,
    /// All of it: a box, a tag, a line.
    Whole,
}

/// Reads a value of `kind`; `None` where the text holds no value.
pub(super) fn read<'t>(text: &'t str, kind: &AnswerKind, extent: Extent) -> Option<Read<'t>> {
    let inner = head(text);
    match denial(inner) {
        Some(Denial::Excludes(instead)) if *kind != AnswerKind::Text => value(instead?, kind, Extent::Head),
        Some(Denial::Excludes(_)) if extent != Extent::Whole => None,
        Some(Denial::Nothing) if matches!(kind, AnswerKind::Choice { .. }) => {
            Some(Read { reading: Reading::Nothing, rest: inner })
        }
        Some(Denial::Nothing)
            if *kind == AnswerKind::Number || *kind == AnswerKind::Math && extent != Extent::Whole =>
        {
            other(sentence(inner))
        }
        _ => value(text, kind, extent),
    }
}

fn value<'t>(text: &'t str, kind: &AnswerKind, extent: Extent) -> Option<Read<'t>> {
    match kind {
        AnswerKind::Choice { options } => choice(text, options.as_str(), extent),
        AnswerKind::Number => number(text, extent),
        AnswerKind::Math => formula(text, extent),
        AnswerKind::Text => words(text, extent),
    }
}

fn valid<'t>(text: impl Into<String>, rest: &'t str) -> Option<Read<'t>> {
    Some(Read { reading: Reading::Valid { text: text.into(), outside: false }, rest })
}

fn other(text: &str) -> Option<Read<'_>> {
    let text = text::tidy(text);
    let is_short = !text.is_empty() && text.len() <= text::LONGEST;
    is_short.then(|| Read { reading: Reading::Other(text.to_owned()), rest: "" })
}

fn choice<'t>(text: &'t str, options: &str, extent: Extent) -> Option<Read<'t>> {
    let bare = undress(text);
    // `C = 3.2` names an option, no variable.
    let is_named = bare.starts_with(|c| options.contains(c)) && strip_variable(bare).is_some();
    let inner = if is_named { bare } else { head(text) };
    if begins_list(inner, options) {
        return None;
    }
    let before = &text[..text.len() - inner.len()];
    let found = letters_at(inner, before, options);
    if let Some(found) = found {
        let window = beginning(inner, WINDOW);
        let named = &window[..window.len() - found.rest.len()];
        let reading = match found.letters {
            // `B or C` leaves it open.
            letters if found.outside && (named.contains(" or ") || named.contains('或')) => Reading::Other(letters),
            text => Reading::Valid { text, outside: found.outside },
        };
        return Some(Read { reading, rest: found.rest });
    }
    let closing = (extent != Extent::Head).then(|| closing_option(sentence(text), options)).flatten();
    match closing {
        Some(letter) => valid(letter, ""),
        None if extent == Extent::Whole => other(inner),
        None => None,
    }
}

/// Returns the option that a sentence ends with: `option B`, `(B)`, `**B**`.
pub(super) fn closing_option(sentence: &str, options: &str) -> Option<char> {
    static CLOSING: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r#"(?:(?i:option|choice|letter|选项|选)\s*[(\[*"']*|[(\[]\**|\*\*\(?|\bis\s+)([A-Za-z0-9])[)\]*"'.]*\s*$"#,
        )
    });
    let letter = CLOSING.captures(sentence)?.get(1)?;
    if EXCLUDES.is_match(ending(&sentence[..letter.start()], 40)) {
        return None;
    }
    let letter = letter.as_str().chars().next()?;
    [letter, letter.to_ascii_uppercase()].into_iter().find(|c| options.contains(*c))
}

/// Text behind a number that is a part of something longer: an operator, a range, a symbol.
static LONGER: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)^(?:[\s)}$]*(?:(?:[+×÷^−]|\\(?:times|div|cdot|pm)\b)\s*[{(\\]?-?[\da-z$\\]|\*\s?\d|[-–]\s*[$\\(]?\d|=|<|:\d|\\(?:sqrt|pi)|[π√])|[xyzni](?:[^a-z]|$)|\([a-z\d][-+)*]|\s*(?:to|~|至|到)\s*[$€£]?\d|\s*[a-z]+\s+and\s+\d|\s*[a-z/]{1,8}\s*[*×+÷]\s*\d)",
    )
});
/// Text behind a number of a box by which it is not all: further digits, a factorial, another number.
static MORE: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)^(?: \d|!|[\s}]*(?:\\text\{)?\s*\b(?:and|or)\b[\s}$]*[-\d\\])"));
/// A degree sign, which is no power.
static DEGREE: LazyLock<Regex> = LazyLock::new(|| constant(r"^\s*\^\{?\\circ"));

fn number(text: &str, extent: Extent) -> Option<Read<'_>> {
    let inner = head(text);
    let clause = if extent == Extent::Whole { inner } else { sentence(inner) };
    let Some(found) = number_at(inner) else {
        return match extent {
            Extent::Head => None,
            Extent::Sentence => {
                clause_number(clause).map(|found| Read { reading: number_reading(found.text), rest: "" })
            }
            Extent::Whole => equals(clause).map_or_else(|| other(clause), |found| valid(found, "")),
        };
    };
    if extent == Extent::Whole && MORE.is_match(found.rest) {
        return other(clause);
    }
    if is_longer(found.rest) {
        let first = || found.rest.trim_start().starts_with('=').then(|| found.text.clone());
        return equals(clause).or_else(first).map_or_else(|| other(clause), |number| valid(number, ""));
    }
    match total(found.rest) {
        Some(total) => valid(total.text, ""),
        None if is_list(found.rest) => other(clause),
        None => valid(found.text, found.rest),
    }
}

/// Returns the total behind the price of each: `$5 each, for a total of $20`.
fn total(rest: &str) -> Option<Number<'_>> {
    static TOTAL: LazyLock<Regex> = LazyLock::new(|| {
        constant(r"(?i)^\s*(?:each|apiece|per \w+)\b.{0,40}\btotal(?:s|ing|ling)?(?: of| is| comes to| =|:)?\s+")
    });
    number_at(&rest[TOTAL.find(sentence(rest))?.end()..])
}

fn number_reading(text: String) -> Reading {
    Reading::Valid { text, outside: false }
}

fn is_longer(rest: &str) -> bool {
    LONGER.is_match(rest) && !DEGREE.is_match(rest)
}

/// Returns `true` if another number of a list follows: `,2`, `, 7.`, ` or 7`.
fn is_list(rest: &str) -> bool {
    let inner = after_closers(rest);
    if let Some(next) = inner.strip_prefix(',').filter(|next| next.starts_with(|c: char| c.is_ascii_digit())) {
        return !next.is_empty();
    }
    let next = inner.strip_prefix([',', '、']).unwrap_or(inner).trim_start_matches(' ');
    let word = super::dress::strip_word(next, &["and", "or"]).or_else(|| next.strip_prefix(['和', '或', '与']));
    let next = word.unwrap_or(next);
    next.len() < inner.len() && number_at(undress(next)).is_some_and(|found| ends_clause(found.rest))
}

/// Returns the number behind the last `=` of a clause.
fn equals(clause: &str) -> Option<String> {
    let found = number_at(head(clause.rsplit_once('=')?.1))?;
    (!is_longer(found.rest) && !is_list(found.rest)).then_some(found.text)
}

/// Returns the number of a clause: one that is bold, one behind `=`, the only amount of money, or the last that is no reason, no part of a
/// whole and no circumstance.
pub(super) fn clause_number(clause: &str) -> Option<Number<'_>> {
    static BOLD: LazyLock<Regex> = LazyLock::new(|| constant(r"\*\*([^*\n]{1,60})\*\*"));
    static MONEY: LazyLock<Regex> = LazyLock::new(|| constant(r"[$€£¥￥]\s?\d"));
    static ASIDE: LazyLock<Regex> = LazyLock::new(|| {
        constant(concat!(
            r"(?i)\([^()]*\)|\b(?:because|since|given that)\b.*|因为.*",
            r"|,\s+(?:when|where|while|whereas|compared|which is \S+ (?:more|less|fewer|higher|lower|times|percent))\b.*",
            r"|\bto (?:paint|finish|complete|make|buy|build|read|walk|run|drive|travel|cover|fill|bake|produce)\s+(?:the |all |his |her )?\d+",
            r"|\btotal of ([$€£]?\d[\d,]*(?:\.\d+)?)",
            r"|\b(?:(?:out )?of|in|after|for|per|at|over|within|during|from|than|by)\s+(?:the\s+|each of the\s+|about\s+)?[$€£]?\d[\d,]*(?:\.\d+)?",
        ))
    });
    static SO: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i),\s+(?:so|thus|therefore|hence)\s"));
    static IN_TOTAL: LazyLock<Regex> =
        LazyLock::new(|| constant(r"(?i)([$€£]?\d[\d,]*(?:\.\d+)?)(?:\s+\w+)?\s+(?:in total|altogether|in all)\b"));
    if !clause.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let bold = BOLD.captures_iter(clause).filter_map(|bold| number_at(head(bold.get(1)?.as_str()))).last();
    let in_total = || IN_TOTAL.captures_iter(clause).filter_map(|total| number_at(total.get(1)?.as_str())).last();
    if let Some(number) = bold.or_else(in_total) {
        return Some(number);
    }
    let so = SO.find_iter(clause).last().and_then(|so| clause_number(&clause[so.end()..]));
    if let Some(number) = so {
        return Some(number);
    }
    if let Some(text) = equals(clause) {
        return Some(Number { text, rest: "" });
    }
    let mut money = MONEY.find_iter(clause);
    if let (Some(amount), None) = (money.next(), money.next()) {
        return number_at(&clause[amount.start()..]);
    }
    let plain = ASIDE.replace_all(clause, " $1 ");
    match numbers(&plain).pop() {
        Some(found) => Some(Number { text: found.text, rest: "" }),
        None => numbers(clause).pop(),
    }
}

/// Finds numbers that stand alone in a text: not in words, in names of steps, or in numbers of lists.
pub(super) fn numbers(text: &str) -> Vec<Number<'_>> {
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        constant(r"(?i)(?:\b(?:step|part|question|case|option|figure|equation|section|not)\s*|第|不是|并非)$")
    });
    static FRACTION: LazyLock<Regex> = LazyLock::new(|| constant(r"-?\\[dt]?frac\{$"));
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(step) = text[at..].find(|c: char| c.is_ascii_digit()) {
        at += step;
        let before = &text[..at];
        let end = ending(before, 8);
        if let Some(start) = FRACTION.find(end).map(|found| at - end.len() + found.start())
            && let Some(number) = number_at(&text[start..])
        {
            at = text.len() - number.rest.len();
            found.push(number);
            continue;
        }
        let stem = before.trim_end_matches(['$', '\\', '€', '£', '¥', '￥', '.']);
        let subtracts = |left: &&str| {
            left.ends_with(char::is_alphanumeric) || left.trim_end().ends_with(|c: char| c.is_ascii_digit() || c == ')')
        };
        let signed = stem.strip_suffix(['-', '−']).filter(|left| !subtracts(left));
        let start = signed.unwrap_or(stem).len();
        let is_word = text[..start].ends_with(|c: char| is_latin(c) || c == '_' || c.is_ascii_digit());
        let read = number_at(&text[start..]).or_else(|| number_at(&text[at..]));
        let Some(number) = read else { break };
        let end = text.len() - number.rest.len();
        let is_first = text[..start].trim_end_matches(['*', '#', ' ', '(']).is_empty()
            || text[..start].trim_end_matches(['*', ' ']).ends_with('\n');
        let is_item = is_first
            && number.rest.starts_with([')', '.'])
            && number.rest[1..].starts_with(' ')
            && number.rest.trim().len() > 1;
        at = end.max(at + 1);
        // `x+1`, `3:4`, `cm^2`
        let operator = text[..start].trim_end_matches(['+', '-', '*', '/']);
        let is_part = operator.len() < start && operator.ends_with(is_latin)
            || text[..start].ends_with(['^', ':']) && !text[..start - 1].ends_with([' ', '\n'])
            || text[..start].ends_with("^{")
            || text[..start].ends_with(',') && text[..start - 1].ends_with(|c: char| c.is_ascii_digit())
            || number.rest.starts_with([':', '^', ',']) && number.rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if !is_word && !is_part && !is_item && !LABEL.is_match(ending(before, 12)) {
            found.push(number);
        }
    }
    found
}

fn formula(text: &str, extent: Extent) -> Option<Read<'_>> {
    if extent == Extent::Whole {
        let content = math::tidy(text);
        let is_short = !content.is_empty() && content.len() <= math::LONGEST;
        return is_short.then(|| valid(spelt(content), "")).flatten();
    }
    let few_words = |phrase: &&str| phrase.split_whitespace().count() <= 5;
    formula_at(text).map_or_else(|| phrase_at(text).filter(few_words).and_then(other), |found| valid(spelt(found), ""))
}

fn words(text: &str, extent: Extent) -> Option<Read<'_>> {
    let found = match extent {
        Extent::Whole => Some(text::tidy(text)).filter(|inside| inside.len() <= text::LONGEST && !inside.is_empty()),
        Extent::Head | Extent::Sentence => phrase_at(text),
    };
    found.and_then(|found| valid(found, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(read: Option<Read<'_>>) -> String {
        match read.map(|read| read.reading) {
            Some(Reading::Valid { text, .. }) => text,
            Some(Reading::Other(text)) => format!("other {text}"),
            Some(Reading::Nothing) => "nothing".into(),
            None => String::new(),
        }
    }

    #[test]
    fn numbers_and_what_is_longer() {
        for (written, value) in [
            (" 18.", "18"),
            (" $18 per day", "18"),
            (" 18** because", "18"),
            (" 16 - 3 = 13 eggs", "13"),
            (" 18 - that is", "18"),
            (" 5-7", "other 5-7"),
            (" 5 or 7", "other 5 or 7"),
            (" 5, 7", "other 5, 7"),
            (" 5, since 7 is", "5"),
            (" 3:20", "other 3:20"),
            (" 2x", "other 2x"),
            (" 2\\pi", "other 2\\pi"),
            (" 30^\\circ", "30"),
            (" x = 5", "5"),
            (" no solution", "other no solution"),
            (" not 5 but 7", "7"),
            (" Let's", ""),
        ] {
            assert_eq!(text(read(written, &AnswerKind::Number, Extent::Head)), value, "{written}");
        }
    }

    #[test]
    fn numbers_of_a_clause() {
        let last = |clause| clause_number(clause).map(|found| found.text);
        assert_eq!(last("Josh's profit is $200,000 - $130,000 = $70,000").as_deref(), Some("70000"));
        assert_eq!(last("so she has **18** of 20").as_deref(), Some("18"));
        assert_eq!(last("Step 3: H2O").as_deref(), None);
        assert_eq!(last("from 5-3 we lose -2").as_deref(), Some("-2"));
    }
}

//! Letters of options at the head of a text: one, or a list of several.

use super::dress::{strip_word, undress};
use super::folded::{WINDOW, after_closers, beginning, ends_clause, is_latin};

/// Options that a text names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Letters<'t> {
    /// As the options spell them, in their order.
    pub(super) letters: String,
    /// True of several letters, and of a letter that is not one of the options.
    pub(super) outside: bool,
    pub(super) rest: &'t str,
}

/// Words behind an undecorated `A` or `I` that make it an option instead of an article or a pronoun.
#[rustfmt::skip]
const AFTER_ARTICLE: [&str; 20] = [
    "is", "was", "because", "since", "as", "and", "or", "for", "which", "with", "but", "not", "instead", "seems", "would", "due", "if",
    "only", "given", "based",
];
/// Marks that decorate a letter: no article stands between them.
const DECORATION: &str = "([{*`\"'“‘「【<$";
/// Words by which a list of letters is one subject.
const PLURAL: [&str; 6] = ["are", "both", "都", "均", "两项", "皆"];

/// Reads options at the beginning of `text`; `before` is what stands in front of it.
pub(super) fn letters_at<'t>(text: &'t str, before: &str, options: &str) -> Option<Letters<'t>> {
    let text = beginning(text, WINDOW);
    let run = text.split(|c: char| !c.is_ascii_uppercase()).next().unwrap_or_default();
    if run.len() > 1 && ascends(run, options) && ends_clause(&text[run.len()..]) {
        return Some(Letters { letters: run.to_owned(), outside: true, rest: &text[run.len()..] });
    }
    let first = text.chars().next()?;
    let rest = &text[first.len_utf8()..];
    let is_decorated =
        before.ends_with(|c| DECORATION.contains(c)) || ["ption ", "hoice "].iter().any(|word| before.ends_with(word));
    if !stands_alone(first, rest, is_decorated) {
        return None;
    }
    match option(first, options) {
        Some(letter) => Some(listed(letter, rest, options)),
        None => is_other_letter(first, rest, options).then(|| Letters { letters: first.into(), outside: true, rest }),
    }
}

/// Returns the option that a character means: itself, or the letter in its other case.
fn option(c: char, options: &str) -> Option<char> {
    let other = if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    [c, other].into_iter().find(|&c| options.contains(c))
}

/// Returns `true` if letters are options, each behind the one before it.
fn ascends(run: &str, options: &str) -> bool {
    let places: Option<Vec<usize>> = run.chars().map(|c| options.find(c)).collect();
    places.is_some_and(|places| places.is_sorted_by(|a, b| a < b))
}

/// Returns `true` if `letter`, with `rest` behind it, is not the beginning of something longer.
fn stands_alone(letter: char, rest: &str, is_decorated: bool) -> bool {
    let mut next = rest.chars();
    let (first, second) = (next.next(), next.next());
    let continued = match first {
        None => return true,
        Some('_') => !is_decorated && second.is_some_and(|c| c.is_ascii_alphanumeric() || c == '{'),
        Some('\'' | '’') => second.is_some_and(is_latin),
        Some('-' | '–') => second.is_some_and(char::is_alphanumeric),
        Some('.') => {
            second.is_some_and(|c| c.is_ascii_digit()) || second.is_some_and(is_latin) && next.next() == Some('.')
        }
        Some('+' | '#' | '^' | '&' | '%' | '@') => true,
        Some(c) => is_latin(c) || c.is_ascii_digit(),
    };
    !continued && !is_word(letter, rest, is_decorated)
}

/// Returns `true` if an undecorated letter is an article, a pronoun or, in lower case, not set off from the words behind it.
fn is_word(letter: char, rest: &str, is_decorated: bool) -> bool {
    let (closed, inner) = (rest.trim_start_matches(' '), after_closers(rest));
    let is_open = rest.starts_with(' ')
        && closed.len() == inner.len()
        && inner.starts_with(|c: char| is_latin(c) || c.is_ascii_digit());
    match letter {
        _ if is_decorated || !is_open => letter.is_ascii_lowercase() && !is_decorated && !ends_clause(rest),
        'A' | 'I' => strip_word(inner, &AFTER_ARTICLE).is_none(),
        letter => letter.is_ascii_lowercase(),
    }
}

/// Returns `true` for an upper-case letter, or a digit where options are digits, that is not an option and ends a clause.
fn is_other_letter(c: char, rest: &str, options: &str) -> bool {
    let digits = options.starts_with(|c: char| c.is_ascii_digit());
    let is_letter = if digits { c.is_ascii_digit() } else { c.is_ascii_uppercase() };
    is_letter && ends_clause(rest) && !rest.starts_with('/')
}

/// Adds letters that a comma, and, or joins to the first.
fn listed<'t>(first: char, rest: &'t str, options: &str) -> Letters<'t> {
    let mut found = vec![(first, rest)];
    let mut at = rest;
    while let Some((letter, after)) = joined(at, options) {
        found.push((letter, after));
        at = after;
    }
    let stands = |rest: &str| {
        let rest = after_closers(rest);
        ends_clause(rest) || PLURAL.iter().any(|word| rest.starts_with(word))
    };
    while found.len() > 1 && found.last().is_some_and(|(_, rest)| !stands(rest)) {
        found.pop();
    }
    let rest = found.last().map_or(rest, |(_, rest)| rest);
    let letters: String = options.chars().filter(|option| found.iter().any(|(letter, _)| letter == option)).collect();
    Letters { outside: letters.chars().count() > 1, letters, rest }
}

/// Reads `, B`, ` and (B)`, `、B`, `/B`.
pub(super) fn joined<'t>(rest: &'t str, options: &str) -> Option<(char, &'t str)> {
    let inner = after_closers(rest);
    let comma = inner.strip_prefix([',', '、', '/', '&']);
    let next = comma.unwrap_or(inner).trim_start_matches(' ');
    let word = strip_word(next, &["and", "or"]).or_else(|| next.strip_prefix(['和', '或', '与', '及']));
    let next = word.or(comma.map(|_| next))?;
    let next = undress(next);
    let noun = strip_word(next, &["option", "choice"]).or_else(|| next.strip_prefix("选项"));
    let next = undress(noun.unwrap_or(next));
    let letter = next.chars().next().filter(|c| options.contains(*c))?;
    let after = &next[letter.len_utf8()..];
    stands_alone(letter, after, false).then_some((letter, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        letters_at(text, " ", "ABCDI").map(|found| found.letters)
    }

    #[test]
    fn letters_that_are_answers() {
        for (text, letter) in [
            ("C", "C"),
            ("C. Paris", "C"),
            ("c)", "C"),
            ("A because it", "A"),
            ("B vitamins", "B"),
            ("C是对的", "C"),
            ("A and C.", "AC"),
            ("C, B", "BC"),
            ("A、C、D。", "ACD"),
            ("A or B", "AB"),
            ("ACD", "ACD"),
            ("B, D is wrong", "B"),
            ("B and C are right", "BC"),
            ("B.北京", "B"),
            ("E.", "E"),
        ] {
            assert_eq!(read(text).as_deref(), Some(letter), "{text}");
        }
    }

    #[test]
    fn letters_that_are_not() {
        for text in [
            "A good idea",
            "I think",
            "Let's",
            "A's",
            "C++",
            "A-frame",
            "U.S. law",
            "b vitamins",
            "BAD",
            "B12",
            "3",
            "Ça",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

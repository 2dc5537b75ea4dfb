//! Splits a label map of whole prompts into the context they share and what each label adds.

use super::placeholder::{Atom, atoms};

/// The shared beginning of label templates and their endings, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SharedPrefix<'a> {
    pub(super) context: &'a str,
    pub(super) endings: Vec<&'a str>,
}

/// The longest common prefix, cut neither inside a placeholder nor inside a word of letters and digits of ASCII.
///
/// Labels such as `1` and `10`, or `true` and `trust`, thus stay whole: a tokenizer would not see half a word as the model
/// does. An ending may still be empty; that is for the caller to refuse.
pub(super) fn split<'a>(templates: &[&'a str], columns: &[&str], ice_token: &str) -> SharedPrefix<'a> {
    let atomised: Vec<Vec<Atom<'a>>> = templates.iter().map(|text| atoms(text, columns, ice_token)).collect();
    let Some(first) = atomised.first() else { return SharedPrefix { context: "", endings: Vec::new() } };
    let mut shared = 0;
    while shared < first.len() && atomised.iter().all(|other| other.get(shared) == first.get(shared)) {
        shared += 1;
    }
    while shared > 0 && is_word(&first[shared - 1]) && atomised.iter().any(|a| a.get(shared).is_some_and(is_word)) {
        shared -= 1;
    }
    let bytes = first[..shared].iter().map(Atom::len).sum();
    let context = templates.first().map_or("", |text| &text[..bytes]);
    SharedPrefix { context, endings: templates.iter().map(|text| &text[bytes..]).collect() }
}

fn is_word(atom: &Atom<'_>) -> bool {
    matches!(atom, Atom::Char(c) if c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(templates: &[&str], context: &str, endings: &[&str]) {
        assert_eq!(
            split(templates, &["q", "opt1", "opt2"], "</E>"),
            SharedPrefix { context, endings: endings.to_vec() }
        );
    }

    #[test]
    fn placeholders_are_never_split() {
        check(&["Q: {q} A: {opt1}.", "Q: {q} A: {opt2}."], "Q: {q} A: ", &["{opt1}.", "{opt2}."]);
        check(&["{q}", "{opt1}"], "", &["{q}", "{opt1}"]);
    }

    #[test]
    fn words_are_never_split() {
        check(&["is it true", "is it trust"], "is it ", &["true", "trust"]);
        check(&["A: 1", "A: 10"], "A: ", &["1", "10"]);
        check(&["A: x!", "A: x?"], "A: x", &["!", "?"]);
        check(&["答案是对", "答案是错"], "答案是", &["对", "错"]);
    }

    #[test]
    fn nothing_to_add_is_an_empty_ending() {
        check(&["A: {q}", "A: {q} no"], "A: {q}", &["", " no"]);
        check(&["same"], "same", &[""]);
    }
}

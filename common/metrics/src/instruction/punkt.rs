//! Sentences by Punkt (Kiss and Strunk 2006), as NLTK's English model finds them.

use super::punkt_facts::{ABBREVIATIONS, COLLOCATIONS, EITHER_CASE, LOWER_AT_BEGINNING, LOWER_CASE, STARTERS};
use super::punkt_token::{Token, is_non_word, tokens};
use compass_pyfmt::is_space;

/// NLTK's `sent_tokenize`: the sentences in order, none of them empty.
pub fn sentences(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let slices = slices(&characters);
    let mut out = Vec::new();
    let mut moved = 0;
    for (at, &(start, stop)) in slices.iter().enumerate() {
        let start = start + moved;
        // Closing marks after the stop still belong to the sentence before.
        let closing = slices.get(at + 1).and_then(|&(next, end)| closing_marks(characters.get(next..end)?));
        let stop = closing.map_or(stop, |(marks, _)| slices[at + 1].0 + marks);
        moved = closing.map_or(0, |(_, all)| all);
        if start < stop {
            out.push(characters[start..stop].iter().collect());
        }
    }
    out
}

/// Closing quotes and brackets at the beginning that white space, a dash or the end follows: how many, and how many
/// characters with the white space.
fn closing_marks(sentence: &[char]) -> Option<(usize, usize)> {
    let marks = sentence.iter().take_while(|c| "\"')]}‘’“”«»".contains(**c)).count();
    let spaces = sentence[marks..].iter().take_while(|c| is_space(**c)).count();
    let followed = spaces > 0 || sentence.len() == marks || sentence[marks..].starts_with(&['-', '-']);
    (marks > 0 && followed).then_some((marks, marks + spaces))
}

/// A mark that may end a sentence.
struct Candidate {
    /// Position of the mark.
    mark: usize,
    /// Beginning of the word before it.
    word: usize,
    /// End of what follows it.
    context_end: usize,
    /// Position where the next sentence would begin.
    next: usize,
}

fn slices(text: &[char]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut begin = 0;
    for candidate in candidates(text) {
        let context: String = text[candidate.word..candidate.context_end].iter().collect();
        if has_break(&context) {
            out.push((begin, candidate.mark + 1));
            begin = candidate.next;
        }
    }
    let end = text.iter().rposition(|c| !is_space(*c)).map_or(0, |last| last + 1);
    out.push((begin, end));
    out
}

/// Finds the candidates. Only the last of marks that follow one another without white space is one.
fn candidates(text: &[char]) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    let (mut previous_start, mut previous_stop) = (0, 0);
    for (mark, _) in text.iter().enumerate().filter(|(_, c)| matches!(c, '.' | '?' | '!')) {
        let after = mark + 1;
        let spaces = text[after..].iter().take_while(|c| is_space(**c)).count();
        let (context_end, next) = match text.get(after) {
            Some(&c) if is_non_word(c) => (after + 1, after),
            Some(_) if spaces > 0 && after + spaces < text.len() => {
                let next = after + spaces;
                (next + text[next..].iter().take_while(|c| !is_space(**c)).count(), next)
            }
            _ => continue,
        };
        let before = &text[previous_stop..mark];
        // A space in the very first place is not looked at, as there.
        let last_space = before.iter().rposition(|c| matches!(c, ' ' | '\t'..='\r')).filter(|&at| at > 0);
        let word = last_space.map_or(previous_start, |at| previous_stop + at + 1);
        if out.last().is_some_and(|_| previous_stop > word) {
            out.pop();
        }
        out.push(Candidate { mark, word, context_end, next });
        (previous_start, previous_stop) = (word, mark);
    }
    out
}

/// Returns whether a token that ends a sentence is followed by another one.
fn has_break(context: &str) -> bool {
    let mut tokens = tokens(context);
    tokens.iter_mut().for_each(first_pass);
    for at in 1..tokens.len() {
        let (before, after) = tokens.split_at_mut(at);
        second_pass(&mut before[at - 1], &after[0]);
        if before[at - 1].is_break {
            return true;
        }
    }
    false
}

/// Decides by the type of a word alone.
fn first_pass(token: &mut Token) {
    if matches!(token.text.as_str(), "." | "?" | "!") {
        token.is_break = true;
    } else if let Some(word) = token.text.strip_suffix('.').filter(|word| !word.ends_with('.')) {
        let word = word.to_lowercase();
        let last = word.rsplit('-').next().unwrap_or_default();
        token.is_abbreviation = ABBREVIATIONS.contains(&word.as_str()) || ABBREVIATIONS.contains(&last);
        token.is_break = !token.is_abbreviation;
    }
}

/// Decides by the token that follows.
fn second_pass(token: &mut Token, next: &Token) {
    if !token.text.ends_with('.') {
        return;
    }
    let next_kind = next.kind_in_sentence();
    let is_initial = token.is_initial();
    if COLLOCATIONS.contains(&(token.kind_without_stop(), next_kind)) {
        (token.is_break, token.is_abbreviation) = (false, true);
        return;
    }
    let starts = spelling_of_beginning(next);
    if (token.is_abbreviation || token.is_ellipsis())
        && !is_initial
        && (starts == Some(true) || (next.begins_upper() && STARTERS.contains(&next_kind)))
    {
        token.is_break = true;
        return;
    }
    let never_lower = || next.begins_upper() && !LOWER_CASE.contains(&next_kind) && !EITHER_CASE.contains(&next_kind);
    if (is_initial || token.is_number()) && (starts == Some(false) || (starts.is_none() && is_initial && never_lower()))
    {
        (token.is_break, token.is_abbreviation) = (false, true);
    }
}

/// Returns whether the spelling of a token says that it begins a sentence; `None` when it does not tell.
fn spelling_of_beginning(token: &Token) -> Option<bool> {
    if matches!(token.text.as_str(), ";" | ":" | "," | "." | "!" | "?") {
        return Some(false);
    }
    let kind = token.kind_in_sentence();
    if token.begins_upper() && LOWER_CASE.contains(&kind) {
        return Some(true);
    }
    (token.begins_lower() && !LOWER_AT_BEGINNING.contains(&kind)).then_some(false)
}

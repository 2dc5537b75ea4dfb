//! Option that an answer means: OpenCompass's `OptionSimAccEvaluator`, for multiple choice of one's own.

use crate::overlap::levenshtein;
use crate::text::strip;
use compass_postprocess::FirstOption;

/// The letter that `prediction` means; `first` knows the letters, `texts` are the options' own in their order, `None` where
/// the question lacks one.
///
/// The answer itself if it is a letter; else the first option that it names; else the only one whose text, in any case, is
/// part of it; else the one of the least edit distance from its letter, its text or both joined by `. `, the first letter
/// of the alphabet among equals. `None` without any text.
pub fn option_meant(first: &FirstOption, prediction: &str, texts: &[Option<&str>]) -> Option<char> {
    let answer = strip(prediction);
    let mut characters = answer.chars();
    if let (Some(only), None) = (characters.next(), characters.next())
        && first.letters().contains(only)
    {
        return Some(only);
    }
    let named = first.apply(answer);
    if let Some(named) = named.chars().next() {
        return Some(named);
    }
    let lower = answer.to_lowercase();
    let options = || first.letters().chars().zip(texts).filter_map(|(letter, text)| Some((letter, (*text)?)));
    let held: Vec<char> =
        options().filter(|(_, text)| lower.contains(&text.to_lowercase())).map(|(letter, _)| letter).collect();
    if let &[only] = held.as_slice() {
        return Some(only);
    }
    let distance = |(letter, text): (char, &str)| {
        let spellings = [letter.to_string(), text.to_owned(), format!("{letter}. {text}")];
        let nearest = spellings.iter().map(|spelling| levenshtein(answer, spelling)).min()?;
        Some((nearest, letter))
    };
    options().filter_map(distance).min().map(|(_, letter)| letter)
}

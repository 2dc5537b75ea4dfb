//! Porter's stemmer (1980) with the extensions of NLTK, which `rouge_score` uses.

/// NLTK's `PorterStemmer().stem(word)` for a word of lower-case ASCII letters and digits.
pub fn porter_stem(word: &str) -> String {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        return (*stem).into();
    }
    if word.len() <= 2 || !word.is_ascii() {
        return word.into();
    }
    let word = past_and_progressive(plural(word));
    let word = final_y(word);
    let word = double_suffix(word);
    let word = first_rule(word, STEP3, |stem, _| measure(stem) > 0);
    let word =
        first_rule(word, STEP4, |stem, suffix| measure(stem) > 1 && (suffix != "ion" || stem.ends_with(['s', 't'])));
    final_l(final_e(word))
}

const IRREGULAR: &[(&str, &str)] = &[
    ("sky", "sky"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("innings", "inning"),
    ("inning", "inning"),
    ("outings", "outing"),
    ("outing", "outing"),
    ("cannings", "canning"),
    ("canning", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
];

/// For each letter whether it is a consonant; y is one where no consonant precedes it.
fn consonants(word: &str) -> Vec<bool> {
    let mut flags: Vec<bool> = Vec::with_capacity(word.len());
    for letter in word.bytes() {
        flags.push(match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => flags.last().is_none_or(|consonant| !consonant),
            _ => true,
        });
    }
    flags
}

/// Porter's m: how often a vowel is followed by a consonant.
fn measure(stem: &str) -> usize {
    consonants(stem).windows(2).filter(|pair| !pair[0] && pair[1]).count()
}

fn has_vowel(stem: &str) -> bool {
    consonants(stem).contains(&false)
}

fn ends_in_double_consonant(word: &str) -> bool {
    let letters = word.as_bytes();
    letters.len() >= 2
        && letters[letters.len() - 1] == letters[letters.len() - 2]
        && consonants(word).ends_with(&[true])
}

fn ends_in_cvc(word: &str) -> bool {
    let flags = consonants(word);
    (flags.ends_with(&[true, false, true]) && !word.ends_with(['w', 'x', 'y'])) || flags == [false, true]
}

fn plural(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}{}", if word.len() == 4 { "ie" } else { "i" });
    }
    if let Some(stem) = word.strip_suffix("sses") {
        return format!("{stem}ss");
    }
    match word.strip_suffix('s') {
        Some(stem) if !stem.ends_with('s') => stem.into(),
        _ => word.into(),
    }
}

fn past_and_progressive(word: String) -> String {
    if let Some(stem) = word.strip_suffix("ied") {
        return format!("{stem}{}", if word.len() == 4 { "ie" } else { "i" });
    }
    if let Some(stem) = word.strip_suffix("eed") {
        return if measure(stem) > 0 { format!("{stem}ee") } else { word };
    }
    let stem = ["ed", "ing"].into_iter().filter_map(|suffix| word.strip_suffix(suffix)).find(|stem| has_vowel(stem));
    let Some(stem) = stem else { return word };
    if stem.ends_with("at") || stem.ends_with("bl") || stem.ends_with("iz") {
        return format!("{stem}e");
    }
    if ends_in_double_consonant(stem) {
        return if stem.ends_with(['l', 's', 'z']) { stem.into() } else { stem[..stem.len() - 1].into() };
    }
    if measure(stem) == 1 && ends_in_cvc(stem) { format!("{stem}e") } else { stem.into() }
}

fn final_y(word: String) -> String {
    match word.strip_suffix('y') {
        Some(stem) if stem.len() > 1 && consonants(stem).ends_with(&[true]) => format!("{stem}i"),
        _ => word,
    }
}

fn double_suffix(word: String) -> String {
    if let Some(stem) = word.strip_suffix("alli").filter(|stem| measure(stem) > 0) {
        return double_suffix(format!("{stem}al"));
    }
    first_rule(word, STEP2, |stem, suffix| match suffix {
        "logi" => measure(&format!("{stem}l")) > 0,
        _ => measure(stem) > 0,
    })
}

/// The first rule whose suffix fits decides, whether its condition on (stem, suffix) holds or not.
fn first_rule(word: String, rules: &[(&str, &str)], condition: impl Fn(&str, &str) -> bool) -> String {
    let fits = rules.iter().find_map(|&(suffix, replacement)| Some((word.strip_suffix(suffix)?, suffix, replacement)));
    match fits {
        Some((stem, suffix, replacement)) if condition(stem, suffix) => format!("{stem}{replacement}"),
        _ => word,
    }
}

fn final_e(word: String) -> String {
    match word.strip_suffix('e') {
        Some(stem) if measure(stem) > 1 || (measure(stem) == 1 && !ends_in_cvc(stem)) => stem.into(),
        _ => word,
    }
}

fn final_l(word: String) -> String {
    match word.strip_suffix('l') {
        Some(stem) if stem.ends_with('l') && measure(stem) > 1 => stem.into(),
        _ => word,
    }
}

#[rustfmt::skip]
const STEP2: &[(&str, &str)] = &[
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"), ("logi", "log"),
];

#[rustfmt::skip]
const STEP3: &[(&str, &str)] = &[
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
];

#[rustfmt::skip]
const STEP4: &[(&str, &str)] = &[
    ("al", ""), ("ance", ""), ("ence", ""), ("er", ""), ("ic", ""), ("able", ""), ("ible", ""), ("ant", ""),
    ("ement", ""), ("ment", ""), ("ent", ""), ("ion", ""), ("ou", ""), ("ism", ""), ("ate", ""), ("iti", ""),
    ("ous", ""), ("ive", ""), ("ize", ""),
];

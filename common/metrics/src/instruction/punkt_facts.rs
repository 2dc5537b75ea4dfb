//! Facts that NLTK's Punkt model for English (Kiss and Strunk 2006, trained on the Wall Street Journal) knows, as far as decisions
//! rest on them.

/// Abbreviations without their final full stop.
#[rustfmt::skip]
pub(super) const ABBREVIATIONS: &[&str] = &[
    ". .", "a.a", "a.c", "a.d", "a.g", "a.h", "a.m", "a.m.e", "a.s", "a.t", "adm", "ala", "ariz", "aug", "ave",
    "b.f", "b.v", "bros", "c", "c.i.t", "c.o.m.b", "c.v", "calif", "chg", "cie", "co", "col", "colo", "conn",
    "corp", "cos", "ct", "d", "d.c", "d.h", "d.w", "dec", "dr", "e", "e.f", "e.h", "e.l", "e.m", "f", "f.g", "f.j",
    "feb", "fla", "fri", "ft", "g", "g.d", "g.f", "g.k", "ga", "gen", "h", "h.c", "h.f", "h.m", "i.m.s", "ill",
    "inc", "j.b", "j.c", "j.j", "j.k", "j.p", "j.r", "jan", "jr", "k", "kan", "ky", "l", "l.a", "l.f", "l.p", "lt",
    "ltd", "m", "m.b.a", "m.d.c", "m.j", "maj", "messrs", "mg", "mich", "minn", "mr", "mrs", "ms", "n", "n.c",
    "n.d", "n.h", "n.j", "n.m", "n.v", "n.y", "nev", "nov", "oct", "ok", "okla", "ore", "p", "p.a.m", "p.m", "pa",
    "ph.d", "prof", "r", "r.a", "r.h", "r.i", "r.j", "r.k", "r.t", "rep", "reps", "s", "s.a", "s.a.y", "s.c",
    "s.g", "s.p.a", "s.s", "sen", "sep", "sept", "sr", "st", "sw", "t", "t.j", "tenn", "tues", "u.k", "u.n", "u.s",
    "u.s.a", "u.s.s.r", "v", "va", "vs", "vt", "w", "w.c", "w.r", "w.va", "w.w", "wash", "wed", "wis", "yr",
];

/// Words that often begin a sentence.
#[rustfmt::skip]
pub(super) const STARTERS: &[&str] = &[
    "according", "although", "among", "both", "but", "despite", "even", "he", "however", "i", "if", "in", "indeed",
    "instead", "it", "many", "meanwhile", "moreover", "most", "nevertheless", "nonetheless", "nor", "sales",
    "separately", "similarly", "since", "so", "some", "the", "there", "these", "they", "this", "though", "thus",
    "under", "when", "while", "yet",
];

/// Pairs that belong together although a full stop stands between them.
#[rustfmt::skip]
pub(super) const COLLOCATIONS: &[(&str, &str)] = &[
    ("##number##", "abreast"), ("##number##", "aes"), ("##number##", "business"), ("##number##", "cbot"),
    ("##number##", "colgate"), ("##number##", "commodities"), ("##number##", "cooper"),
    ("##number##", "corrections"), ("##number##", "credit"), ("##number##", "dividend"),
    ("##number##", "financing"), ("##number##", "genentech"), ("##number##", "henley"), ("##number##", "insider"),
    ("##number##", "international"), ("##number##", "leisure"), ("##number##", "letters"),
    ("##number##", "notable"), ("##number##", "pay-fone"), ("##number##", "pegasus"), ("##number##", "pepper"),
    ("##number##", "review"), ("##number##", "rj"), ("##number##", "wedgestone"), ("##number##", "who"),
    ("##number##", "zimmer"), ("b", "edelman"), ("b", "levine"), ("b", "smith"), ("b", "stewart"), ("b", "wigton"),
    ("i", "magnin"), ("i", "toussie"), ("j", "aron"), ("j", "fialka"), ("j", "walter"), ("o", "ludcke"),
];

/// Words that were seen in lower case at the beginning of a sentence and never with a capital.
pub(super) const LOWER_AT_BEGINNING: &[&str] = &["administrators", "b-week", "r-revised", "z-holiday"];

/// Common words of English that the model saw in lower case, and with a capital only where a sentence begins. Its whole
/// list, of 14,000 words, is not ours to ship: a rarer word after an abbreviation is taken to tell nothing.
#[rustfmt::skip]
pub(super) const LOWER_CASE: &[&str] = &[
    "above", "almost", "along", "already", "always", "anyone", "anything", "behind", "being", "between", "beyond",
    "came", "does", "done", "either", "enough", "ever", "gave", "going", "her", "here", "hers", "herself", "him",
    "himself", "indeed", "into", "kept", "least", "mine", "myself", "need", "neither", "nor", "nothing", "onto",
    "ours", "put", "right", "same", "saw", "seem", "so", "someone", "soon", "still", "such", "them", "themselves",
    "therefore", "things", "think", "though", "through", "thus", "together", "tomorrow", "took", "turn", "upon",
    "us", "very", "went", "were", "whether", "which", "whole", "whom", "within", "without", "yesterday", "yet",
    "your", "yourself",
];

/// Likewise, seen with a capital within a sentence, too.
#[rustfmt::skip]
pub(super) const EITHER_CASE: &[&str] = &[
    "a", "about", "across", "after", "again", "against", "all", "also", "am", "an", "and", "another", "any", "are",
    "around", "as", "at", "away", "b", "back", "be", "because", "been", "before", "began", "below", "both", "bring",
    "but", "by", "c", "can", "come", "could", "d", "day", "did", "do", "down", "during", "each", "even", "every",
    "everyone", "everything", "far", "few", "find", "first", "for", "found", "from", "full", "get", "give", "go",
    "gone", "good", "got", "great", "had", "half", "has", "have", "having", "he", "his", "how", "however", "if",
    "in", "is", "it", "its", "itself", "just", "keep", "know", "last", "later", "left", "less", "let", "like",
    "little", "long", "look", "made", "make", "man", "many", "may", "me", "meanwhile", "men", "might", "more",
    "most", "much", "must", "my", "near", "never", "new", "next", "no", "nobody", "none", "not", "now", "of", "off",
    "often", "old", "on", "once", "one", "only", "open", "or", "other", "others", "our", "out", "over", "own",
    "part", "people", "perhaps", "quite", "rather", "really", "s", "said", "say", "see", "seen", "several", "she",
    "should", "show", "since", "some", "something", "take", "taken", "than", "that", "the", "their", "then",
    "there", "these", "they", "thing", "this", "those", "three", "time", "to", "today", "told", "too", "toward",
    "two", "under", "until", "up", "use", "used", "want", "was", "way", "we", "well", "what", "whatever", "when",
    "where", "while", "who", "whose", "why", "will", "with", "work", "would", "year", "years", "you", "z",
];

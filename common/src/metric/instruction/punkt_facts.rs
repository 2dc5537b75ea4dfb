//! What NLTK's Punkt model for English (Kiss and Strunk 2006, trained on the Wall Street Journal) knows, as far as decisions
//! rest on it.

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

/// Words that were seen in lower case, one a line in the order of their code points; a plus sign says: with a capital
/// within a sentence, too.
pub(super) const LOWER_CASE: &str = include_str!("punkt_lower_case.txt");

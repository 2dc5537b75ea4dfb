//! Answers that are equal, and those that are not: the pairs whose decisions math-verify 0.9.0 gave, and the listed differences.

use compass_metrics::math::equal::{Rules, Verdict, equal};
use std::collections::BTreeSet;
use std::io::Read;

const TABLE: &str = include_str!("../goldens/equal/table.txt");
const DIFFERENCES: &str = include_str!("../goldens/equal/differences.txt");
/// Answers as models write them, with what we say of them.
const OURS: &str = include_str!("../goldens/equal/ours.txt");
/// Pairs drawn by `tests/peers/math_verify_pairs.py`, and those of which our decision is another one, with reasons.
const DRAWN: &[u8] = include_bytes!("../goldens/equal/math_verify.txt.gz");
const DRAWN_DIFFERENCES: &str = include_str!("../goldens/equal/math_verify_differences.txt");

struct Pair {
    is_equal: bool,
    gold: String,
    answer: String,
}

/// A line: `EQ` or `NE`, the kind, the gold answer, the other one.
fn pairs(text: &str) -> Vec<Pair> {
    let pair = |line: &str| {
        let [decision, _, gold, answer] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        Pair { is_equal: decision == "EQ", gold: format!("${gold}$"), answer: format!("${answer}$") }
    };
    text.lines().map(pair).collect()
}

fn wrong(pairs: &[Pair], rules: Rules, is_turned: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for pair in pairs {
        let decision = equal(&pair.gold, &pair.answer, rules);
        let wanted = pair.is_equal != is_turned;
        if decision.is_equal() != wanted || matches!(decision, Verdict::Undecided(_)) {
            wrong.push(format!("{} ~ {}: {decision:?}, not {wanted}", pair.gold, pair.answer));
        }
    }
    wrong
}

#[test]
fn pairs_of_the_table() {
    let pairs = pairs(TABLE);
    assert_eq!(pairs.len(), 121);
    for rules in [Rules::Ours, Rules::Peer] {
        assert_eq!(wrong(&pairs, rules, false), Vec::<String>::new(), "{rules:?}");
    }
}

#[test]
fn listed_differences() {
    let pairs = pairs(DIFFERENCES);
    assert_eq!(pairs.len(), 12);
    assert_eq!(wrong(&pairs, Rules::Ours, false), Vec::<String>::new());
    assert_eq!(wrong(&pairs, Rules::Peer, true), Vec::<String>::new());
}

#[test]
fn answers_as_models_write_them() {
    assert_eq!(wrong(&pairs(OURS), Rules::Ours, false), Vec::<String>::new());
}

#[test]
fn drawn_pairs_are_decided_as_by_math_verify() {
    let mut text = String::new();
    flate2::read::GzDecoder::new(DRAWN).read_to_string(&mut text).unwrap();
    let pairs = pairs(&text);
    assert_eq!(pairs.len(), 5000);
    let listed = |line: &str| line.split_once('\t').map(|(gold, answer)| format!("${gold}$ ~ ${answer}$")).unwrap();
    let listed: BTreeSet<String> =
        DRAWN_DIFFERENCES.lines().filter(|line| !line.starts_with('#')).map(listed).collect();
    let (mut differing, mut undecided) = (BTreeSet::new(), 0);
    for pair in &pairs {
        let decision = equal(&pair.gold, &pair.answer, Rules::Peer);
        undecided += usize::from(matches!(decision, Verdict::Undecided(_)));
        if decision.is_equal() != pair.is_equal {
            differing.insert(format!("{} ~ {}", pair.gold, pair.answer));
        }
    }
    assert_eq!(differing, listed);
    assert!(undecided * 100 <= pairs.len() * 3, "{undecided} of {} are undecided", pairs.len());
}

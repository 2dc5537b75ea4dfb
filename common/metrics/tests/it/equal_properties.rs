//! Properties of the comparison of answers, on drawn formulas and on texts changed at random.
//!
//! `COMPASS_FULL=1` plays a hundred times as many.

use compass_metrics::math::equal::{Rules, Verdict, Why, equal};
use compass_types::seeded::Rng;

/// Draws formulas, and texts changed at random.
struct Draw(Rng);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.below(bound as u64)).unwrap()
    }

    fn choose<'t>(&mut self, options: &[&'t str]) -> &'t str {
        options[self.below(options.len())]
    }

    /// A formula that stands for itself wherever it is put.
    fn formula(&mut self, depth: usize) -> String {
        let leaf = depth == 0 || self.below(4) == 0;
        if leaf {
            return match self.below(9) {
                6 => self.choose(&["e^{x}", "\\sin y", "\\cos(2x)", "2^{n}", "\\tan y", "|x|"]).to_owned(),
                7 => format!("\\ln {}", 2 + self.below(9)),
                8 => format!("\\sqrt[3]{{{}}}", 2 + self.below(30)),
                0 => self.choose(&["x", "y", "n"]).to_owned(),
                1 => format!("\\sqrt{{{}}}", 2 + self.below(12)),
                2 => format!("\\frac{{{}}}{{{}}}", 1 + self.below(9), 2 + self.below(8)),
                3 => "\\pi".to_owned(),
                4 => format!("({}x)", 2 + self.below(8)),
                _ => (1 + self.below(20)).to_string(),
            };
        }
        let (one, other) = (self.formula(depth - 1), self.formula(depth - 1));
        match self.below(7) {
            0 | 1 => format!("({one}+{other})"),
            2 => format!("({one}-{other})"),
            3 | 4 => format!("({one}\\cdot {other})"),
            5 => format!("\\frac{{{one}}}{{{}}}", 1 + self.below(7)),
            _ => format!("({one})^{{{}}}", 2 + self.below(2)),
        }
    }

    /// The same value, written otherwise.
    fn rewrite(&mut self, formula: &str) -> String {
        let number = 2 + self.below(8);
        match self.below(10) {
            0 => format!("{number}({formula})-({formula})\\cdot {}", number - 1),
            1 => format!("\\frac{{{number}({formula})}}{{{number}}}"),
            2 => format!("-(-({formula}))"),
            3 => format!("({formula})(\\sin^2 x+\\cos^2 x)"),
            4 => format!("{number}+({formula})-{number}"),
            5 => format!("\\left({formula}\\right)"),
            6 => format!("({formula})\\cdot\\sqrt{{{}}}/{number}", number * number),
            7 => format!("({formula}) x^{{{number}}} x^{{-{number}}}"),
            8 => format!("\\frac{{({formula})(x+{number})}}{{x+{number}}}"),
            _ => format!("{{{formula}}} + y - y"),
        }
    }

    /// Another value.
    fn mutate(&mut self, formula: &str) -> String {
        let number = 1 + self.below(9);
        match self.below(5) {
            0 => format!("({formula})+{number}"),
            1 => format!("{formula}-\\frac{{{number}}}{{7}}"),
            2 => format!("({formula})+{number}x"),
            3 => format!("({formula})-\\sqrt{{{}}}", number + 1),
            _ => format!("({formula})+{number}x^2y"),
        }
    }

    /// A text with a few characters removed, doubled, exchanged or put in.
    fn damage(&mut self, text: &str) -> String {
        const PARTS: [&str; 24] = [
            "{",
            "}",
            "(",
            ")",
            "[",
            "\\{",
            "^",
            "_",
            "\\frac",
            "\\sqrt",
            "|",
            "!",
            ",",
            "=",
            "<",
            "\\text{",
            "9",
            "\\pm",
            "\\cup",
            "%",
            "\\",
            "é",
            "\\begin{pmatrix}",
            "&",
        ];
        let mut letters: Vec<char> = text.chars().collect();
        for _ in 0..1 + self.below(4) {
            let at = self.below(letters.len() + 1);
            match self.below(4) {
                0 if at < letters.len() => {
                    letters.remove(at);
                }
                1 if at < letters.len() => letters.insert(at, letters[at]),
                2 if at + 1 < letters.len() => letters.swap(at, at + 1),
                _ => {
                    let part = self.choose(&PARTS);
                    letters.splice(at..at, part.chars());
                }
            }
        }
        letters.into_iter().collect()
    }
}

fn rounds(usual: usize) -> usize {
    let is_full = std::env::var("COMPASS_FULL").is_ok_and(|value| value == "1");
    if is_full { usual * 100 } else { usual }
}

#[test]
fn a_rewritten_formula_is_never_unequal() {
    let mut draw = Draw::new(1);
    let mut undecided = 0;
    let rounds = rounds(2000);
    for _ in 0..rounds {
        let formula = draw.formula(3);
        let rewritten = draw.rewrite(&formula);
        let decision = equal(&formula, &rewritten, Rules::Ours);
        assert_ne!(decision, Verdict::Unequal, "{formula} ~ {rewritten}");
        undecided += usize::from(matches!(decision, Verdict::Undecided(_)));
    }
    assert!(undecided * 33 <= rounds, "{undecided} of {rounds} are undecided");
}

#[test]
fn another_formula_is_never_equal() {
    let mut draw = Draw::new(2);
    let mut undecided = 0;
    let rounds = rounds(2000);
    for _ in 0..rounds {
        let formula = draw.formula(3);
        let mutated = draw.mutate(&formula);
        let decision = equal(&formula, &mutated, Rules::Ours);
        assert!(!decision.is_equal(), "{formula} ~ {mutated}: {decision:?}");
        undecided += usize::from(matches!(decision, Verdict::Undecided(_)));
    }
    assert!(undecided * 33 <= rounds, "{undecided} of {rounds} are undecided");
}

#[test]
fn equality_of_exact_formulas_is_transitive() {
    let mut draw = Draw::new(3);
    let mut chains = 0;
    for _ in 0..rounds(1000) {
        let one = draw.formula(2);
        let (two, three) = (draw.rewrite(&one), draw.formula(1));
        let three = if draw.below(2) == 0 { draw.rewrite(&two) } else { three };
        let decision = |left: &str, right: &str| equal(left, right, Rules::Ours);
        if decision(&one, &two).is_equal() && decision(&two, &three).is_equal() {
            assert_ne!(decision(&one, &three), Verdict::Unequal, "{one} ~ {two} ~ {three}");
            chains += 1;
        }
    }
    assert!(chains > 300, "{chains}");
}

#[test]
fn damaged_texts_are_decided_and_sides_may_be_exchanged() {
    let mut draw = Draw::new(4);
    let texts: Vec<&str> = include_str!("../goldens/equal/table.txt")
        .lines()
        .chain(include_str!("../goldens/equal/differences.txt").lines())
        .flat_map(|line| line.split('\t').skip(2))
        .collect();
    for _ in 0..rounds(4000) {
        let (gold, answer) = (texts[draw.below(texts.len())], texts[draw.below(texts.len())]);
        let base = if draw.below(2) == 0 { gold } else { answer };
        let damaged = draw.damage(base);
        let damaged = if draw.below(3) == 0 { format!("{damaged}{answer}") } else { damaged };
        equal(&damaged, gold, Rules::Peer);
        let (one, other) = (equal(gold, &damaged, Rules::Ours), equal(&damaged, gold, Rules::Ours));
        assert_eq!(one.is_equal(), other.is_equal(), "{gold} ~ {damaged}: {one:?}, {other:?}");
    }
}

#[test]
fn what_grows_beyond_the_bounds_is_undecided() {
    let beyond = [
        ("{".repeat(4096), Why::TooDeep),
        (format!("{}1{}", "{".repeat(2000), "}".repeat(2000)), Why::TooDeep),
        ("(".repeat(4096), Why::TooDeep),
        ("\\sqrt".repeat(800), Why::TooDeep),
        ("\\frac".repeat(800), Why::TooDeep),
        ("2^".repeat(2000), Why::TooDeep),
        ("\\sin".repeat(1000), Why::TooDeep),
        ("1".repeat(4097), Why::TooLong),
        ("9".repeat(4096), Why::TooLarge),
        ("10^{10^{10}}".to_owned(), Why::TooLarge),
        ("2^{5000}".to_owned(), Why::TooLarge),
        ("1000000!".to_owned(), Why::TooLarge),
        ("\\binom{1000000}{500000}".to_owned(), Why::TooLarge),
        ("(x+y+z+1)^{60}".to_owned(), Why::TooManyTerms),
        ("(x+1)^{65}".to_owned(), Why::TooLarge),
        ("\\frac{1}{0}".to_owned(), Why::Undefined),
        ("\\int_0^1 x dx".to_owned(), Why::Unread),
        (String::new(), Why::Unread),
    ];
    for (text, why) in beyond {
        let short: String = text.chars().take(30).collect();
        assert_eq!(equal(&text, "1", Rules::Ours), Verdict::Undecided(why), "{short}");
        assert_eq!(equal("1", &text, Rules::Ours), Verdict::Undecided(why), "{short}");
    }
}

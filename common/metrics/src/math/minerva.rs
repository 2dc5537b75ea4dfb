//! lm-eval's `minerva_math`.

use super::boxed::{last_boxed_lm_eval, remove_boxed_lm_eval};
use super::expression;
use super::final_answer::{REMOVED, SUBSTITUTIONS};
use super::rational::Rational;
use super::strip::replace_all;
use crate::text::{Pattern, strip};
use compass_pyfmt::is_word;

/// Equality of two normalised answers. lm-eval asks sympy; what is not a sum of products of numbers, symbols and roots is undecided
/// unless the texts are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinervaResult {
    /// The same text, or the same value.
    Equal,
    /// Different numbers, or different for some value of their symbols.
    Unequal,
    /// Formulas of different text: counted as wrong, and said.
    Undecided,
}

/// lm-eval's `exact_match`: the completion's final answer against the last box of the solution.
///
/// A solution without a box, where lm-eval fails, is unequal.
pub fn minerva_math(completion: &str, solution: &str) -> MinervaResult {
    let Some(gold) = last_boxed_lm_eval(solution).and_then(remove_boxed_lm_eval) else {
        return MinervaResult::Unequal;
    };
    let gold = normalize_final_answer_minerva(gold);
    let answer = normalize_final_answer_minerva(&minerva_answer(completion));
    if answer == gold && !answer.is_empty() {
        return MinervaResult::Equal;
    }
    if let (Some(answer), Some(gold)) = (Rational::parse(&answer), Rational::parse(&gold)) {
        return if answer == gold { MinervaResult::Equal } else { MinervaResult::Unequal };
    }
    match (expression::parse(&answer), expression::parse(&gold)) {
        (Some(answer), Some(gold)) if answer == gold => MinervaResult::Equal,
        (Some(_), Some(_)) => MinervaResult::Unequal,
        _ => MinervaResult::Undecided,
    }
}

/// lm-eval's answer of a completion that has none.
pub const INVALID_ANSWER: &str = "[invalidanswer]";

/// `get_unnormalized_answer`: what stands between `Final Answer: The final answer is` and `I hope it is correct.`, which is
/// appended for completions that were cut before it; [`INVALID_ANSWER`] without.
pub fn minerva_answer(completion: &str) -> String {
    static ANSWER: Pattern = Pattern::new(r"Final Answer: The final answer is(.*?). I hope it is correct.");
    let text = format!("{completion}I hope it is correct.");
    let answer = ANSWER.captures(&text).and_then(|found| Some(strip(found.get(1)?.as_str()).to_string()));
    answer.unwrap_or_else(|| INVALID_ANSWER.into())
}

/// lm-eval's `normalize_final_answer`, which spares units within TeX commands.
pub fn normalize_final_answer_minerva(answer: &str) -> String {
    static DOLLARS: Pattern = Pattern::new(r"(.*?)(\$)(.*?)(\$)(.*)");
    static TEXT: Pattern = Pattern::new(r"(\\text\{)(.*?)(\})");
    static BOLD: Pattern = Pattern::new(r"(\\textbf\{)(.*?)(\})");
    static OVERLINE: Pattern = Pattern::new(r"(\\overline\{)(.*?)(\})");
    static BOXED: Pattern = Pattern::new(r"(\\boxed\{)(.*)(\})");
    static FRAC: Pattern = Pattern::new(r"(frac)([^{])(.)");
    static INDEXED_ROOT: Pattern = Pattern::new(r"(sqrt)(\[[^\]]*\])([\p{L}\p{N}_])");
    static ROOT: Pattern = Pattern::new(r"(sqrt)([^{\[])");
    static THOUSANDS: Pattern = Pattern::new(r"^-?\d{1,3}(,\d{3})+$");

    let is_unit = |removed: &&&str| removed.bytes().all(|byte| byte.is_ascii_alphabetic());
    let mut text = answer.rsplit('=').next().unwrap_or_default().to_string();
    for unit in REMOVED.iter().filter(is_unit) {
        text = without_word(&text, unit);
    }
    text = replace_all(&text, SUBSTITUTIONS);
    for removed in REMOVED {
        text = if is_unit(&removed) { outside_commands(&text, removed) } else { text.replace(removed, "") };
    }
    let mut text = DOLLARS.replace_all(&text, "$$${3}$$").into_owned();
    for pattern in [&TEXT, &BOLD, &OVERLINE, &BOXED] {
        text = pattern.replace_all(&text, "$2").into_owned();
    }
    let text = FRAC.replace_all(&text, "frac{${2}}{${3}}");
    let text = INDEXED_ROOT.replace_all(&text, "${1}${2}{${3}}");
    let text = ROOT.replace_all(&text, "sqrt{${2}}").replace('$', "");
    if THOUSANDS.is_match(&text) { text.replace(',', "") } else { text }
}

/// Without `word` where it stands alone and no backslash precedes it.
fn without_word(text: &str, word: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices(word) {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        if !before.is_some_and(|c| is_word(c) || c == '\\') && !after.is_some_and(is_word) {
            out.push_str(&text[done..at]);
            done = at + word.len();
        }
    }
    out + &text[done..]
}

/// Without `unit` wherever it is not part of a TeX command.
fn outside_commands(text: &str, unit: &str) -> String {
    static COMMAND: Pattern = Pattern::new(r"\\[a-zA-Z]+");
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for command in COMMAND.find_iter(text) {
        out.push_str(&text[done..command.start()].replace(unit, ""));
        out.push_str(command.as_str());
        done = command.end();
    }
    out + &text[done..].replace(unit, "")
}

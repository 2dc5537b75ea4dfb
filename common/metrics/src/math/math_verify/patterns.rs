//! math-verify's patterns, group for group: `lazy_latex_regex` and `lazy_expr_regex` of its `parser.py`.
//!
//! Names of groups are places here. A formula in a text is [`FORMULA`] groups wide, a boxed one [`BOXED`]: one for each way to
//! set it apart, the last for a percent sign behind it. A chain has up to [`LINKS`] of them.

use compass_postprocess::Pattern;
use std::sync::LazyLock;

/// Groups of a formula.
pub(super) const FORMULA: usize = 7;
/// Groups of a formula with a box.
pub(super) const BOXED: usize = 6;
/// Groups of a number: digits and decimals in four forms, a percent sign.
pub(super) const NUMBER: usize = 7;
/// Formulas of a chain: `$1$, $2$ and $3$`.
pub(super) const LINKS: usize = 6;

/// Meaning of a pattern's groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Groups {
    /// Formulas, each as wide as this number of groups.
    Chain(usize),
    /// A text that begins with a box.
    Box,
    /// A calculation, or a number.
    CalculationOrNumber,
    Calculation,
    Number,
}

/// A pattern with its place in the order of the search: the least is looked for first.
pub(super) struct Search {
    pub(super) priority: u16,
    pub(super) groups: Groups,
    pub(super) pattern: Pattern,
}

/// Patterns of a model's answer: boxes first, formulas behind a word that announces them.
pub(super) static ANSWER: LazyLock<Vec<Search>> = LazyLock::new(|| announced(0));
/// Patterns of a gold answer in dollars: formulas, then numbers.
pub(super) static GOLD: LazyLock<Vec<Search>> = LazyLock::new(|| {
    let formula = format!("(?s){}", chain(&environment(FORMULA)));
    let mut all = announced(50);
    all.push(search(300, Groups::Chain(FORMULA), &formula));
    all.extend(numbers());
    all.sort_by_key(|search| search.priority);
    all
});

#[expect(clippy::expect_used, reason = "constant patterns that every test compiles")]
fn search(priority: u16, groups: Groups, pattern: &str) -> Search {
    Search { priority, groups, pattern: Pattern::new(pattern).expect("a valid pattern") }
}

fn announced(boxes: u16) -> Vec<Search> {
    let formulas = chain(&environment(FORMULA));
    let mut all = vec![
        search(0, Groups::Chain(FORMULA), &format!(r"(?s)(?i:final answer is)\:?\s*{formulas}\.?\s?I hope")),
        search(50, Groups::Chain(FORMULA), &format!(r"(?s)(?i:final answer.{{0,100}}?)\s+is\:?\s*{formulas}")),
        search(100, Groups::Chain(FORMULA), &format!(r"(?s)(?i:answer):.{{0,50}}?{formulas}")),
        search(200, Groups::Chain(FORMULA), &format!(r"(?s)(?i:answer).{{0,50}}?{formulas}")),
        search(boxes, Groups::Chain(BOXED), &format!("(?s){}", chain(&environment(BOXED)))),
        search(boxes, Groups::Box, r"(?s)(\\boxed\{.+\})"),
    ];
    all.sort_by_key(|search| search.priority);
    all
}

/// A formula and those that `and`, `or` or a comma join to it.
fn chain(environment: &str) -> String {
    let next = format!(r"(?:\s*(?:,?and|,?or|,)\s*{environment})?");
    format!("(?:{environment}{})", next.repeat(LINKS - 1))
}

/// A formula in what sets it apart, with a box in it or without.
fn environment(groups: usize) -> String {
    let content = |one: &str| match groups {
        BOXED => format!(r"{one}*?\\boxed\{{{one}+?\}}{one}*?"),
        _ => format!("{one}+?"),
    };
    let number = r"-?\d+(?:[.,]\d+)?";
    let fraction = if groups == FORMULA { format!(r"|(-?\\frac\{{{number}\}}\{{{number}\}})") } else { String::new() };
    let [dollars, brackets, dollar, parentheses, bracket] =
        [r"(?:[^$]|\$(?!\$))", r"(?:[^\\]|\\(?!\]))", r"(?:\\[$]|[^\n$])", r"(?:[^\\\n]|\\(?!\)))", r"[^\n\]\[]"]
            .map(content);
    format!(
        r"(?:(?:(?<!\\)\$\$({dollars})(?<!\\)\$\$|(?<!\\)\\\[({brackets})(?<!\\)\\\]|(?<!\\|\d)\$({dollar})(?<!\\)\$|(?<!\\)\\\(({parentheses})(?<!\\)\\\)|\s\[({bracket})\]\s{fraction})\s*((?:\\?%|[Pp]ercent|[Pp]ercentage|[Pp]ct))?)"
    )
}

fn numbers() -> [Search; 6] {
    let digits = concat!(
        r"(?<!\d)(?:(-?[1-9]\d{0,2}(?:[ ,]\d{3})+)(\.\d+)?|(-?\d+)([.,]\d+)|(\.\d+)|(-?\d+))",
        r"(\s*(?:%|[Pp]ercent|\s*[Pp]ercentage|\s*[Pp]ct))?"
    );
    let operators = r"\+\-\*\×\/\^\(\)\÷";
    let calculation = format!(r"(-?\(?-?\d[\d\.\s{operators}]*[{operators}][\d\.\s{operators}]+\)?)");
    let prefix = r"(?:^|\s|\=)(?:\*\*)?";
    let calculation = format!(r"(?:{prefix}{calculation}(?:\*\*)?(?:\.|,|:|\s|\)|\$|$))");
    let number = format!(r"(?:{prefix}[$€£¥₹₽₪₩₫฿₡₢₣₤₥₦₧₨₩₪₫₭₮₯₰₱₲₳₴₵₶₷₸₹₺₻₼₽₾₿]?{digits})");
    let either = format!("(?:{calculation}|{number})");
    let both = Groups::CalculationOrNumber;
    [
        search(0, both, &format!(r"(?i:final answer is)\:?\s*{either}\.?\s?I hope")),
        search(50, both, &format!(r"(?i:final answer.{{0,100}}?)\s+is\:?{either}")),
        search(100, both, &format!(r"(?i:answer):(?:.{{0,100}}=\s*|.{{0,50}}?){either}(?!\s*=)")),
        search(200, both, &format!(r"(?i:answer)(?:.{{0,100}}=\s*|.{{0,50}}?){either}(?!\s*=)")),
        search(300, Groups::Calculation, &calculation),
        search(300, Groups::Number, &number),
    ]
}

//! `bench-answers`: how fast answers are read and compared, and how long the slowest text takes.
//!
//! One core, by processor time; rates are the best of `--rounds N` (5). Prints answers that are read and pairs that are compared in a second, on the
//! answers and pairs that the packages' tests hold, and the slowest of the texts of 4 KiB that are made to be slow. Beside it, on the same
//! pairs in the same run, math-verify, where a Python with it is present (COMPASS_PYTHON, else `python3`); else it says so. Exit code 1
//! below 20,000 a second, or beyond 50 ms.

use compass_metrics::math::equal::{Rules, equal};
use compass_postprocess::{AnswerKind, Letters, answer};
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

const REPLIES: &str = include_str!("../../../common/postprocess/tests/goldens/replies.tsv");
const PAIRS: &str = include_str!("../../../common/metrics/tests/goldens/equal/ours.txt");
const LEAST: f64 = 20_000.0;
const MOST: Duration = Duration::from_millis(50);
/// Bytes of a slow text.
const BYTES: usize = 4096;
/// Passes over all answers in a round, as the kernel counts processor time by ticks.
const PASSES: u32 = 10;
/// Pairs that math-verify compares: it takes milliseconds for each.
const PEER_PAIRS: usize = 200;
/// Reads pairs from its input; prints the seconds that parsing and comparing them took.
const PEER: &str = "
import logging, sys, time
from math_verify import parse, verify
logging.disable(logging.CRITICAL)
pairs = [line.rstrip('\\n').split('\\t') for line in sys.stdin]
verify(parse('$1$'), parse('$1$'))
start = time.perf_counter()
for gold, answer in pairs:
    verify(parse(f'${gold}$'), parse(f'${answer}$'))
print(time.perf_counter() - start)
";

struct Reply {
    text: String,
    kind: AnswerKind,
}

fn replies() -> Vec<Reply> {
    let reply = |line: &str| {
        let mut cells = line.split('\t');
        let (word, text) = (cells.next()?, cells.next()?);
        Some(Reply { text: text.replace('↵', "\n"), kind: kind(word)? })
    };
    REPLIES.lines().filter_map(reply).collect()
}

fn kind(word: &str) -> Option<AnswerKind> {
    Some(match word {
        "number" => AnswerKind::Number,
        "math" => AnswerKind::Math,
        "text" => AnswerKind::Text,
        options => AnswerKind::Choice { options: Letters::new(options).ok()? },
    })
}

fn pairs() -> Vec<[&'static str; 2]> {
    let pair = |line: &'static str| {
        let mut cells = line.split('\t').skip(2);
        Some([cells.next()?, cells.next()?])
    };
    PAIRS.lines().filter_map(pair).collect()
}

/// Processor time of this thread, which other load does not change; nothing where the kernel does not say it.
fn processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// The shortest processor time of some rounds.
fn time<T>(rounds: usize, passes: u32, work: impl Fn() -> T) -> Duration {
    let round = |_| {
        let start = processor();
        (0..passes).for_each(|_| drop(black_box(work())));
        processor().saturating_sub(start) / passes
    };
    (0..rounds).map(round).min().unwrap_or_default()
}

/// Texts of 4 KiB at most that are all brackets, all signs, all members of a list, or beyond all bounds.
fn slow_texts() -> Vec<String> {
    let units = [
        "{",
        "(",
        "[",
        "\\{",
        "|",
        "\\left|",
        "\\sqrt{",
        "\\frac{",
        "\\frac12",
        "2^",
        "x^{",
        "-",
        "!",
        "1,",
        "1,234,",
        "x+",
        "x_1+",
        "(x+1)",
        "(x+y)^9",
        "\\sin ",
        "\\sin x+",
        "\\sin(x+",
        "\\cos^9 x\\sin y ",
        "\\ln 7+",
        "\\sqrt{7}+",
        "\\sqrt{x+1}",
        "\\pm 1,",
        "[1,2]\\cup",
        "x<",
        "1<x,",
        "x=",
        "\\text{a}",
        "\\begin{pmatrix}1&",
        "997^{1/2}",
        "\\binom{n}{9}",
        "99!+",
        "1.5,",
        "\\arctan 2+",
        "e^{ix}",
        "7^{x}",
        "Answer: ",
        "The answer is ",
        "\\boxed{",
        "\\boxed{1}",
        "#### ",
        "答案",
        "选",
        "A) ",
        "so A ",
        "wait ",
        "\nQuestion:",
        "<answer>",
        "$",
        "**",
        "1 ",
        "= 5 ",
        ", so 5",
        "x. ",
        "A. x\n",
    ];
    let mut texts: Vec<String> = units.iter().map(|unit| unit.repeat(BYTES / unit.len())).collect();
    let many = |part: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for at in 0.. {
            let next = part(at);
            if text.len() + next.len() > BYTES {
                break;
            }
            let _ = write!(text, "{next}");
        }
        text
    };
    texts.push(many(&|at| format!("\\sqrt{{{}}}+", 4099 + 2 * at)));
    texts.push(many(&|at| format!("x_{{{at}}}+")));
    texts.push(many(&|at| format!("\\sin x_{{{at}}}+")));
    texts.push(many(&|at| format!("\\ln({}+\\sqrt{{{}}})+", at + 2, at + 3)));
    texts.push(many(&|at| format!("0.{},", 123_456 + at)));
    texts.push(many(&|at| format!("(x+{at})")));
    texts.push(many(&|at| format!("\\{{{at}\\}}\\cup")));
    texts.extend(
        ["{", "(", "\\sqrt{"]
            .map(|open| format!("{}1{}", open.repeat(60), if open == "(" { ")" } else { "}" }.repeat(60))),
    );
    let digits = "7".repeat(1200);
    texts.extend([
        format!("\\sqrt{{{digits}}}"),
        format!("\\frac{{{digits}}}{{{digits}1}}"),
        format!("({digits}x+1)^3"),
        "9".repeat(BYTES),
    ]);
    texts.extend(
        ["10^{10^{10}}", "1000000!", "500!", "\\binom{1000000}{500000}", "(x+y+z+1)^{60}", "2^{4000}\\cdot 3^{99}"]
            .map(String::from),
    );
    texts
}

/// The longest time for one text, and its beginning; equality beside itself and beside `1`, extraction as each kind.
fn slowest(rounds: usize, texts: &[String]) -> (Duration, String) {
    let kinds: Vec<AnswerKind> = ["ABCD", "number", "math", "text"].into_iter().filter_map(kind).collect();
    let timed = |text: &String| {
        let other = format!("{}+0", text.get(..BYTES - 2).unwrap_or(text));
        let own = time(rounds, 1, || equal(text, &other, Rules::Ours));
        let one = time(rounds, 1, || equal(text, "1", Rules::Ours));
        let read = kinds.iter().map(|kind| time(rounds, 1, || answer(text, kind)));
        read.chain([own, one]).max().unwrap_or_default()
    };
    let slowest = texts.iter().map(|text| (timed(text), text.chars().take(24).collect())).max();
    slowest.unwrap_or_default()
}

/// Pairs that math-verify compares in a second; an error where it is not there.
fn peer(pairs: &[[&str; 2]]) -> io::Result<f64> {
    let program = std::env::var("COMPASS_PYTHON").unwrap_or_else(|_| "python3".into());
    let missing = |error: &dyn std::fmt::Display| {
        io::Error::other(format!("{program} has no math-verify ({error}); set COMPASS_PYTHON"))
    };
    let mut child = Command::new(&program)
        .args(["-c", PEER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| missing(&error))?;
    let lines: String = pairs.iter().map(|[gold, answer]| format!("{gold}\t{answer}\n")).collect();
    if let Some(mut input) = child.stdin.take() {
        // A Python without the package ends before it reads.
        let _ = input.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| missing(&error))?;
    let seconds: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().map_err(|_| missing(&output.status))?;
    Ok(pairs.len() as f64 / seconds)
}

fn rounds() -> Option<usize> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [] => Some(5),
        [flag, number] if flag == "--rounds" => number.parse().ok().filter(|rounds| *rounds > 0),
        _ => None,
    }
}

fn main() -> ExitCode {
    let Some(rounds) = rounds() else {
        eprintln!("usage: bench-answers [--rounds N]");
        return ExitCode::from(2);
    };
    let (replies, pairs) = (replies(), pairs());
    let read = || replies.iter().filter(|reply| answer(&reply.text, &reply.kind).is_some()).count();
    let reading = replies.len() as f64 / time(rounds, PASSES, read).as_secs_f64();
    println!("extraction: {reading:.0} answers a second, {} of {} have one", read(), replies.len());
    let equal_ones = || pairs.iter().filter(|[gold, answer]| equal(gold, answer, Rules::Ours).is_equal()).count();
    let comparing = pairs.len() as f64 / time(rounds, PASSES, equal_ones).as_secs_f64();
    println!("equality: {comparing:.0} pairs a second, {} of {} equal", equal_ones(), pairs.len());
    let few: Vec<[&str; 2]> = pairs.iter().step_by(pairs.len().div_ceil(PEER_PAIRS).max(1)).copied().collect();
    match peer(&few) {
        Ok(peer) => println!("math-verify: {peer:.0} pairs a second, ratio {:.0}", comparing / peer),
        Err(why) => println!("math-verify: skipped: {why}"),
    }
    let (longest, text) = slowest(1, &slow_texts());
    println!("slowest text of 4 KiB: {:.1} ms ({text:?} ..)", longest.as_secs_f64() * 1e3);
    if reading < LEAST || comparing < LEAST || longest > MOST { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

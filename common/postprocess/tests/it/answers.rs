//! The reader of answers: a table of cases, and texts changed at random.

use super::answer_cases::{CHOICES, Case, VALUES};
use compass_postprocess::{AnswerKind, FoundAnswer, Letters, answer};
use compass_types::seeded::Rng;

pub(crate) fn kind(word: &str) -> AnswerKind {
    match word {
        "number" => AnswerKind::Number,
        "math" => AnswerKind::Math,
        "text" => AnswerKind::Text,
        options => AnswerKind::Choice { options: Letters::new(options).unwrap() },
    }
}

/// Answers as models finish exercises of GSM8K, MATH, AIME, GPQA, MMLU, BBH and C-Eval: kind, text, reading, tier. `↵` ends a line.
const REPLIES: &str = include_str!("../goldens/replies.tsv");

fn cases() -> Vec<[String; 4]> {
    let table =
        CHOICES.iter().chain(VALUES).map(|Case(kind, text, read, tier)| [*kind, *text, *read, *tier].map(String::from));
    let reply = |line: &str| -> [String; 4] {
        let cells: Vec<String> = line.split('\t').map(|cell| cell.replace('↵', "\n")).collect();
        cells.try_into().unwrap()
    };
    table.chain(REPLIES.lines().map(reply)).collect()
}

fn shown(found: Option<FoundAnswer>) -> [String; 2] {
    let Some(FoundAnswer { text, how, outside }) = found else { return [String::new(), String::new()] };
    [if outside { text + "!" } else { text }, format!("{how:?}")]
}

#[test]
fn answers_as_a_person_reads_them() {
    let cases = cases();
    let wrong: Vec<String> = cases
        .iter()
        .map(|[word, text, wanted @ ..]| (text, wanted, shown(answer(text, &kind(word)))))
        .filter(|(_, wanted, found)| wanted != &found)
        .map(|(text, wanted, found)| format!("{text:?}\n   wanted {wanted:?}, found {found:?}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Pieces that change what a text means.
const PIECES: [&str; 24] = [
    "\\boxed{",
    "}",
    "{",
    "$",
    "\\",
    "The answer is ",
    "Answer:",
    "####",
    "答案",
    "是",
    "不",
    "<answer>",
    "</answer>",
    "\n",
    "\n\n",
    " not ",
    "**",
    "Question:",
    "Wait, ",
    "（",
    "，",
    "1,234",
    "C",
    "é",
];

/// A text of the table, changed in a few places.
fn changed(cases: &[[String; 4]], rng: &mut Rng) -> String {
    let any = |rng: &mut Rng| cases[rng.below(cases.len() as u64) as usize][1].as_str();
    let mut text: Vec<char> = any(rng).chars().collect();
    for _ in 0..rng.between(1, 6) {
        let at = rng.below(text.len() as u64 + 1) as usize;
        let end = (at + rng.below(8) as usize).min(text.len());
        let piece = match rng.below(4) {
            0 => "",
            1 => any(rng),
            _ => PIECES[rng.below(PIECES.len() as u64) as usize],
        };
        text.splice(at..end, piece.chars());
    }
    text.into_iter().collect()
}

#[test]
fn changed_texts_have_answers_of_their_kind_or_none() {
    let full = std::env::var("COMPASS_FULL").is_ok_and(|value| value == "1");
    let (cases, mut rng) = (cases(), Rng::new(7));
    let kinds = ["ABCD", "ABCDEFGHIJ", "number", "math", "text"].map(kind);
    let mut read = 0;
    for _ in 0..if full { 1_000_000 } else { 20_000 } {
        let text = changed(&cases, &mut rng);
        let kind = &kinds[rng.below(kinds.len() as u64) as usize];
        let Some(found) = answer(&text, kind) else { continue };
        assert!(!found.text.trim().is_empty(), "{text:?}: {found:?} as {kind:?}");
        read += 1;
        let again = || answer(&found.text, kind).map(|found| found.text);
        match kind {
            AnswerKind::Choice { options } if !found.outside => {
                assert!(
                    found.text.chars().count() == 1 && options.as_str().contains(&found.text),
                    "{text:?}: {found:?}"
                );
                assert_eq!(again().as_ref(), Some(&found.text), "{text:?}");
            }
            AnswerKind::Number if !found.outside => assert_eq!(again().as_ref(), Some(&found.text), "{text:?}"),
            _ => {}
        }
    }
    assert!(read > 10_000, "{read} answers");
}

/// Texts of openings of answers alone: to look twice at the text behind each would take hours.
#[test]
fn texts_of_a_megabyte_are_read() {
    assert_eq!(answer(&"Answer: ".repeat(1 << 17), &kind("number")), None);
    for unit in [
        "Answer: ",
        "the answer to ",
        "\\boxed{",
        "\\boxed{}",
        "<answer>",
        "答案",
        "A) ",
        "1,",
        "wait ",
        "\nQuestion:",
        "(",
        "$",
    ] {
        let text = unit.repeat((1 << 16) / unit.len());
        for word in ["ABCD", "number", "math", "text"] {
            let found = answer(&text, &kind(word));
            assert!(found.is_none_or(|found| found.text.len() <= 4096), "{unit} as {word}");
        }
    }
}

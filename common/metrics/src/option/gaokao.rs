//! GAOKAO-Bench (Zhang et al. 2023) as OpenCompass scores it (`GaokaoBenchEvaluator`).

use crate::text::Pattern;
use compass_pyfmt::is_space;

/// The kinds of question that have a key. `cloze`, `subjective` and `correction` score 0 there: a person must mark them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaokaoQuestion {
    /// One of A to D: the last letter written.
    SingleChoice,
    /// Several of A to D: two points for all, one for some and none wrong.
    MultiChoice,
    /// Several questions, each with one letter.
    MultiQuestionChoice,
    /// Five gaps, seven letters.
    FiveOutOfSeven,
}

/// Points of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GaokaoScore {
    /// Points earned.
    pub points: u32,
    /// Points that can be earned. The metric is 100 times the sum of points over the sum of these.
    pub out_of: u32,
    /// Set if every answer is right.
    pub correct: bool,
}

/// The score of a prediction against the key, one entry per answer.
pub fn gaokao_score(question: GaokaoQuestion, prediction: &str, key: &[&str]) -> GaokaoScore {
    let mut answers = gaokao_answer(question, prediction, key.len());
    if answers.len() != key.len() {
        answers = vec!["Z".into(); key.len()];
    }
    let worth = if question == GaokaoQuestion::MultiChoice { 2 } else { 1 };
    let mut score = GaokaoScore { correct: true, ..GaokaoScore::default() };
    for (answer, right) in answers.iter().zip(key) {
        score.out_of += worth;
        if answer == right {
            score.points += worth;
        } else {
            score.correct = false;
            // Letters that are all in the key, none of them wrong.
            score.points += u32::from(worth == 2 && answer.chars().all(|letter| right.contains(letter)));
        }
    }
    score
}

/// The answers that a prediction gives; `expected` is how many the key has.
pub fn gaokao_answer(question: GaokaoQuestion, prediction: &str, expected: usize) -> Vec<String> {
    static MARKED: Pattern = Pattern::new(r"【答案】[\s\x1c-\x1f]*[:：]*[\s\x1c-\x1f]*([A-Z])");
    let letters = |text: &str, last: char| text.chars().filter(|c| ('A'..=last).contains(c)).collect::<String>();
    match question {
        GaokaoQuestion::SingleChoice => letters(prediction, 'D').chars().last().map(String::from).into_iter().collect(),
        GaokaoQuestion::MultiChoice => {
            let content: String = prediction.chars().filter(|&c| !is_space(c)).collect();
            // A mark at the very beginning is passed over, as there.
            let answer = match content.find("【答案】") {
                Some(at) if at > 0 => letters(&content[at..], 'D'),
                _ => letters(&content.chars().rev().take(10).collect::<String>(), 'D').chars().rev().collect(),
            };
            if answer.is_empty() { Vec::new() } else { vec![answer] }
        }
        GaokaoQuestion::MultiQuestionChoice => {
            let marked: Vec<String> = MARKED.captures_iter(prediction).map(|found| found[1].to_string()).collect();
            if marked.len() == expected {
                return marked;
            }
            letters(prediction, 'Z').chars().take(expected).map(String::from).collect()
        }
        GaokaoQuestion::FiveOutOfSeven => letters(prediction, 'G').chars().take(5).map(String::from).collect(),
    }
}

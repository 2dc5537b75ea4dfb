//! Columns of the long form on the answers that a number is of.

use crate::evaluator::{AnswerClass, AnswerFigures, Lengths, OpenBounds};

/// Columns behind the classes.
const FIGURES: [&str; 7] = [
    "thinking_tokens_median",
    "thinking_tokens_p95",
    "answer_tokens_median",
    "answer_tokens_p95",
    "if_right",
    "bound_low",
    "bound_high",
];

/// Names of the columns: answers, one for each class, median and 95th percentile of the tokens of thinking and answers, and the bounds
/// of the first metric where answers are open. All are empty where nothing was generated.
pub(super) fn answer_columns() -> impl Iterator<Item = &'static str> + Clone {
    ["answers"].into_iter().chain(AnswerClass::ALL.into_iter().map(AnswerClass::name)).chain(FIGURES)
}

/// The fields of these columns.
pub(super) fn answer_fields(figures: Option<&AnswerFigures>) -> Vec<String> {
    let Some(figures) = figures else { return answer_columns().map(|_| String::new()).collect() };
    let lengths = [figures.thinking, figures.answer].map(|lengths| match lengths {
        Some(Lengths { median, p95 }) => [median.to_string(), p95.to_string()],
        None => Default::default(),
    });
    let bounds = match figures.bounds {
        Some(OpenBounds { if_right, low, high }) => [if_right, low, high].map(|bound| bound.to_string()),
        None => Default::default(),
    };
    let counts = [figures.answers].into_iter().chain(figures.classes).map(|count| count.to_string());
    counts.chain(lengths.into_iter().flatten()).chain(bounds).collect()
}

/// Reads the fields of these columns, all empty where there are no figures; `None` for anything else.
#[expect(clippy::option_option, reason = "a line may have no figures, and may not be a line")]
pub(super) fn read_answers(fields: &[&str]) -> Option<Option<AnswerFigures>> {
    let Some((answers, rest)) = fields.split_first().filter(|(answers, _)| !answers.is_empty()) else {
        return fields.iter().all(|field| field.is_empty()).then_some(None);
    };
    let (classes, rest) = rest.split_at_checked(AnswerClass::ALL.len())?;
    let counts = classes.iter().map(|count| count.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let [thinking, thinking_p95, answer, answer_p95, if_right, low, high] = rest.try_into().ok()?;
    let lengths = |median: &str, p95: &str| match median {
        "" => Some(None),
        median => Some(Some(Lengths { median: median.parse().ok()?, p95: p95.parse().ok()? })),
    };
    let bounds = match if_right {
        "" => None,
        share => Some(OpenBounds { if_right: share.parse().ok()?, low: low.parse().ok()?, high: high.parse().ok()? }),
    };
    Some(Some(AnswerFigures {
        answers: answers.parse().ok()?,
        classes: counts.try_into().ok()?,
        thinking: lengths(thinking, thinking_p95)?,
        answer: lengths(answer, answer_p95)?,
        bounds,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_are_written() {
        let mut classes = [0; AnswerClass::ALL.len()];
        (classes[1], classes[7]) = (230, 4);
        let bounds = Some(OpenBounds { if_right: 73.25, low: 47.3, high: 86.125 });
        let thinking = Some(Lengths { median: 9412, p95: 32_768 });
        let whole =
            AnswerFigures { answers: 1920, classes, thinking, answer: Some(Lengths { median: 7, p95: 90 }), bounds };
        let plain = AnswerFigures { thinking: None, bounds: None, ..whole };
        for figures in [Some(whole), Some(plain), None] {
            let fields = answer_fields(figures.as_ref());
            assert_eq!(fields.len(), answer_columns().count());
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            assert_eq!(read_answers(&fields), Some(figures));
        }
        assert_eq!(read_answers(&[]), Some(None), "as earlier versions wrote it");
        assert_eq!(read_answers(&["1920", "x"]), None);
    }
}

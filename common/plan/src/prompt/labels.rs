//! Labels of options: their JSON type is the one that the configuration says. Where it says none, it follows the gold answers,
//! so that a prediction and its gold compare as equals.

use super::template::LabelType;
use compass_pyfmt::{digits_beyond_64_bits, python_str};
use serde_json::Value;

/// Type that the gold answers of all test rows have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoldKind {
    Integers,
    Booleans,
    Mixed,
}

impl GoldKind {
    /// Looks no further than at the first gold answer that is of another kind.
    pub(super) fn of(golds: impl IntoIterator<Item = Value>) -> Self {
        let mut kind = None;
        for gold in golds {
            // Of several right answers each is a gold.
            for gold in each(&gold) {
                let this = match gold {
                    Value::Number(number) if !number.is_f64() => Self::Integers,
                    Value::Bool(_) => Self::Booleans,
                    number if digits_beyond_64_bits(number).is_some() => Self::Integers,
                    _ => return Self::Mixed,
                };
                if *kind.get_or_insert(this) != this {
                    return Self::Mixed;
                }
            }
        }
        kind.unwrap_or(Self::Mixed)
    }

    /// The kind of labels whose type the configuration says.
    pub(super) fn written(label_type: LabelType) -> Self {
        match label_type {
            LabelType::Text => Self::Mixed,
            LabelType::Integer => Self::Integers,
            LabelType::Boolean => Self::Booleans,
        }
    }

    /// The label as JSON. A label that does not read as the wanted type stays text.
    pub(super) fn typed(self, label: &str) -> Value {
        match self {
            Self::Integers => match label.parse::<i64>() {
                Ok(number) if number.to_string() == label => number.into(),
                _ => label.into(),
            },
            Self::Booleans if label.eq_ignore_ascii_case("true") => true.into(),
            Self::Booleans if label.eq_ignore_ascii_case("false") => false.into(),
            Self::Booleans | Self::Mixed => label.into(),
        }
    }
}

/// Returns whether a gold answer means the label: equal as Python prints it; `true` and `True` mean the same JSON bool.
pub(super) fn names(label: &str, gold: &Value) -> bool {
    match gold {
        Value::Bool(gold) => label.eq_ignore_ascii_case(if *gold { "true" } else { "false" }),
        Value::String(gold) => label == gold,
        other => label == python_str(other),
    }
}

/// Returns the position of the label that `gold` means.
///
/// # Errors
/// In words, when there is none.
pub(super) fn position(labels: &[&str], gold: &Value) -> Result<usize, String> {
    labels.iter().position(|label| names(label, gold)).ok_or_else(|| {
        format!("the gold answer {gold} is not among the labels {}: correct the row or add a label", labels.join(", "))
    })
}

/// The entry of a label map that `gold` means; of several right answers the first.
///
/// # Errors
/// In words, when there is none for one of them.
pub(super) fn find<'a, T>(map: &'a [(impl AsRef<str>, T)], gold: &Value) -> Result<&'a T, String> {
    let labels: Vec<&str> = map.iter().map(|(label, _)| label.as_ref()).collect();
    let golds = each(gold).iter().map(|gold| position(&labels, gold));
    let golds = golds.collect::<Result<Vec<usize>, String>>()?;
    let first = golds.first().and_then(|&at| map.get(at)).map(|(_, entry)| entry);
    first.ok_or_else(|| "the gold answer is an empty list: no answer would be right".into())
}

/// Gold answers where no answer is right: corpora of inference (SNLI and those after it) write `-` where no label was agreed
/// upon, and OpenCompass's loaders nothing where a split has no answers (C-Eval's `test`).
const NO_LABEL: [&str; 2] = ["-", ""];

/// Checks that an answer of the map can be right: the gold answer, or the letter in `index--letter--pattern`, names it, or
/// says that none is.
///
/// # Errors
/// As [`find`].
pub(super) fn check<T>(map: &[(impl AsRef<str>, T)], gold: &Value) -> Result<(), String> {
    if NO_LABEL.iter().any(|none| gold == none) {
        return Ok(());
    }
    let circular = gold.as_str().and_then(|gold| match gold.split("--").collect::<Vec<_>>().as_slice() {
        [_, letter, _] => Some(Value::from(*letter)),
        _ => None,
    });
    find(map, circular.as_ref().unwrap_or(gold)).map(|_| ())
}

/// The gold answers: the items of a list, else the gold itself.
pub(super) fn each(gold: &Value) -> &[Value] {
    match gold {
        Value::Array(golds) => golds,
        one => std::slice::from_ref(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_take_the_type_of_the_golds() {
        let kind = |golds: Value| GoldKind::of(golds.as_array().unwrap().clone());
        assert_eq!(kind(json!([0, 1])).typed("1"), json!(1));
        assert_eq!(kind(json!([0, 1])).typed("01"), json!("01"));
        assert_eq!(kind(json!(["0", "1"])).typed("1"), json!("1"));
        assert_eq!(kind(json!([0, "1"])).typed("1"), json!("1"));
        assert_eq!(kind(json!([true, false])).typed("True"), json!(true));
        assert_eq!(kind(json!([1.0])).typed("1"), json!("1"));
        assert_eq!(kind(json!([])).typed("1"), json!("1"));
    }

    #[test]
    fn labels_keep_the_type_that_was_written() {
        assert_eq!(GoldKind::written(LabelType::Integer).typed("1"), json!(1));
        assert_eq!(GoldKind::written(LabelType::Text).typed("1"), json!("1"));
        assert_eq!(GoldKind::written(LabelType::Boolean).typed("True"), json!(true));
    }

    #[test]
    fn golds_find_their_label() {
        let map = [("0".to_owned(), "a".to_owned()), ("true".to_owned(), "b".to_owned())];
        assert_eq!(find(&map, &json!(0)), Ok(&"a".to_owned()));
        assert_eq!(find(&map, &json!("0")), Ok(&"a".to_owned()));
        assert_eq!(find(&map, &json!(true)), Ok(&"b".to_owned()));
        assert_eq!((check(&map, &json!("-")), check(&map, &json!("7--true--ABCD"))), (Ok(()), Ok(())));
        assert_eq!(check(&map, &json!("")), Ok(()), "a split without answers");
        assert!(check(&map, &json!("7--C--ABCD")).is_err() && check(&map, &json!(7)).is_err());
        assert!(find(&map, &json!("C")).unwrap_err().contains(r#""C" is not among the labels 0, true"#));
    }
}

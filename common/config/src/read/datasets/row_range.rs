//! `test_range` and `train_range`: nothing, a number, a share, or Python slices.

use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_types::range::RangeSpec;

/// The range in `node`, kept as written; what OpenCompass would not understand is reported.
pub(crate) fn read(check: &mut Check, key: &str, node: &Node) -> Option<RangeSpec> {
    match &node.value {
        Value::Integer(rows) => Some(RangeSpec::Count(*rows)),
        Value::Float(share) if *share > 0.0 && *share < 1.0 => Some(RangeSpec::Fraction(*share)),
        Value::Float(share) => {
            let help = "write a whole number of rows, or a share between 0 and 1";
            check.error(node.span, format!("`{key}` is out of range: {share}"), Some(help.into()));
            None
        }
        Value::String(text) if text.trim().is_empty() => Some(RangeSpec::All),
        Value::String(text) if are_slices(text.trim()) => Some(RangeSpec::Slices(text.trim().into())),
        Value::String(text) => {
            let help = format!(
                "write Python slices, one after the other, as in `{key} = \"[:100]\"` or `\"[100:][::2]\"`, a number of rows, or a \
                 share between 0 and 1; what else OpenCompass evaluates, as a sum of slices, is not taken"
            );
            check.error(node.span, format!("`{key}` cannot be `{text}`"), Some(help));
            None
        }
        _ => {
            check.wrong_type(key, node, "a slice in a string or a number", "\"[:100]\"");
            None
        }
    }
}

/// One or more `[start:stop]` or `[start:stop:step]`, every part optional, the step not 0.
fn are_slices(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else { return false };
    inner.split("][").all(|slice| {
        let parts: Vec<&str> = slice.split(':').map(str::trim).collect();
        let numbers = parts.iter().all(|part| part.is_empty() || part.parse::<i64>().is_ok());
        let step = parts.get(2).and_then(|step| step.parse::<i64>().ok());
        numbers && (2..=3).contains(&parts.len()) && step != Some(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_slices_and_nothing_else() {
        for good in ["[:100]", "[:50][0:8]", "[10:]", "[:]", "[::2]", "[-5:]", "[ 1 : 2 ]"] {
            assert!(are_slices(good), "{good}");
        }
        for bad in ["", "[", "[]", "[5]", ":100", "[:100", "[::0]", "[1:2:3:4]", "[a:b]", "[:1] [:2]x", "[1:2]]"] {
            assert!(!are_slices(bad), "{bad}");
        }
    }
}

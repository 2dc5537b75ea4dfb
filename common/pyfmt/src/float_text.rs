//! `str(float)`.

use super::text::python_str;
use serde_json::Value;

/// `str(number)` as CPython prints a float: shortest digits, `inf`, `nan`.
pub fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.into();
    }
    python_str(&Value::from(number))
}

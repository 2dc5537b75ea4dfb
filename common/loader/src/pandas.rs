//! Conversion of the fields of a csv file as by pandas: a column of numbers becomes numbers, one of truth values becomes truth
//! values, and the words for a missing value become none.

use serde_json::{Map, Number, Value};

/// Texts that mean a missing value.
const MISSING: &[&str] = &[
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Gives every column its type.
pub(crate) fn typed(rows: &mut [Map<String, Value>]) {
    let Some(first) = rows.first() else { return };
    let names: Vec<String> = first.keys().cloned().collect();
    for name in names {
        let fields = || rows.iter().filter_map(|row| row.get(&name)).filter_map(Value::as_str);
        let missing = fields().filter(|field| MISSING.contains(field)).count();
        let present = || fields().filter(|field| !MISSING.contains(field));
        let is_int = missing == 0 && present().all(|field| int(field).is_some());
        let is_float = present().all(|field| float(field).is_some());
        let is_bool = present().next().is_some() && present().all(|field| truth(field).is_some());
        for row in rows.iter_mut() {
            let Some(value) = row.get_mut(&name) else { continue };
            let Some(field) = value.as_str() else { continue };
            *value = if MISSING.contains(&field) {
                Value::Null
            } else if is_bool {
                truth(field).map_or(Value::Null, Value::Bool)
            } else if is_int {
                int(field).map_or(Value::Null, Value::from)
            } else if is_float {
                float(field).and_then(Number::from_f64).map_or(Value::Null, Value::Number)
            } else {
                continue;
            };
        }
    }
}

fn int(field: &str) -> Option<i64> {
    field.trim().parse().ok()
}

fn float(field: &str) -> Option<f64> {
    let field = field.trim();
    let is_number = field.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E'));
    is_number.then(|| field.parse().ok()).flatten()
}

fn truth(field: &str) -> Option<bool> {
    match field {
        "True" | "TRUE" | "true" => Some(true),
        "False" | "FALSE" | "false" => Some(false),
        _ => None,
    }
}

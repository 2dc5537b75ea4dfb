//! Shape of the rows of a file, found from what a split makes of them.
//!
//! A shape is JSON in which texts that begin with `$` stand for what is drawn: `$text`, `$word`, `$letter`, `$int:0:3`,
//! `$any:a|b`, `$each:a|b` (in turn), `$list` (a list of texts, written as Python does), `$parts:SEP` (texts with SEP between
//! them), `$gap` (a text with one `_`).

use compass_plan::prompt::Template;
use compass_pyfmt::python_str;
use compass_settings::{DatasetConfig, Expression, Key, SourceConfig, Test};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Adds what a split asks of its files, and of the files beside them.
pub(super) fn of_split(shapes: &mut BTreeMap<PathBuf, Value>, dataset: &DatasetConfig, source: &SourceConfig) {
    let mut row = Map::new();
    let labels = labels(dataset);
    let mut computed: BTreeSet<&str> = source.file_column.as_deref().into_iter().collect();
    computed.extend(source.read.key_column.as_deref());
    for name in &source.read.names {
        row.insert(name.clone(), "$text".into());
    }
    for column in &source.columns {
        let of_gold = dataset.output_column.as_deref() == Some(column.name.as_str()) && !labels.is_empty();
        for (path, token) in wanted(&column.expression) {
            let is_copied = of_gold && matches!(column.expression, Expression::From { .. });
            let token = if is_copied { format!("$any:{}", labels.join("|")) } else { token };
            let root = path.split('.').next().unwrap_or(path);
            if !computed.contains(root) && column.default.is_none() {
                put(&mut row, path, &token);
            }
        }
        let file = format!("$any:{}", labels.join("|"));
        let is_gold = dataset.output_column.as_deref() == Some(column.name.as_str()) && !labels.is_empty();
        let base = source.columns.iter().find_map(|other| match &other.expression {
            Expression::LetterOf { of, base } if *of == column.name => Some(*base),
            _ => None,
        });
        let base = base.unwrap_or(0);
        beside(shapes, &column.expression, if is_gold { file } else { format!("$int:{base}:{}", base + 1) });
        computed.insert(&column.name);
    }
    for condition in &source.keep {
        let token = match &condition.test {
            Test::Equals(value) => format!("$each:{}", python_str(value)),
            Test::In(values) => format!("$each:{}", values.iter().map(python_str).collect::<Vec<_>>().join("|")),
            Test::Exists(true) => "$text".to_owned(),
            Test::Regex(_) | Test::Exists(false) => continue,
        };
        if !condition.not && !computed.contains(condition.column.as_str()) {
            put(&mut row, &condition.column, &token);
        }
    }
    for (column, names) in &source.lists_to_columns {
        computed.extend(names.iter().map(String::as_str));
        if !computed.contains(column.as_str()) {
            row.insert(column.clone(), vec![Value::from("$text"); names.len()].into());
        }
    }
    let output = dataset.output_column.as_deref();
    let columns = dataset.input_columns.iter().chain(&source.only).map(String::as_str);
    let columns = columns.chain(dataset.eval.evaluator.beside_gold().iter().copied());
    for column in columns.filter(|column| Some(*column) != output) {
        if !computed.contains(column) {
            put(&mut row, column, "$text");
        }
    }
    if let Some(output) = output.filter(|output| !computed.contains(output)) {
        let token = match (labels.is_empty(), is_wordy(output)) {
            (false, _) => format!("$any:{}", labels.join("|")),
            (true, true) => "$word".to_owned(),
            (true, false) => "$letter".to_owned(),
        };
        if !row.get(output).is_some_and(|there| there != "$text") {
            row.insert(output.to_owned(), token.into());
        }
    }
    for file in &source.files {
        let there = shapes.entry(file.path.clone()).or_insert_with(|| Value::Object(Map::new()));
        for (name, value) in &row {
            match there.get_mut(name) {
                Some(held) if held != "$text" => each_of_both(held, value),
                Some(held) => *held = value.clone(),
                None => there[name] = value.clone(),
            }
        }
    }
}

/// Data sets of one file may keep rows of different values.
fn each_of_both(held: &mut Value, further: &Value) {
    let values = |token: &Value| token.as_str().and_then(|token| token.strip_prefix("$each:")).map(str::to_owned);
    if let (Some(mut all), Some(further)) = (values(held), values(further)) {
        for value in further.split('|') {
            if all.split('|').all(|known| known != value) {
                all = format!("{all}|{value}");
            }
        }
        *held = format!("$each:{all}").into();
    }
}

/// The answers that the templates spell out.
fn labels(dataset: &DatasetConfig) -> Vec<String> {
    let prompt = &dataset.prompt;
    match prompt.prompt_template.as_ref().or(prompt.ice_template.as_ref()) {
        Some(Template::Labels(all)) => all.iter().map(|(label, _)| label.clone()).collect(),
        Some(Template::LabelRounds(all)) => all.iter().map(|(label, _)| label.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Returns whether a gold answer of this name is a text rather than a letter.
fn is_wordy(name: &str) -> bool {
    ["solution", "target", "summary", "completion", "text", "answers"].iter().any(|word| name.contains(word))
}

/// The shapes of files that a column reads itself; `line` stands in each line of one.
fn beside(shapes: &mut BTreeMap<PathBuf, Value>, expression: &Expression, line: String) {
    let (file, shape) = match expression {
        Expression::LinesOf { file } => (file, Value::from(line)),
        Expression::TextOf { file } => (file, Value::from("$text")),
        Expression::RowsOf { file, column } => {
            (file, Value::Object(Map::from_iter([(column.clone(), Value::from("$letter"))])))
        }
        _ => return,
    };
    shapes.entry(file.clone()).or_insert(shape);
}

/// Paths that an expression reads, with the shape that must be there.
fn wanted(expression: &Expression) -> Vec<(&str, String)> {
    match expression {
        Expression::Split { of, by, .. } => vec![(of, format!("$parts:{by}"))],
        Expression::Capture { of, regex, .. } if regex.contains('_') => vec![(of, "$gap".into())],
        Expression::LetterOf { of, base } => vec![(of, format!("$int:{base}:{}", base + 1))],
        Expression::IndexOf { of, list: None, .. } => vec![(of, "$letter".into())],
        Expression::Map { of, to } => {
            let keys: Vec<&str> = to.iter().map(|(key, _)| key.as_str()).collect();
            vec![(of, format!("$any:{}", keys.join("|")))]
        }
        Expression::Json { of } => vec![(of, "$list".into())],
        Expression::JoinItems { of, .. } => vec![(of, "$texts".into())],
        Expression::Item { of, at: Key::At(_) } => vec![(of, "$texts".into())],
        expression => expression.paths().into_iter().map(|path| (path, "$text".to_owned())).collect(),
    }
}

/// Puts a token at a path: `question.choices.0.text`.
fn put(row: &mut Map<String, Value>, path: &str, token: &str) {
    let Some((head, rest)) = path.split_once('.') else {
        let there = row.entry(path).or_insert_with(|| token.into());
        if there == "$text" {
            *there = token.into();
        }
        return;
    };
    let inner = row.entry(head).or_insert(Value::Null);
    put_into(inner, rest, token);
}

fn put_into(value: &mut Value, path: &str, token: &str) {
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    let inner = match head.parse::<usize>() {
        Ok(at) => {
            if !value.is_array() {
                *value = Value::Array(Vec::new());
            }
            let Some(items) = value.as_array_mut() else { return };
            while items.len() <= at {
                let like = items.first().cloned().unwrap_or(Value::Null);
                items.push(like);
            }
            items.get_mut(at)
        }
        Err(_) => {
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            value.as_object_mut().map(|map| map.entry(head).or_insert(Value::Null))
        }
    };
    let Some(inner) = inner else { return };
    match rest {
        Some(rest) => put_into(inner, rest, token),
        None if inner.is_null() || inner == "$text" => *inner = token.into(),
        None => {}
    }
}

//! Conversations for OpenCompass's `ChatInferencer`: from a column that holds one, or from a template per round.

use super::form::{Form, IceContent};
use super::format::Row;
use super::gold::Gold;
use super::messages::chat_role;
use super::structured::{Segment, ShotFormat, Turn};
use crate::ChatTurn;
use compass_pyfmt::python_str;
use serde_json::Value;

const ASSISTANT: &str = "assistant";

/// The conversation that `column` holds: a list of `{ role, content }` in which the assistant answers.
///
/// # Errors
/// In words, when the column holds something else.
pub(super) fn held(row: &Row, column: &str) -> Result<Vec<ChatTurn>, String> {
    let turns = messages(row, column)?;
    let answers = turns.iter().any(|turn| turn.role == ASSISTANT);
    if answers { Ok(turns) } else { Err(format!("column `{column}` holds no message of the assistant")) }
}

/// The messages that `column` holds: a list of `{ role, content }`.
///
/// # Errors
/// In words, when the column holds something else.
pub(super) fn messages(row: &Row, column: &str) -> Result<Vec<ChatTurn>, String> {
    let value = row.get(column).ok_or_else(|| format!("has no column `{column}`, where messages are looked for"))?;
    let wrong = || format!("column `{column}` holds no list of {{ role, content }}");
    let turn = |entry: &Value| {
        let text = |key| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(ChatTurn { role: chat_role(&text("role")?).to_owned(), content: text("content")? })
    };
    let turns: Option<Vec<ChatTurn>> = value.as_array().ok_or_else(wrong)?.iter().map(turn).collect();
    turns.filter(|turns| !turns.is_empty()).ok_or_else(wrong)
}

/// The conversation that a template makes of a row. Where every column that it uses holds a list of texts, there is a round
/// for each. The assistant answers with the gold answer where the template does not answer for it.
///
/// # Errors
/// In words: those of the template.
pub(super) fn written(form: &Form<'_>, row: &Row, used: &[&str], gold: &Gold<'_>) -> Result<Vec<ChatTurn>, String> {
    let mut turns = Vec::new();
    for row in rounds(row, used, gold.column) {
        turns.extend(said(form, &row)?);
        if turns.last().is_none_or(|turn: &ChatTurn| turn.role != ASSISTANT) {
            let answer = gold.of(&row).map(|gold| python_str(&gold)).unwrap_or_default();
            turns.push(ChatTurn { role: ASSISTANT.into(), content: answer });
        }
    }
    Ok(turns)
}

/// The answers of the assistant in the data.
pub(super) fn answers(turns: &[ChatTurn]) -> Vec<&str> {
    turns.iter().filter(|turn| turn.role == ASSISTANT).map(|turn| turn.content.as_str()).collect()
}

/// The row itself, or one row for each entry of its lists.
fn rounds(row: &Row, used: &[&str], output_column: Option<&str>) -> Vec<Row> {
    let columns: Vec<&str> = used.iter().copied().chain(output_column).collect();
    let lists: Option<Vec<(&str, &Vec<Value>)>> = columns
        .iter()
        .map(|&column| match row.get(column) {
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => Some((column, items)),
            _ => None,
        })
        .collect();
    let Some(lists) = lists.filter(|lists| !lists.is_empty()) else { return vec![row.clone()] };
    let count = lists.iter().map(|(_, items)| items.len()).min().unwrap_or(0);
    let one = |at: usize| {
        let mut one = row.clone();
        for (column, items) in &lists {
            one.insert((*column).into(), items.get(at).cloned().unwrap_or_default());
        }
        one
    };
    (0..count).map(one).collect()
}

fn said(form: &Form<'_>, row: &Row) -> Result<Vec<ChatTurn>, String> {
    let prompt = form.prompt(row, None, IceContent::none())?;
    if !prompt.is_rounds() {
        let content = prompt.render(&[], &ShotFormat::default());
        return Ok(vec![ChatTurn { role: "user".into(), content }]);
    }
    let text = |prompt: &super::Prompt| prompt.render(&[], &ShotFormat::default());
    let turns = prompt.0.iter().filter_map(|segment| match segment {
        Segment::Item(item) => Some(("user", text(item))).filter(|(_, content)| !content.is_empty()),
        Segment::Turn(Turn { role, prompt, .. }) => {
            Some((chat_role(role), prompt.as_ref().map(text).unwrap_or_default()))
        }
        _ => None,
    });
    Ok(turns.map(|(role, content)| ChatTurn { role: role.to_owned(), content }).collect())
}

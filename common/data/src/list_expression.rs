//! Expressions over the items of lists and the pieces of texts.

use crate::Row;
use crate::expression::{Found, Lacking, Unfit, fill, found, item, look_up, place, position};
use compass_pyfmt::python_str;
use compass_settings::{Key, Piece, TextSpan};
use serde_json::Value;

/// The first that is there and not null.
pub(crate) fn first_of(row: &Row, of: &[String]) -> Result<Value, Lacking> {
    let there = of.iter().filter_map(|path| look_up(row, path)).find(|value| !value.is_null());
    there.cloned().ok_or_else(|| Lacking(format!("there is none of `{}`", of.join("`, `"))))
}

/// The items as the template writes them, but those to skip.
pub(crate) fn joined(items: &[Value], each: &[Piece], skip: &[Value], row: &Row) -> Result<Vec<String>, Lacking> {
    let kept = items.iter().enumerate().filter(|(_, item)| !skip.contains(item));
    kept.map(|(at, item)| written(at, item, each, row)).collect()
}

fn written(at: usize, item: &Value, each: &[Piece], row: &Row) -> Result<String, Lacking> {
    let mut own = Row::new();
    own.insert("item".into(), item.clone());
    own.insert("number".into(), (at + 1).into());
    if let Some(letter) = u8::try_from(at).ok().filter(|at| *at < 26) {
        own.insert("letter".into(), char::from(b'A' + letter).to_string().into());
    }
    let mut text = String::new();
    for piece in each {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Path(path) => match found(&own, path) {
                Ok(value) => text.push_str(&python_str(value)),
                Err(_) => text.push_str(&python_str(found(row, path)?)),
            },
        }
    }
    Ok(text)
}

/// Some items of a list, or a place in each; `order` holds positions and where they stand.
pub(crate) fn items(
    list: &[Value],
    path: &str,
    at: Option<&Key>,
    order: Option<(&[Value], &str)>,
    unique: bool,
    row: &Row,
) -> Result<Found, Unfit> {
    let ordered = match order {
        None => list.iter().cloned().map(Found::Value).collect::<Vec<_>>(),
        Some((positions, column)) => {
            let at = |value: &Value| Ok(item(list, position(value, column)?, path));
            positions.iter().map(at).collect::<Result<_, Unfit>>()?
        }
    };
    let mut made: Vec<Value> = Vec::with_capacity(ordered.len());
    for found in ordered {
        let found = match (found, at) {
            (Found::Value(value), Some(at)) => place(&value, at, path, row)?,
            (found, _) => found,
        };
        match found {
            Found::Value(value) if unique && made.contains(&value) => {}
            Found::Value(value) => made.push(value),
            nothing @ Found::Nothing(_) => return Ok(nothing),
        }
    }
    Ok(Found::Value(made.into()))
}

/// A text whose pieces within a span are replaced by one text; where two spans overlap, the first counts.
pub(crate) fn splice(text: &str, path: &str, by: &str, spans: &[TextSpan], row: &Row) -> Result<Found, Unfit> {
    let parted = |text: &str| -> Vec<String> {
        if by.is_empty() {
            text.chars().map(String::from).collect()
        } else {
            text.split(by).map(String::from).collect()
        }
    };
    let pieces = parted(text);
    let mut placed = Vec::with_capacity(spans.len());
    for span in spans {
        let like = span.like.as_deref().map(|like| found(row, like)).transpose();
        let read = found(row, &span.at).and_then(|at| Ok((at, like?, fill(&span.put, row, None)?)));
        let (start, like, put) = match read {
            Ok(read) => read,
            Err(nothing) => return Ok(Found::Nothing(nothing)),
        };
        let start = position(start, &span.at)?;
        let Some(start) = usize::try_from(start).ok().filter(|start| *start < pieces.len()) else {
            let found = format!("{start} where `{path}` has {} pieces", pieces.len());
            return Err(Unfit::kind(&span.at, found, "one of them"));
        };
        let count = like.map_or(1, |like| parted(&python_str(like)).len());
        placed.push((start..start + count, put));
    }
    let mut made: Vec<String> = Vec::with_capacity(pieces.len());
    for (at, piece) in pieces.into_iter().enumerate() {
        match placed.iter().find(|(range, _)| range.contains(&at)) {
            Some((range, put)) if range.start == at => made.push(put.clone()),
            Some(_) => {}
            None => made.push(piece),
        }
    }
    Ok(Found::Value(made.join(by).into()))
}

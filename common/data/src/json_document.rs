//! A JSON file that is one document, with the rows somewhere in it: a list of objects, an object of objects, or an object
//! of lists that are columns. The bytes of the file are held, its rows are not.

use crate::bytes;
use crate::error::DataError;
use crate::json_lines;
use crate::json_spans::{LineCount, Member, column, members, syntax};
use crate::row_stream::{Placed, RowStream};
use compass_settings::ReadOptions;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Opens a document; a file whose first line is an object of its own holds one a line, despite its name (as AQuA's does).
pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<RowStream, DataError> {
    let bytes = bytes::load(path, options.limits)?;
    if is_lines(&bytes) && options.rows.is_empty() {
        return json_lines::open(path, options);
    }
    let mut document = Document { path: path.into(), bytes, lines: LineCount::default() };
    let whole = (0, document.bytes.len());
    let rows = options.rows.iter().try_fold(whole, |at, step| document.inside(at, step))?;
    let shape = document.shape(rows, options)?;
    let (key_column, names) = (options.key_column.clone(), options.names.clone());
    Ok(Box::new(DocumentRows { document, shape, at: 0, key_column, names }))
}

fn is_lines(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    match bytes.iter().position(|&byte| byte == b'\n') {
        _ if bytes.is_empty() => true,
        Some(end) if !bytes[end..].trim_ascii().is_empty() => {
            let first = std::str::from_utf8(&bytes[..end]).ok().map(json_lines::parse);
            matches!(first, Some(Ok(Value::Object(_))))
        }
        _ => false,
    }
}

struct Document {
    path: PathBuf,
    bytes: Vec<u8>,
    lines: LineCount,
}

/// Arrangement of the rows in what holds them.
enum Shape {
    /// The elements of a list, or the values of an object.
    Rows(Vec<Member>),
    /// The names of the columns, and their values: column, then row.
    Columns(Vec<String>, Vec<Vec<Member>>),
    /// The object is itself the one row.
    One(Member),
}

impl Document {
    fn fault(&mut self, at: usize, message: String) -> DataError {
        let (line, column) = (self.lines.line(&self.bytes, at), column(&self.bytes, at));
        DataError::Row { path: self.path.clone(), line, column, message }
    }

    /// Returns the position where the text of a value begins.
    fn start(&self, (start, end): (usize, usize)) -> usize {
        end - self.bytes[start..end].trim_ascii_start().len()
    }

    fn members(&mut self, at: (usize, usize)) -> Result<Vec<Member>, DataError> {
        if let Some(members) = members(&self.bytes, at) {
            return Ok(members);
        }
        if !matches!(self.bytes.get(self.start(at)), Some(b'[' | b'{')) {
            return Err(self.fault(self.start(at), "neither a list nor an object, so it holds no rows".into()));
        }
        // The brackets do not match: the parser says where it gives up.
        let (line, column, message) = syntax(&self.bytes);
        Err(DataError::Row { path: self.path.clone(), line, column, message })
    }

    /// The value at one step of the path to the rows.
    fn inside(&mut self, at: (usize, usize), step: &str) -> Result<(usize, usize), DataError> {
        let members = self.members(at)?;
        let keys: Vec<Option<String>> = members.iter().map(|member| member.key(&self.bytes)).collect();
        let found = match keys.iter().position(|key| key.as_deref() == Some(step)) {
            None if self.bytes.get(self.start(at)) == Some(&b'[') => step.parse().ok(),
            found => found,
        };
        if let Some(member) = found.and_then(|found: usize| members.get(found)) {
            return Ok(member.value);
        }
        let known: Vec<String> = keys.into_iter().flatten().take(8).map(|key| format!("`{key}`")).collect();
        let known = if known.is_empty() { "no key at all".into() } else { known.join(", ") };
        Err(self.fault(self.start(at), format!("`rows` asks for `{step}`, but there is {known}")))
    }

    fn shape(&mut self, at: (usize, usize), options: &ReadOptions) -> Result<Shape, DataError> {
        let all = self.members(at)?;
        let is_list = self.bytes.get(self.start(at)) == Some(&b'[');
        let each = |first: u8| !all.is_empty() && all.iter().all(|member| member.first(&self.bytes) == Some(first));
        if is_list || options.key_column.is_some() || each(b'{') {
            return Ok(Shape::Rows(all));
        }
        let lists_rows = |member: &&Member| {
            let of_objects = |items: Vec<Member>| {
                !items.is_empty() && items.iter().all(|item| item.first(&self.bytes) == Some(b'{'))
            };
            member.first(&self.bytes) == Some(b'[') && members(&self.bytes, member.value).is_some_and(of_objects)
        };
        let nested: Vec<String> = all.iter().filter(lists_rows).filter_map(|member| member.key(&self.bytes)).collect();
        if !nested.is_empty() {
            let ways: Vec<String> =
                nested.iter().map(|key| format!("`rows = \"{}\"`", path_to(options, key))).collect();
            return Err(
                self.fault(self.start(at), format!("one object, not a list of rows: write {}", ways.join(" or ")))
            );
        }
        if each(b'[') {
            return self.columns(&all);
        }
        Ok(Shape::One(Member { key: None, value: at }))
    }

    fn columns(&mut self, all: &[Member]) -> Result<Shape, DataError> {
        let names: Vec<String> = all.iter().map(|member| member.key(&self.bytes).unwrap_or_default()).collect();
        let lists = all.iter().map(|member| self.members(member.value)).collect::<Result<Vec<_>, _>>()?;
        let first = lists.first().map_or(0, Vec::len);
        let other = lists.iter().position(|list| list.len() != first);
        if let (Some(other), Some(member)) = (other, other.and_then(|at| all.get(at))) {
            let message = format!(
                "the columns differ in length: `{}` has {first} values, `{}` has {}",
                names[0],
                names[other],
                lists[other].len()
            );
            return Err(self.fault(self.start(member.value), message));
        }
        Ok(Shape::Columns(names, lists))
    }

    fn value(&mut self, member: Member) -> Result<Value, DataError> {
        let (start, end) = member.value;
        let parsed = match std::str::from_utf8(&self.bytes[start..end]) {
            Ok(text) => json_lines::parse(text).map_err(|fault| (fault.at, fault.message)),
            Err(error) => Err((error.valid_up_to(), "a byte is not UTF-8: save the file as UTF-8".to_owned())),
        };
        parsed.map_err(|(at, message)| self.fault(start + at, format!("not valid JSON: {message}")))
    }
}

/// `data.examples`, where the path so far is `data`.
fn path_to(options: &ReadOptions, key: &str) -> String {
    options.rows.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(".")
}

struct DocumentRows {
    document: Document,
    shape: Shape,
    at: usize,
    key_column: Option<String>,
    /// Names of the columns, for rows that are lists.
    names: Vec<String>,
}

impl Iterator for DocumentRows {
    type Item = Result<Placed, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        self.at += 1;
        match &self.shape {
            Shape::Rows(rows) => {
                let member = *rows.get(at)?;
                Some(self.row(member))
            }
            Shape::Columns(names, lists) => {
                let values = lists.iter().map(|list| list.get(at).copied()).collect::<Option<Vec<_>>>()?;
                let names = names.clone();
                Some(self.gathered(names, values))
            }
            Shape::One(member) => {
                let member = (at == 0).then_some(*member)?;
                Some(self.row(member))
            }
        }
    }
}

impl DocumentRows {
    fn row(&mut self, member: Member) -> Result<Placed, DataError> {
        let document = &mut self.document;
        let start = document.start(member.value);
        let value = document.value(member)?;
        let row = json_lines::named(value, &self.names).map_err(|message| document.fault(start, message))?;
        let row = match (&self.key_column, member.key(&document.bytes)) {
            (None, _) => row,
            (Some(column), Some(_)) if row.contains_key(column) => {
                let message = format!("the row has a column `{column}` already, which `key_column` would replace");
                return Err(document.fault(start, message));
            }
            (Some(column), Some(key)) => [(column.clone(), key.into())].into_iter().chain(row).collect(),
            (Some(_), None) => {
                return Err(document.fault(start, "the row has no key: `key_column` is for an object of rows".into()));
            }
        };
        Ok(Placed { row, line: Some(document.lines.line(&document.bytes, start)) })
    }

    fn gathered(&mut self, names: Vec<String>, values: Vec<Member>) -> Result<Placed, DataError> {
        let start = values.first().map_or(0, |first| self.document.start(first.value));
        let line = self.document.lines.line(&self.document.bytes, start);
        let values = values.into_iter().map(|member| self.document.value(member)).collect::<Result<Vec<_>, _>>()?;
        Ok(Placed { row: names.into_iter().zip(values).collect(), line: Some(line) })
    }
}

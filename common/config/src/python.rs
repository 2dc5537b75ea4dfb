//! Plain values written in Python: `name = "text"`, `dict(key=value, ...)`, lists, numbers, truths, and names of values
//! written above. Teams have their DLC settings in such files.
//!
//! Nothing is run. What would have to be computed is refused at its place. A file that has the wanted name gives that
//! value, whatever else is in it; any other is the table of all its assignments.

use super::check::Check;
use super::python_token::{Kind, Token, tokens};
use super::source::{FileId, Span};
use super::tree::{KeyValue, Node, Table, Value};

const WRITE_OUT: &str = "only plain values are read: write out what it comes to, or write the file as TOML";

/// The table that `wanted` names in `file`, else all that the file assigns; `None` when there is none, which is reported.
pub(super) fn read(check: &mut Check, file: FileId, wanted: &str) -> Option<Table> {
    let text = check.sources.text(file).to_owned();
    let all = match tokens(&text) {
        Ok(all) => all,
        Err((start, message)) => {
            check.error(Span { file, start, end: start + 1 }, message.into(), Some("close it".into()));
            return None;
        }
    };
    let statements: Vec<Statement<'_>> = all.split(|token| token.kind == Kind::End).filter_map(statement).collect();
    let mut reader = Reader { check, file, statements: &statements, at: 0, failed: false };
    let last = statements.iter().rposition(|statement| statement.name.is_some_and(|name| name.text() == wanted));
    let table = match last {
        Some(at) => reader.wanted(at),
        None => reader.whole(),
    };
    table.filter(|_| !reader.failed)
}

/// A line: `name = value`, or anything else.
struct Statement<'t> {
    name: Option<&'t Token>,
    value: &'t [Token],
    /// Bytes of the whole.
    start: usize,
    end: usize,
}

fn statement(line: &[Token]) -> Option<Statement<'_>> {
    let (first, last) = (line.first()?, line.last()?);
    let (start, end) = (first.start, last.end);
    Some(match line {
        // A JSON document, or a bare dict, is a value without a name.
        [brace, ..] if brace.is('{') => Statement { name: None, value: line, start, end },
        [name, equals, value @ ..] if equals.is('=') && matches!(name.kind, Kind::Name(_)) => {
            Statement { name: Some(name), value, start, end }
        }
        _ => Statement { name: None, value: &[], start, end },
    })
}

struct Reader<'c, 't> {
    check: &'c mut Check,
    file: FileId,
    statements: &'t [Statement<'t>],
    /// The statement being read: names refer to those before it.
    at: usize,
    failed: bool,
}

/// The tokens that are left of a value.
struct Rest<'t>(&'t [Token]);

impl<'t> Rest<'t> {
    fn next_is(&self, symbol: char) -> bool {
        self.0.first().is_some_and(|token| token.is(symbol))
    }

    fn skip(&mut self, symbol: char) -> bool {
        let found = self.next_is(symbol);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn take(&mut self) -> Option<&'t Token> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }
}

/// A value that is nothing, as `None` is.
type Maybe = Option<Node>;

impl<'t> Reader<'_, 't> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start, end }
    }

    fn refuse(&mut self, start: usize, end: usize, message: &str) {
        let span = self.span(start, end.max(start + 1));
        self.failed = true;
        self.check.error(span, message.into(), Some(WRITE_OUT.into()));
    }

    fn wanted(&mut self, at: usize) -> Option<Table> {
        let statement = &self.statements[at];
        let (start, end) = (statement.start, statement.end);
        match self.value_of(at)??.value {
            Value::Table(table) => Some(table),
            _ => {
                self.refuse(start, end, "this is not a table");
                None
            }
        }
    }

    fn whole(&mut self) -> Option<Table> {
        let statements = self.statements;
        if let [Statement { name: None, value: [_, ..], .. }] = statements {
            return self.wanted(0);
        }
        let mut table = Table::default();
        for (at, statement) in statements.iter().enumerate() {
            match statement.name {
                None => self.refuse(statement.start, statement.end, "this is not an assignment of a plain value"),
                Some(name) => {
                    let read = self.value_of(at);
                    if let Some(Some(node)) = read {
                        table.entries.retain(|entry| entry.key != name.text());
                        let key_span = self.span(name.start, name.end);
                        table.entries.push(KeyValue { key: name.text().into(), key_span, node });
                    }
                }
            }
        }
        Some(table)
    }

    /// The outer `None` is an error, which has been reported; the inner one is Python's.
    fn value_of(&mut self, at: usize) -> Option<Maybe> {
        let (before, statement) = (self.at, &self.statements[at]);
        self.at = at;
        let mut rest = Rest(statement.value);
        let mut value = self.value(&mut rest, statement.end);
        if let (Some(_), Some(extra)) = (&value, rest.0.first()) {
            self.refuse(extra.start, statement.end, "this is not a plain value");
            value = None;
        }
        self.at = before;
        value
    }

    /// One value; `end` is where the place of what is missing would be.
    fn value(&mut self, rest: &mut Rest<'t>, end: usize) -> Option<Maybe> {
        let Some(token) = rest.take() else {
            self.refuse(end, end + 1, "a value is missing");
            return None;
        };
        let (start, mut end) = (token.start, token.end);
        let value = match &token.kind {
            Kind::Text(text) => {
                let mut text = text.clone();
                while let Some(Token { kind: Kind::Text(more), end: further, .. }) = rest.0.first() {
                    text.push_str(more);
                    end = *further;
                    rest.take();
                }
                Value::String(text)
            }
            Kind::Computed => {
                self.refuse(start, end, "this text would have to be computed");
                return None;
            }
            Kind::Name(name) => return self.named(name, token, rest),
            Kind::Number(number) => match numeral(number) {
                Some(value) => value,
                None => {
                    self.refuse(start, end, "this is not a plain number");
                    return None;
                }
            },
            Kind::Symbol('-') => match self.value(rest, end)?? {
                Node { value: Value::Integer(number), span } => {
                    end = span.end;
                    Value::Integer(-number)
                }
                Node { value: Value::Float(number), span } => {
                    end = span.end;
                    Value::Float(-number)
                }
                Node { span, .. } => {
                    self.refuse(start, span.end, "this is not a plain value");
                    return None;
                }
            },
            Kind::Symbol('[') => {
                let (items, close, _) = self.items(rest, ']', end)?;
                end = close;
                Value::Array(items)
            }
            Kind::Symbol('(') => {
                let (mut items, close, commas) = self.items(rest, ')', end)?;
                end = close;
                match items.pop() {
                    // Parentheses around one value are none.
                    Some(only) if items.is_empty() && commas == 0 => only.value,
                    last => {
                        items.extend(last);
                        Value::Array(items)
                    }
                }
            }
            Kind::Symbol('{') => {
                let (table, close) = self.entries(rest, '}', ':', end)?;
                end = close;
                Value::Table(table)
            }
            Kind::Symbol(_) | Kind::End => {
                self.refuse(start, end, "this is not a plain value");
                return None;
            }
        };
        Some(Some(Node { value, span: self.span(start, end) }))
    }

    /// What a name stands for: a truth, nothing, `dict(...)`, or what was assigned to it above.
    fn named(&mut self, name: &str, token: &Token, rest: &mut Rest<'t>) -> Option<Maybe> {
        let (start, end) = (token.start, token.end);
        let span = self.span(start, end);
        let truth = |truth| Some(Some(Node { value: Value::Boolean(truth), span }));
        match name {
            "True" | "true" => return truth(true),
            "False" | "false" => return truth(false),
            "None" | "null" => return Some(None),
            "dict" if rest.skip('(') => {
                let (table, close) = self.entries(rest, ')', '=', end)?;
                return Some(Some(Node { value: Value::Table(table), span: self.span(start, close) }));
            }
            _ => {}
        }
        let above = &self.statements[..self.at];
        let assigned = above.iter().rposition(|other| other.name.is_some_and(|other| other.text() == name));
        match assigned {
            Some(at) => self.value_of(at),
            None => {
                self.refuse(start, end, &format!("`{name}` would have to be computed"));
                None
            }
        }
    }

    /// Values up to `close`, where that ends, and how many commas there were.
    fn items(&mut self, rest: &mut Rest<'t>, close: char, end: usize) -> Option<(Vec<Node>, usize, usize)> {
        let (mut items, mut commas) = (Vec::new(), 0);
        loop {
            if let Some(end) = self.closed(rest, close) {
                return Some((items, end, commas));
            }
            match self.value(rest, end)? {
                Some(node) => items.push(node),
                None => {
                    self.refuse(end, end + 1, "`None` has no place in a list");
                    return None;
                }
            }
            commas += usize::from(self.separated(rest, close)?);
        }
    }

    /// Entries up to `close`, and where that ends. Those that are `None` are left out.
    fn entries(&mut self, rest: &mut Rest<'t>, close: char, between: char, end: usize) -> Option<(Table, usize)> {
        let mut table = Table::default();
        loop {
            if let Some(end) = self.closed(rest, close) {
                return Some((table, end));
            }
            let key = rest.take()?;
            let name = match &key.kind {
                Kind::Name(name) if between == '=' => name,
                Kind::Text(text) if between == ':' => text,
                _ => {
                    self.refuse(key.start, key.end, "this is not a plain key");
                    return None;
                }
            };
            if !rest.skip(between) {
                self.refuse(key.start, key.end, "this is not a plain key with a value");
                return None;
            }
            if let Some(node) = self.value(rest, end)? {
                table.entries.retain(|entry| entry.key != *name);
                let key_span = self.span(key.start, key.end);
                table.entries.push(KeyValue { key: name.clone(), key_span, node });
            }
            self.separated(rest, close)?;
        }
    }

    fn closed(&self, rest: &mut Rest<'t>, close: char) -> Option<usize> {
        let end = rest.0.first()?.end;
        rest.skip(close).then_some(end)
    }

    /// Whether a comma follows; something else than it and `close` is an error.
    fn separated(&mut self, rest: &mut Rest<'t>, close: char) -> Option<bool> {
        if rest.skip(',') {
            return Some(true);
        }
        match rest.0.first() {
            Some(token) if token.is(close) => Some(false),
            Some(token) => {
                self.refuse(token.start, token.end, "this is not a plain value");
                None
            }
            None => Some(false),
        }
    }
}

fn numeral(text: &str) -> Option<Value> {
    let digits = text.replace('_', "");
    match digits.parse() {
        Ok(number) => Some(Value::Integer(number)),
        Err(_) => digits.parse().ok().map(Value::Float),
    }
}
